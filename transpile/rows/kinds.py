"""The kinds of operations, by what they do along the axes of a tensor."""

from __future__ import annotations

from collections.abc import Callable

from . import along, cutting, joining, moving, simple
from .bound import Bound
from .domain import Known

Kind = Callable[[Bound], Known]
NAMES = {
    simple: "elementwise condition first noisy drawn drawn_like new like counting evenly identity "
    "constant typed",
    along: "reduces tests extremes paired two along sorts implicit_softmax",
    cutting: "splits unbinds picks cuts gathers scatters one_hot",
    moving: "views views_as flattens unflattens transposes permutes moves unsqueezes squeezes "
    "expands expands_as",
    joining: "repeats interleaves joins stacks diagonals last_two asks refuses",
}
KINDS: dict[str, Kind] = {
    name: getattr(module, name) for module, names in NAMES.items() for name in names.split()
}
