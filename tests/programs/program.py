"""Puts a random program together."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from .choices import Choices, constructs
from .data_templates import DATA_SETS
from .drawn_templates import DRAWN
from .gpus import on_gpu
from .losses import loss_of
from .metrics import metrics_of, state_of
from .names import Names, names_of
from .parts import Evaluation, Parts
from .reported_templates import REPORTED
from .sources import source_of
from .spelled_templates import SPELLED
from .state_templates import STATES
from .styles import STYLES
from .tasks import Task, task_of
from .template import from_template
from .templates import TEMPLATES
from .tensor_templates import TENSORS
from .text import finished, marked

#: On CPUs the statistics of batch norm are those of each process, which a note says.
LOCAL_STATISTICS = "batch norm"


#: Programs of other shapes than one model, one loss, one loop.
SHAPES = {**TEMPLATES, **SPELLED, **STATES, **DATA_SETS, **DRAWN, **TENSORS, **REPORTED}


@dataclass(frozen=True)
class Program:
    """A random program.

    Args:
        seed: its number.
        text: the script.
        origins: the construct of each line that has one.
        taken: every choice: position and label.
        inexact: why several processes may well end elsewhere than one; empty if they may not.
        without: constructs that were left out.
        gpus: whether it is written for GPUs.
    """

    seed: int
    text: str
    origins: Mapping[int, str]
    taken: Mapping[str, tuple[int, str]]
    inexact: str
    without: frozenset[str] = frozenset()
    gpus: bool = False

    @property
    def constructs(self) -> set[str]:
        """What it has."""
        return constructs(self.taken)


def program(
    seed: int,
    fixed: Mapping[str, str] | None = None,
    without: Collection[str] = (),
    gpus: bool = False,
) -> Program:
    """The program of a seed.

    Args:
        seed: its number.
        fixed: choices that are given, by name.
        without: constructs that it must not have.
        gpus: whether its model is to be on a GPU, where there is one.
    """
    choices = Choices(seed, fixed or {}, frozenset(without))
    made = _on_any_device(choices)
    if not gpus:
        return made
    text, origins = on_gpu(choices, made.text, made.origins)
    return replace(made, text=text, origins=origins, taken=choices.taken, gpus=True)


def _on_any_device(choices: Choices) -> Program:
    """A program that names no device."""
    if choices.pick("shape", ("usual", "template"), (3, 2)) == "template":
        name = choices.pick("template", list(SHAPES))
        text, origins = finished(from_template(choices, name, SHAPES[name]))
        inexact = ""
        if "torch.randn(real" in text or "WeightedRandomSampler(" in text:
            inexact = "noise"
        return Program(choices.seed, text, origins, choices.taken, inexact, choices.without)
    names = names_of(choices)
    task = task_of(choices, names)
    batch = choices.number("batch", 12, 6, 18)
    source = source_of(choices, names, task.count, batch, task.kind)
    plain_input = "torch.randn" in task.data[0]
    parts = Parts(
        choices,
        names,
        task,
        source,
        loss_of(choices, task.kind, plain_input),
        metrics_of(choices, "metric", task.kind, 3),
        state_of(choices, task.kind, task.kind in ("classes", "values", "same")),
        batch,
        *_optimizer(choices, names),
        _evaluation(choices, names, task),
    )
    parts.decision = _decision(choices, parts)
    style = choices.pick(
        "style", ("flat", "main", "functions", "trainer", "steps", "phases"), (4, 2, 2, 2, 1, 0.8)
    )
    if not source.loader and style in ("steps", "phases"):
        style = "flat"
    if style in ("functions", "trainer") and not source.loader:
        style = "main"
    body = STYLES[style](parts)
    lines = [*_imports(body), "", *body]
    text, origins = finished(lines)
    inexact = source.inexact or ("uneven" if task.count % 6 else "")
    if any("BatchNorm" in line or "batch_norm" in line for line in body):
        inexact = LOCAL_STATISTICS
    return Program(choices.seed, text, origins, choices.taken, inexact, choices.without)


def _optimizer(choices: Choices, names: Names) -> tuple[list[str], str, str]:
    kind = choices.pick(
        "optimizer", ("sgd", "momentum", "adam", "adamw", "groups", "rmsprop"), (3, 2, 2, 1, 1, 0.5)
    )
    made = {
        "sgd": "torch.optim.SGD(M.parameters(), lr=0.1)",
        "momentum": "torch.optim.SGD(M.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-3)",
        "adam": "torch.optim.Adam(M.parameters(), lr=1e-2)",
        "adamw": "torch.optim.AdamW(M.parameters(), lr=1e-2, weight_decay=0.1)",
        "groups": "torch.optim.SGD([{'params': [p for p in M.parameters() if p.dim() > 1]}, "
        "{'params': [p for p in M.parameters() if p.dim() < 2], 'lr': 0.01}], lr=0.1)",
        "rmsprop": "torch.optim.RMSprop(M.parameters(), lr=1e-2)",
    }[kind]
    lines = marked(f"optimizer={kind}", [f"{names.optimizer} = {made}"])
    which = choices.pick(
        "scheduler", ("none", "step", "by_batch", "cosine", "plateau"), (4, 1, 1, 1, 1)
    )
    scheduler = {
        "none": "",
        "step": "scheduler = torch.optim.lr_scheduler.StepLR(W, step_size=1, gamma=0.7)",
        "by_batch": "scheduler = torch.optim.lr_scheduler.LambdaLR(W, lambda k: 1 / (1 + 0.1 * k))",
        "cosine": "scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(W, T_max=2 * len(G))",
        "plateau": "scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(W, patience=0)",
    }[which]
    step = {
        "none": "",
        "step": "epoch",
        "by_batch": "batch",
        "cosine": "batch",
        "plateau": "value",
    }[which]
    return lines, scheduler, step


def _evaluation(choices: Choices, names: Names, task: Task) -> Evaluation:
    if not choices.chance("evaluation", 0.5):
        return Evaluation([], "", [])
    return Evaluation([], "score", metrics_of(choices, "validation", task.kind, 2))


def _decision(choices: Choices, parts: Parts) -> list[str]:
    """What is done with the value of an epoch, whose name is ``V``."""
    which = choices.pick(
        "decision", ("none", "best", "early_stop", "best_file", "threshold"), (4, 1, 1, 1, 0.5)
    )
    return marked(
        f"decision={which}",
        {
            "none": [],
            "best": [
                "if best is None or V < best:",
                "    best = V",
                "    torch.save(M.state_dict(), 'best.pt')",
            ],
            "early_stop": [
                "if best is None or V < best:",
                "    best, bad_epochs = V, 0",
                "else:",
                "    bad_epochs += 1",
                "    if bad_epochs >= 1:",
                "        print('stopped', T)",
                "        break",
            ],
            "best_file": [
                "if best is None or V > best:",
                "    best = V",
                "    with open('best.txt', 'w') as f:",
                "        f.write(f'{T} {best}\\n')",
            ],
            "threshold": ["if V < 0.95:", "    print('good enough')", "    break"],
        }[which],
    )


def _imports(body: list[str]) -> list[str]:
    text = finished(body)[0]
    lines = []
    for module in ("argparse", "copy", "csv", "json", "math"):
        if re.search(rf"\b{module}\.", text):
            lines.append(f"import {module}")
    containers = [name for name in ("Counter", "deque") if re.search(rf"\b{name}\(", text)]
    if containers:
        lines.append(f"from collections import {', '.join(containers)}")
    lines += ["", "import torch", "import torch.nn as nn"]
    if re.search(r"\bF\.", text):
        lines.append("import torch.nn.functional as F")
    used = [
        name
        for name in (
            "BatchSampler",
            "DataLoader",
            "Dataset",
            "IterableDataset",
            "RandomSampler",
            "Sampler",
            "SequentialSampler",
            "Subset",
            "SubsetRandomSampler",
            "TensorDataset",
            "WeightedRandomSampler",
            "random_split",
        )
        if re.search(rf"\b{name}\b", text)
    ]
    if used:
        lines.append(f"from torch.utils.data import {', '.join(used)}")
    return lines[1:] if not lines[0] else lines
