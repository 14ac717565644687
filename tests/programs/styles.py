"""The styles in which people write the same training."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from .metrics import Metric
from .parts import SEEDED, Evaluation, Parts, defined, fill, set_up
from .step import accumulates, after_epoch, before_loop, is_list, last, report, step_of
from .text import indented, marked


def _epoch_loop(parts: Parts, model: str, epochs: str) -> list[str]:
    names = parts.names
    step = step_of(parts, model, names.optimizer)
    lines = [*fill(parts, parts.state.before, M=model), *before_loop(parts, step)]
    if accumulates(step):
        lines.append(f"{names.optimizer}.zero_grad()")
    lines.append(f"for {names.epoch} in range({epochs}):")
    inner = [f"{model}.train()"]
    for metric in parts.metrics:
        inner += fill(parts, metric.start)
    inner += [*parts.source.per_pass, parts.source.header]
    inner += indented([*parts.source.unpack, *step])
    inner += [*report(parts), *after_epoch(parts, model)]
    return [*lines, *indented(inner)]


def _epochs(parts: Parts) -> str:
    return parts.choices.pick("epochs", ("2", "3", "1, 3"))


def _flat(parts: Parts) -> list[str]:
    return [
        *SEEDED,
        "",
        "",
        *defined(parts),
        *set_up(parts),
        "",
        *_epoch_loop(parts, parts.names.model, _epochs(parts)),
        *last(parts, parts.names.model),
    ]


def _main(parts: Parts) -> list[str]:
    lines = ["torch.set_default_dtype(torch.float64)", "", "", *defined(parts), "def main():"]
    inner = []
    epochs = _epochs(parts)
    arguments = parts.choices.pick("main.arguments", ("none", "argparse"))
    if arguments == "argparse" and "," not in epochs:
        inner += [
            "parser = argparse.ArgumentParser()",
            f"parser.add_argument('--epochs', type=int, default={epochs})",
            "parser.add_argument('--seed', type=int, default=0)",
            "args = parser.parse_args()",
            "torch.manual_seed(args.seed)",
        ]
        epochs = "args.epochs"
    else:
        inner.append("torch.manual_seed(0)")
    inner += [*set_up(parts), *_epoch_loop(parts, parts.names.model, epochs)]
    inner += last(parts, parts.names.model)
    return [*lines, *indented(inner), "", "", "if __name__ == '__main__':", "    main()"]


def _functions(parts: Parts) -> list[str]:
    """A function for the batches of an epoch."""
    names, choices = parts.names, parts.choices
    own = choices.pick("functions.names", ("same", "other"))
    model, optimizer = (names.model, names.optimizer) if own == "same" else ("mdl", "opt_")
    step = step_of(parts, model, optimizer)
    inner = [f"{model}.train()"]
    kept = _assigned(fill(parts, parts.state.before))
    rebound = [
        name
        for name in kept
        if any(re.search(rf"(^|[\s,]){name}(, \w+)* (=|\+=|\*=) ", line) for line in step)
    ]
    if accumulates(step):
        rebound.append("micro")
    if rebound:
        inner.insert(0, f"global {', '.join(rebound)}")
    for metric in parts.metrics:
        inner += fill(parts, metric.start)
    inner += [*parts.source.per_pass, parts.source.header]
    inner += indented([*parts.source.unpack, *step])
    values = [fill(parts, [metric.value])[0] for metric in parts.metrics]
    if values:
        inner.append(f"return {', '.join(values)}")
    arguments = f"{model}, {names.loader}, {optimizer}, {names.epoch}"
    lines = [f"def train_epoch({arguments}):", *indented(inner), "", ""]
    results = ", ".join(f"result{number}" for number in range(len(values)))
    called = f"train_epoch({names.model}, {names.loader}, {names.optimizer}, {names.epoch})"
    loop = [f"{results} = {called}" if values else called]
    for number, metric in enumerate(parts.metrics):
        loop += marked(metric.construct, [f"print({names.epoch}, result{number})"])
    if parts.metrics:
        shown = parts.metrics
        parts.metrics = [Metric(shown[0].construct, [], [], "result0")]
        loop += after_epoch(parts, names.model)
        parts.metrics = shown
    else:
        loop += after_epoch(parts, names.model)
    start = [*fill(parts, parts.state.before), *before_loop(parts, step)]
    whole = [
        *SEEDED,
        "",
        "",
        *defined(parts),
        *lines,
        *set_up(parts),
        *start,
        f"for {names.epoch} in range({_epochs(parts)}):",
        *indented(loop),
        *last(parts, names.model),
    ]
    return whole


def _assigned(lines: Iterable[str]) -> list[str]:
    found: list[str] = []
    for line in lines:
        match = re.match(r"^(\w+(?:, \w+)*) = ", line)
        if match:
            found += match[1].split(", ")
    return found


def _trainer(parts: Parts) -> list[str]:
    """A class that trains."""
    names, choices = parts.names, parts.choices
    model, optimizer, loader = "self.model", "self.optimizer", "self.loader"
    step = step_of(parts, model, optimizer)
    before = [*fill(parts, parts.state.before, M=model), *before_loop(parts, step)]
    kept = list(_assigned(before))
    title = choices.pick("name.trainer", ("Trainer", "Learner", "Runner"))

    def own(lines: Iterable[str]) -> list[str]:
        found = list(lines)
        for name in kept:
            found = [re.sub(rf"(?<![\w.']){name}(?![\w'])", f"self.{name}", line) for line in found]
        return [re.sub(rf"(?<![\w.']){names.loader}\b(?!\()", loader, line) for line in found]

    inner = [f"{model}.train()"]
    for metric in parts.metrics:
        inner += fill(parts, metric.start)
    inner += [*parts.source.per_pass, parts.source.header]
    inner += indented([*parts.source.unpack, *step])
    values = [fill(parts, [metric.value])[0] for metric in parts.metrics]
    if values:
        inner.append(f"return {', '.join(values)}")
    results = ", ".join(f"result{number}" for number in range(len(values)))
    called = f"self.train_epoch({names.epoch})"
    loop = [f"{results} = {called}" if values else called]
    for number, metric in enumerate(parts.metrics):
        loop += marked(metric.construct, [f"print({names.epoch}, result{number})"])
    shown = parts.metrics
    if shown:
        parts.metrics = [Metric(shown[0].construct, [], [], "result0")]
    loop += after_epoch(parts, model)
    parts.metrics = shown
    if parts.scheduler:
        loop = [line.replace("scheduler.step", "self.scheduler.step") for line in loop]
        inner = [line.replace("scheduler.step", "self.scheduler.step") for line in inner]
    given = "model, loader, optimizer" + (", scheduler" if parts.scheduler else "")
    made = [f"{model} = model", f"{loader} = loader", f"{optimizer} = optimizer"]
    if parts.scheduler:
        made.append("self.scheduler = scheduler")
    lines = [
        f"class {title}:",
        f"    def __init__(self, {given}):",
        *indented([*made, *own(before)], 2),
        "",
        f"    def train_epoch(self, {names.epoch}):",
        *indented(own(inner), 2),
        "",
        "    def fit(self, epochs):",
        f"        for {names.epoch} in range(epochs):",
        *indented(own(loop), 3),
        *indented(own(last(parts, model)), 2),
        "",
        "",
    ]
    handed = f"{names.model}, {names.loader}, {names.optimizer}"
    handed += ", scheduler" if parts.scheduler else ""
    return [
        *SEEDED,
        "",
        "",
        *defined(parts),
        *lines,
        *set_up(parts),
        f"{title}({handed}).fit(2)",
    ]


def _steps(parts: Parts) -> list[str]:
    """A loop by steps that starts its loader again."""
    names, choices = parts.names, parts.choices
    step = step_of(parts, names.model, names.optimizer)
    way = choices.pick("steps", ("stop_iteration", "cycle"))
    pair = f"{names.x}, {names.y}"
    unpack = []
    if "batch['x']" in "".join(parts.source.unpack):
        unpack = [f"{pair} = batch['x'], batch['y']"]
        pair = "batch"
    cycle: list[str] = []
    if way == "cycle":
        cycle = [
            "def cycle(things):",
            "    while True:",
            "        for thing in things:",
            "            yield thing",
            "",
            "",
        ]
        loop = [f"{pair} = next(stream)"]
        start = f"stream = cycle({names.loader})"
    else:
        start = f"stream = iter({names.loader})"
        loop = [
            "try:",
            f"    {pair} = next(stream)",
            "except StopIteration:",
            f"    stream = iter({names.loader})",
            f"    {pair} = next(stream)",
        ]
    lines = [*fill(parts, parts.state.before), *before_loop(parts, step)]
    for metric in parts.metrics:
        lines += fill(parts, metric.start)
    lines += [start, f"for {names.epoch} in range(7):"]
    inner = [*marked(f"steps={way}", loop), *unpack, *step]
    lines += indented(inner)
    lines += report(parts)
    return [
        *SEEDED,
        "",
        "",
        *defined(parts),
        *cycle,
        *set_up(parts),
        *lines,
        *last(parts, names.model),
    ]


def _phases(parts: Parts) -> list[str]:
    """A loop over the phases of an epoch."""
    names = parts.names
    step = step_of(parts, names.model, names.optimizer)
    split = next(k for k, line in enumerate(step) if ".backward()" in line)
    if accumulates(step) or any("continue" in line or "break" in line for line in step):
        return _flat(parts)
    end = next(k for k, line in enumerate(step) if f"{names.optimizer}.step()" in line)
    while end + 1 < len(step) and (
        "scheduler.step()" in step[end + 1] or ".zero_grad()" in step[end + 1]
    ):
        end += 1
    model = names.model
    val = f"DataLoader({parts.source.data}, batch_size={parts.batch})"
    dictionary = "batch['x']" in "".join(parts.source.unpack)
    pair = "batch" if dictionary else f"{names.x}, {names.y}"
    unpack = [f"{names.x}, {names.y} = batch['x'], batch['y']"] if dictionary else []
    body = [
        *unpack,
        *[
            line
            for line in step[:split]
            if ".zero_grad()" not in line and "requires_grad_(True)" not in line
        ],
        "if phase == 'train':",
        f"    {names.optimizer}.zero_grad()",
        *indented([line for line in step[split : end + 1] if "zero_grad" not in line]),
        *step[end + 1 :],
    ]
    loop = [
        "if phase == 'train':",
        f"    {model}.train()",
        "else:",
        f"    {model}.eval()",
        *[line for metric in parts.metrics for line in fill(parts, metric.start)],
        f"for {pair} in loaders[phase]:",
        "    with torch.set_grad_enabled(phase == 'train'):",
        *indented(body, 2),
        *[
            line
            for metric in parts.metrics
            for line in marked(
                metric.construct,
                [f"print(phase, {fill(parts, [metric.value], G='loaders[phase]')[0]})"],
            )
        ],
    ]
    value = fill(parts, [parts.metrics[0].value], G="loaders[phase]")[0] if parts.metrics else ""
    if parts.decision and value and not is_list(parts):
        decision = fill(parts, parts.decision, V="score", M=model)
        if not any("break" in line for line in decision):
            loop += ["if phase == 'val':", f"    score = {value}", *indented(decision)]
    lines = [*fill(parts, parts.state.before), *before_loop(parts, step)]
    lines += [
        f"loaders = {{'train': {names.loader}, 'val': {val}}}",
        f"for {names.epoch} in range(2):",
        "    for phase in ['train', 'val']:",
        *indented(loop, 2),
    ]
    if parts.schedule_step in ("epoch", "value"):
        lines.append(
            "    scheduler.step()"
            if parts.schedule_step == "epoch"
            else f"    scheduler.step({names.epoch})"
        )
    saved = parts.evaluation
    parts.evaluation = Evaluation([], "", [])
    whole = [*SEEDED, "", "", *defined(parts), *set_up(parts), *lines, *last(parts, model)]
    parts.evaluation = saved
    return whole


STYLES: dict[str, Callable[[Parts], list[str]]] = {
    "flat": _flat,
    "main": _main,
    "functions": _functions,
    "trainer": _trainer,
    "steps": _steps,
    "phases": _phases,
}
