"""Which libraries' functions are known for what they do with tensors."""

from __future__ import annotations

import sys

from transpile.plan.model import Plan

#: Libraries whose functions make no layers, and numbers of numbers alone.
PLAIN_PACKAGES = frozenset({"numpy", "scipy", "pandas", "sklearn", "einops", "tqdm"})


def is_known(plan: Plan, name: str) -> bool:
    """Whether a dotted name is of the framework, of Python, or of a library of plain numbers."""
    package = name.partition(".")[0]
    own = {prefix.partition(".")[0] for prefix in plan.table.quantities.layers.packages}
    return package in own | PLAIN_PACKAGES or package in sys.stdlib_module_names
