"""What the sizes of a tensor depend on, which is less than what its numbers do."""

from __future__ import annotations

from collections.abc import Iterator

from transpile.facts.values import Opaque, Value, Values
from transpile.plan.graph import called_names, method_calls, origin

#: What makes a tensor of a size that it is told; what stands in it is another question.
MADE = frozenset(
    f"torch.{word}"
    for word in ("rand", "randn", "randint", "randperm", "zeros", "ones", "empty", "full", "arange")
)


def behind_extent(value: Opaque) -> tuple[Values, ...] | None:
    """What a size of a tensor was computed from; None for what asks for no size of such a tensor.

    A part that is narrowed has the size that is told, wherever it begins.
    """
    owners: list[Value] = []
    for name, receiver in method_calls(value):
        if name != "size":
            return None
        owners.extend(receiver)
    if value.kind == "attribute" and value.name == "shape":
        owners.extend(value.operands[0])
    found = [told for owner in owners for told in sizes_told(origin(owner))]
    if not owners or None in found:
        return None
    asked = tuple(item.values for item in value.arguments.items)
    return (*asked, *(values for values in found if values is not None))


def sizes_told(owner: Value) -> Iterator[Values | None]:
    """Where a tensor has its sizes from; None where that is not known."""
    if not isinstance(owner, Opaque):
        yield None
        return
    arguments = owner.arguments
    told = tuple(item.values for item in arguments.items if item.keyword is None)
    if arguments.rest or arguments.unknown_because:
        yield None
    elif MADE.issuperset(called_names(owner) or ("",)):
        yield from (item.values for item in arguments.items)
    elif len(told) == len(arguments.items) == 3 and method_calls(owner):
        for name, receiver in method_calls(owner):
            if name != "narrow":
                yield None
                continue
            yield told[2]
            for whole in receiver:
                sizes = tuple(sizes_told(origin(whole)))
                yield from ((whole,),) if None in sizes else sizes
    else:
        yield None
