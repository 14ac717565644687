"""Programs of a given shape, with choices in their places."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from .choices import Choices
from .text import marked

TOP = [
    "import torch",
    "import torch.nn as nn",
    "import torch.nn.functional as F",
]
SEEDED = ["", "torch.set_default_dtype(torch.float64)", "torch.manual_seed(0)", ""]

DATA = [
    "X = torch.randn(36, 5)",
    "Y = torch.randint(0, 3, (36,))",
    "loader = DataLoader(TensorDataset(X, Y), batch_size=12SHUFFLE)",
]

#: What a program may import besides, by what shows that it does.
IMPORTS = {
    r"\bcsv\.": "import csv",
    r"\bcopy\.": "import copy",
    r"\bheapq\.": "import heapq",
    r"\bitertools\.": "import itertools",
    r"\bjson\.": "import json",
    r"\blogging\.": "import logging",
    r"\bmath\.": "import math",
    r"\boperator\.": "import operator",
    r"\bos\.": "import os",
    r"\bpickle\.": "import pickle",
    r"\brandom\.(?!manual)": "import random",
    r"\bstatistics\.": "import statistics",
    r"\bsys\.": "import sys",
    r"\bargparse\.": "import argparse",
    r"\bnp\.": "import numpy as np",
    r"\bPath\(": "from pathlib import Path",
    r"\bSimpleNamespace\(": "from types import SimpleNamespace",
    r"\bpartial\(": "from functools import partial",
    r"\breduce\(": "from functools import reduce",
    r"@dataclass\b": "from dataclasses import dataclass",
    r"\btqdm\(": "from tqdm import tqdm",
}
CONTAINERS = ("Counter", "OrderedDict", "defaultdict", "deque")
DATA_CLASSES = (
    "DataLoader",
    "Dataset",
    "IterableDataset",
    "Sampler",
    "Subset",
    "TensorDataset",
    "WeightedRandomSampler",
)


@dataclass(frozen=True)
class Template:
    """A shape of program.

    Args:
        lines: its text after the imports; ``<name>`` stands for a choice.
        options: the options of each choice, the simplest first; further lines of an option stand
            as deep as its first.
    """

    lines: tuple[str, ...]
    options: Mapping[str, tuple[str, ...]]


def from_template(choices: Choices, name: str, template: Template) -> list[str]:
    """The lines of a program of another shape."""
    lines: list[str] = []
    for line in template.lines:
        if "SHUFFLE" in line:
            shuffle = choices.pick("template.shuffle", ("no", "yes"))
            line = line.replace("SHUFFLE", ", shuffle=True" if shuffle == "yes" else "")
        origin = ""
        for key in re.findall(r"<(\w+)>", line):
            chosen = choices.pick(f"{name}.{key}", template.options[key])
            indent = " " * (len(line) - len(line.lstrip()))
            line = line.replace(f"<{key}>", chosen.replace("\n", f"\n{indent}"))
            origin = f"{name}.{key}={chosen}"
        found = [part.rstrip() for part in line.split("\n")]
        lines += marked(origin, found) if origin else found
    return [*imports(chr(10).join(lines)), *SEEDED, *lines]


def imports(text: str) -> list[str]:
    """What a program has to import."""
    found = [line for shown, line in IMPORTS.items() if re.search(shown, text)]
    found.sort(key=lambda line: (line.startswith("from"), line))
    containers = [name for name in CONTAINERS if re.search(rf"\b{name}\(", text)]
    if containers:
        found.append(f"from collections import {', '.join(containers)}")
    used = [name for name in DATA_CLASSES if re.search(rf"\b{name}\b", text)]
    loaded = [f"from torch.utils.data import {', '.join(used)}"] if used else []
    return [*found, *TOP, *loaded]
