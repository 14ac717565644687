"""What must hold before batches that a script cuts out of its data may be sharded."""

from __future__ import annotations

import libcst as cst

from transpile.facts.events import Event, Loop
from transpile.facts.values import Constant, Opaque
from transpile.plan.effects.treatment import descendants
from transpile.plan.graph import called_names, origin, walk_back
from transpile.plan.model import Backward, Cut, Plan
from transpile.plan.models.holders import bindings
from transpile.quantity.asking import Kind, quantity

#: Layers that take the first dimension for time unless they are told otherwise.
RECURRENT = frozenset(
    f"torch.nn.{name}"
    for name in (
        "RNN",
        "LSTM",
        "GRU",
        "MultiheadAttention",
        "Transformer",
        "TransformerEncoder",
        "TransformerDecoder",
        "TransformerEncoderLayer",
        "TransformerDecoderLayer",
    )
)


def carried_over(plan: Plan, backward: Backward) -> str:
    """Why a step depends on the batches before it; empty where it does not."""
    loop = backward.batch_loop
    if loop is None or not isinstance(loop.node, (cst.For, cst.While)):
        return ""
    for model in backward.models:
        for event in model.forwards:
            node = event.node
            if event.module is not loop.module or not isinstance(node, cst.Call):
                continue
            if not any(frame.node is loop.node for frame in event.loops()):
                continue
            for name in names_in(node):
                if is_carried(plan, loop, name, event):
                    return (
                        f"the state '{name}' goes from one batch on to the next, so that a share "
                        "of each batch would continue other samples"
                    )
    return ""


def is_carried(plan: Plan, loop: Loop, name: str, event: Event) -> bool:
    """Whether a name that a model is given holds what it gave for the batch before."""
    inside = bindings(loop.node).get(name, [])
    given = [
        value
        for item in event.arguments.items
        for value in item.values
        if item.node is not None and name in names_in(item.node)
    ]
    if not inside or not any(
        any(inner is result for result in event.result) for inner in walk_back(tuple(given))
    ):
        return False
    body = loop.node.body  # type: ignore[attr-defined]
    for statement in getattr(body, "body", ()):
        if any(node is event.node for node in descendants(statement, (cst.Call,))):
            return True
        if not isinstance(statement, cst.SimpleStatementLine):
            continue
        for small in statement.body:
            if not isinstance(small, cst.Assign):
                continue
            bound = {one for target in small.targets for one in names_in(target.target)}
            if name in bound and name not in names_in(small.value):
                return False
    return True


def names_in(node: cst.CSTNode) -> set[str]:
    """The names that an expression mentions."""
    return {name.value for name in descendants(node, (cst.Name,)) if isinstance(name, cst.Name)}


def first_dimension(plan: Plan, backward: Backward) -> str:
    """Why the first dimension may count something else than samples; empty where it does not."""
    if all(in_random_order(plan, cut) for cut in backward.cuts):
        return ""
    events = [event for model in backward.models for event in model.forwards]
    for event in events:
        if event.detached or not plan.in_training(event.stack):
            continue
        for item in event.arguments.items:
            found = quantity(plan, item.values)
            if found.kind is Kind.SAMPLE and found.dim != 0:
                return (
                    "what is cut out of the data reaches the model with its first dimension "
                    "elsewhere, so that it may count time and not samples"
                )
    for event in plan.facts.calls:
        for callee in event.callee:
            layer = origin(callee)
            if not any(name in RECURRENT for name in called_names(layer)) or event.detached:
                continue
            if isinstance(layer, Opaque) and is_batch_first(layer):
                continue
            first = event.arguments.items[0].values if event.arguments.items else ()
            found = quantity(plan, first)
            if found.kind is Kind.SAMPLE and found.dim != 1:
                return (
                    "a layer of the model takes the first dimension of what is cut out of the data "
                    "for time: which part belongs to which process is not decided here"
                )
    return ""


def is_batch_first(layer: Opaque) -> bool:
    """Whether a layer that knows time counts samples first."""
    return any(
        given.values == (Constant(True),)
        for value in walk_back((layer,))
        if isinstance(value, Opaque)
        for given in value.arguments.items
        if given.keyword == "batch_first"
    )


def in_random_order(plan: Plan, cut: Cut) -> bool:
    """Whether what is cut out are positions in random order, which only samples can stand."""
    return cut.draws or any(
        name in plan.table.index_draws
        for value in walk_back(tuple(cut.values))
        for name in called_names(value)
    )


def loss_of_samples(plan: Plan, backward: Backward) -> str:
    """Why the loss is not known to be one of samples; empty where it is."""
    found = quantity(plan, backward.loss)
    if found.kind in (Kind.EQUAL, Kind.NOTHING):
        return (
            "how the loss depends on what is cut out of the data cannot be followed, so that it is "
            "not known to be a batch of samples"
        )
    if found.kind is Kind.UNKNOWN and not found.certain:
        if not all(in_random_order(plan, cut) for cut in backward.cuts):
            return (
                "the loss is no plain mean or sum over what is cut out of the data "
                f"({found.reason}), so that it is not known to be a batch of samples"
            )
    return ""
