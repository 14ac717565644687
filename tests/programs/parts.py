"""The pieces that every style of program puts in another order."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from .choices import Choices
from .losses import Loss
from .metrics import METER, Metric, State
from .names import Names
from .sources import Source
from .tasks import Task


@dataclass
class Evaluation:
    """What a program measures after each epoch: lines that leave the value under a name."""

    lines: list[str]
    value: str
    metrics: list[Metric]


@dataclass
class Parts:
    """The pieces that every style of program puts in another order."""

    choices: Choices
    names: Names
    task: Task
    source: Source
    loss: Loss
    metrics: list[Metric]
    state: State
    batch: int
    optimizer: list[str]
    scheduler: str
    schedule_step: str
    evaluation: Evaluation
    decision: list[str] = field(default_factory=list)


def fill(parts: Parts, lines: Iterable[str], **changed: str) -> list[str]:
    """Put the names of a program where the letters of productions stand."""
    names = parts.names
    result = parts.task.model.result
    model = changed.get("M", names.model)
    call = {"plain": "{}({})", "tuple": "{}({})[0]", "dict": "{}({})['out']"}[result]
    old = call.format(model, "old_x")
    values = {
        "O": names.out,
        "Y": names.y,
        "X": names.x,
        "L": names.loss,
        "P": "penalty",
        "M": model,
        "T": names.epoch,
        "B": str(parts.batch),
        "G": parts.source.length,
        "D": parts.source.data,
        "N": str(parts.task.count),
        "W": names.optimizer,
        "RELOSS": (
            f"F.cross_entropy({old}, old_y)"
            if parts.task.kind == "classes"
            else f"F.mse_loss({old}, old_y)"
        ),
        **changed,
    }
    pattern = re.compile(r"(?<![\w'])(" + "|".join(values) + r")(?![\w'])")
    found = []
    for line in lines:
        text, mark, construct = line.partition("\0")
        text = text.replace("TEACHER(X)", call.format("teacher", "X"))
        found.append(pattern.sub(lambda match: values[match[1]], text) + mark + construct)
    return found


def defined(parts: Parts) -> list[str]:
    lines = (
        [] if parts.task.model.definition[:1] == ["layers = []"] else parts.task.model.definition
    )
    needed = any(metric.before for metric in (*parts.metrics, *parts.evaluation.metrics))
    return [*(METER if needed else []), *parts.source.defined, *lines]


def set_up(parts: Parts) -> list[str]:
    """The tensors, the source, the model and its optimizer."""
    names = parts.names
    lines = [*parts.task.data, *parts.source.made]
    if parts.evaluation.value:
        lines.append("X_val, Y_val = X[:14], Y[:14]")
        lines.append(f"{names.val_loader} = DataLoader(TensorDataset(X_val, Y_val), batch_size=6)")
    if parts.task.model.definition[:1] == ["layers = []"]:
        lines += parts.task.model.definition
    lines.append(f"{names.model} = {parts.task.model.made}")
    lines += fill(parts, [*parts.loss.before])
    lines += fill(parts, parts.optimizer)
    if parts.scheduler:
        lines += fill(parts, [parts.scheduler])
    return lines


SEEDED = ["torch.set_default_dtype(torch.float64)", "torch.manual_seed(0)"]
