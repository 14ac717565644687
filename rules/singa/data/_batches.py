"""The tensors that batches are copied into, and the places that do so."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.module import Module
from transpile.facts.values import Argument, Opaque
from transpile.plan.model import Plan
from transpile.plan.query import query
from transpile.records import dataclass
from transpile.rules.singa._roles import called_models, compiles, methods_of, names_of, updates
from transpile.rules.singa._vocabulary import FROM_NUMPY, TENSOR, TO_NUMPY
from transpile.rules.singa.data._seeds import draws_on
from transpile.rules.singa.gradients._shares import leaves_behind

#: Methods that write other numbers into a tensor than a NumPy array's or one and the same.
COPIES = frozenset({"copy_data", "copy_from", "reset_like", "repeat"})


@dataclass(frozen=True, eq=False)
class Share:
    """A place that is given a batch, or the size of one.

    Args:
        module: where it is.
        node: the array, the size or the shape.
        helper: the helper around it.
        why_not: why it cannot be shared; empty where it can.
    """

    module: Module
    node: cst.CSTNode
    helper: str
    why_not: str = ""


def leaves(plan: Plan) -> dict[int, Opaque]:
    """The tensors that take in the batches of a model or of a loss."""
    followed = [value for update in updates(plan) for value in update.loss]
    compiled = {id(event.node) for event in compiles(plan)}
    for event in plan.facts.reached_calls:
        if TO_NUMPY in names_of(event) or called_models(event) or id(event.node) in compiled:
            followed.extend(value for item in event.arguments.items for value in item.values)
    found: dict[int, Opaque] = leaves_behind(plan, tuple(followed))
    return found


@query
def shares(plan: Plan) -> list[Share]:
    """The places that are given batches, each once."""
    found: dict[int, Share] = {}
    for share in find_shares(plan):
        found.setdefault(id(share.node), share)
    return list(found.values())


def find_shares(plan: Plan) -> Iterator[Share]:
    """See :func:`shares`."""
    tensors = leaves(plan)
    for event in plan.facts.reached_calls:
        if any(id(value) in tensors for value in event.result):
            yield from made(event)
            continue
        filled = draws_on(event)
        if any(id(value) in tensors for value in filled):
            why = "random numbers of the device are a batch here: each process draws its own"
            yield Share(event.module, event.node, "share_of", why)
        for name, owner in methods_of(event):
            if not any(id(value) in tensors for value in owner):
                continue
            if name == "copy_from_numpy":
                yield copied(event)
            elif name in COPIES:
                why = f"what `.{name}` writes into a batch is not followed"
                yield Share(event.module, event.node, "share_of", why)


def made(event: Event) -> Iterator[Share]:
    """The batch, or the shape of one, that a tensor is made with."""
    if FROM_NUMPY in names_of(event):
        yield given(event, event.arguments.get("np_array", 0), "share_of")
        return
    data = event.arguments.get("data", 3)
    if data is not None:
        yield given(event, data, "share_of")
        return
    shape = event.arguments.get("shape", 0)
    if shape is None or TENSOR not in names_of(event):
        return
    node = shape.node
    if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Add):
        node = node.left
    if isinstance(node, (cst.Tuple, cst.List)) and node.elements:
        first = node.elements[0]
        starred = isinstance(first, cst.StarredElement)
        why = "the shape begins with an unpacked sequence" if starred else ""
        yield Share(event.module, first.value, "share_size", why)
    else:
        yield given(event, shape, "share_shape")


def copied(event: Event) -> Share:
    """The batch that is copied into a tensor."""
    if event.arguments.get("offset", 1) is not None:
        why = "a batch is copied to an offset of a tensor"
        return Share(event.module, event.node, "share_of", why)
    return given(event, event.arguments.get("np_array", 0), "share_of")


def given(event: Event, argument: Argument | None, helper: str) -> Share:
    """What a call is given."""
    if argument is None or not isinstance(argument.node, cst.BaseExpression):
        why = event.arguments.unknown_because or "it is not seen what this is given"
        return Share(event.module, event.node, helper, why)
    return Share(event.module, argument.node, helper)
