"""Names that are computed: which ones a text can be that is put together while the script runs.

``f"layer{i}"`` may be ``layer0`` or ``layer12``, and never ``head``. It is written ``layer*`` here,
and what an object keeps under such a name is an attribute ``layer*`` of it.
"""

from __future__ import annotations

import re
from itertools import product

import libcst as cst

from transpile.facts.values import Constant, Opaque, Value, Values

#: Stands for any text in a name that is computed.
ANYTHING = "*"
PERCENT = re.compile(r"%[-0-9.]*[sdir]")
BRACES = re.compile(r"\{[^{}]*\}")


def names_of(values: Values) -> list[str]:
    """What a name may look like; none of which nothing is written stays unknown by itself."""
    return [name for value in values for name in names_of_one(value)]


def names_of_one(value: Value) -> list[str]:
    """What one alternative of a name may look like."""
    if isinstance(value, Constant) and isinstance(value.value, str):
        return [value.value]
    if not isinstance(value, Opaque):
        return [ANYTHING]
    if isinstance(value.node, cst.FormattedString) and value.kind == "operation":
        parts = value.node.parts
        return ["".join(getattr(part, "value", ANYTHING) for part in parts)]
    if value.name in ("Add", "concatenate") and len(value.operands) == 2:
        left, right = map(names_of, value.operands)
        return [before + behind for before, behind in product(left, right)]
    if value.name == "Modulo" and len(value.operands) == 2:
        return [PERCENT.sub(ANYTHING, name) for name in names_of(value.operands[0])]
    for callee in value.callee if value.kind == "call" else ():
        if isinstance(callee, Opaque) and callee.name == "format" and callee.operands:
            return [BRACES.sub(ANYTHING, name) for name in names_of(callee.operands[0])]
    return [ANYTHING]


def is_computed(name: str) -> bool:
    """Whether a part of a name is not written."""
    return ANYTHING in name


def is_told(name: str) -> bool:
    """Whether any part of a name is written."""
    return bool(name.strip(ANYTHING))


def may_be_one(left: str, right: str) -> bool:
    """Whether two names may be the same one; of two computed ones their ends decide."""
    if not is_computed(left):
        left, right = right, left
    if not is_computed(left):
        return left == right
    if not is_computed(right):
        written = map(re.escape, left.split(ANYTHING))
        return re.fullmatch(".*".join(written), right, re.DOTALL) is not None
    starts = sorted((name.partition(ANYTHING)[0] for name in (left, right)), key=len)
    ends = sorted((name.rpartition(ANYTHING)[2] for name in (left, right)), key=len)
    return starts[1].startswith(starts[0]) and ends[1].endswith(ends[0])
