"""The lines of one batch, and those between the passes."""

from __future__ import annotations

import re

from .parts import Parts, fill
from .text import indented, marked


def call(parts: Parts, model: str) -> list[str]:
    names = parts.names
    which = parts.task.model.result
    if which == "tuple":
        return [f"{names.out}, _ = {model}({names.x})"]
    if which == "dict":
        return [f"{names.out} = {model}({names.x})['out']"]
    return [f"{names.out} = {model}({names.x})"]


def step_of(parts: Parts, model: str, optimizer: str) -> list[str]:
    """The lines of one batch."""
    choices, names = parts.choices, parts.names
    changed = {"M": model, "W": optimizer}
    order = choices.pick("step.zero", ("first", "before_backward", "after"))
    accumulated = choices.pick("step.accumulation", ("none", "2"), (6, 1)) == "2"
    accumulated = accumulated and parts.task.count % (2 * parts.batch) == 0
    zero = f"{optimizer}.zero_grad()"
    lines = []
    if not accumulated and order == "first":
        lines.append(zero)
    if any("autograd.grad" in line for line in parts.loss.lines):
        lines.append(f"{names.x}.requires_grad_(True)")
    lines += fill(parts, parts.state.early, **changed)
    lines += call(parts, model)
    lines += fill(parts, parts.loss.lines, **changed)
    lines += fill(parts, parts.state.adjust, **changed)
    if not accumulated and order == "before_backward":
        lines.append(zero)
    if accumulated:
        lines += marked(
            "step.accumulation=2",
            [f"({names.loss} / 2).backward()", "micro += 1", "if micro % 2 == 0:"],
        )
    else:
        lines.append(f"{names.loss}.backward()")
    clip = choices.pick("step.clip", ("none", "norm", "value"), (5, 1, 1))
    steps = []
    if clip != "none":
        steps.append(
            f"torch.nn.utils.clip_grad_norm_({model}.parameters(), 0.5)"
            if clip == "norm"
            else f"torch.nn.utils.clip_grad_value_({model}.parameters(), 0.1)"
        )
    steps.append(f"{optimizer}.step()")
    if accumulated or order == "after":
        steps.append(zero)
    if parts.schedule_step == "batch":
        steps.append("scheduler.step()")
    lines += marked("step.accumulation=2", indented(steps)) if accumulated else steps
    for metric in parts.metrics:
        lines += fill(parts, metric.update, **changed)
    lines += fill(parts, parts.state.after, **changed)
    return lines


def accumulates(lines: list[str]) -> bool:
    return any(line.startswith("micro += 1") for line in lines)


def _value(parts: Parts) -> str:
    """What an epoch is judged by."""
    if parts.evaluation.metrics:
        return "score"
    if parts.metrics:
        return fill(parts, [parts.metrics[0].value])[0]
    return ""


def evaluated(parts: Parts, model: str) -> list[str]:
    """Lines that leave ``score``."""
    if not parts.evaluation.metrics:
        return []
    names, choices = parts.names, parts.choices
    lines = [f"{model}.eval()"]
    changed = {"M": model, "G": names.val_loader, "D": "X_val", "N": "14"}
    for metric in parts.evaluation.metrics:
        lines += fill(parts, metric.start, **changed)
    style = choices.pick("validation.no_grad", ("with", "inference"))
    lines.append("with torch.no_grad():" if style == "with" else "with torch.inference_mode():")
    inner = call(parts, model)
    simple = {
        "classes": f"{names.loss} = F.cross_entropy({names.out}, {names.y})",
        "tags": f"{names.loss} = F.cross_entropy({names.out}.mT, {names.y}.clamp(min=0))",
    }.get(parts.task.kind, f"{names.loss} = F.mse_loss({names.out}, {names.y})")
    inner.append(simple)
    for metric in parts.evaluation.metrics:
        inner += fill(parts, metric.update, **changed)
    lines.append(f"    for {names.x}, {names.y} in {names.val_loader}:")
    lines += indented(inner, 2)
    first = fill(parts, [parts.evaluation.metrics[0].value], **changed)[0]
    lines.append(f"score = {first}")
    for metric in parts.evaluation.metrics[1:]:
        lines += marked(metric.construct, fill(parts, [f"print('val', {metric.value})"], **changed))
    lines.append(f"{model}.train()")
    return lines


def report(parts: Parts) -> list[str]:
    choices, names = parts.choices, parts.names
    lines = []
    for number, metric in enumerate(parts.metrics):
        spelled = choices.pick(f"report.{number}", ("comma", "f_string", "format", "rounded"))
        value = fill(parts, [metric.value])[0]
        lines += marked(
            metric.construct,
            [
                {
                    "comma": f"print({names.epoch}, {value})",
                    "f_string": f'print(f"epoch {{{names.epoch}}}: {{{value}}}")',
                    "format": f"print('{{}} {{}}'.format({names.epoch}, {value}))",
                    "rounded": f"print('{number}:', {value})",
                }[spelled]
            ],
        )
    return lines


def after_epoch(parts: Parts, model: str) -> list[str]:
    """Evaluation, schedule, decision."""
    lines = evaluated(parts, model)
    if lines:
        lines.append("print('score', score)")
    value = _value(parts)
    simple = value and not value.endswith((".tolist()", "seen", "items())")) and "Q" not in value
    number = re.match(r"^(len|sorted|\[)", value) is None and "tolist" not in value and simple
    number = number and not is_list(parts)
    if parts.schedule_step == "epoch":
        lines.append("scheduler.step()")
    elif parts.schedule_step == "value":
        lines.append(f"scheduler.step({value if number else parts.names.epoch})")
    if parts.decision and number:
        if value != "score":
            lines.append(f"score = {value}")
        lines += fill(parts, parts.decision, V="score", M=model)
    return lines


def is_list(parts: Parts) -> bool:
    metric = (parts.evaluation.metrics or parts.metrics)[0]
    return metric.construct.rpartition("=")[2] in (
        "class_counts",
        "counter",
        "confusion",
        "confusion_index_add",
    )


def before_loop(parts: Parts, lines: list[str]) -> list[str]:
    found = []
    if parts.decision:
        found.append("best, bad_epochs = None, 0")
    if accumulates(lines):
        found.append("micro = 0")
    return found


def last(parts: Parts, model: str) -> list[str]:
    lines = fill(parts, parts.state.end, M=model)
    return [*lines, f"torch.save({model}.state_dict(), 'final.pt')"]
