"""What shares the memory of something else: what is written into it is written there, too."""

from __future__ import annotations

from transpile.facts.values import Opaque, Values
from transpile.plan.graph import method_calls

#: Attributes of arrays, tensors and tables that give their contents another shape.
ATTRIBUTES = frozenset(
    {"T", "mT", "data", "flat", "real", "imag", "values", "loc", "iloc", "at", "iat"}
)
#: Methods that do so.
METHODS = frozenset(
    {
        "detach", "view", "view_as", "flatten", "reshape", "ravel", "squeeze", "unsqueeze", "t",
        "transpose", "swapaxes", "permute", "narrow", "select", "diagonal", "unflatten", "numpy",
        "to_numpy", "expand", "expand_as", "chunk", "split", "unbind",
    }
)  # fmt: skip


def behind_views(values: Values) -> Values:
    """Values, and all that a write into them writes into: ``x[1:].view(-1)`` is of ``x``."""
    found = dict.fromkeys(values)
    pending = list(found)
    while pending:
        value = pending.pop()
        if not isinstance(value, Opaque):
            continue
        bases: Values = ()
        if value.kind == "item" or (value.kind == "attribute" and value.name in ATTRIBUTES):
            bases = value.operands[0]
        for name, receiver in method_calls(value):
            if name in METHODS:
                bases = (*bases, *receiver)
        for base in bases:
            if base not in found:
                found[base] = None
                pending.append(base)
    return tuple(found)
