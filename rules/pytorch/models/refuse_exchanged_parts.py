"""Refuse scripts that exchange parts of a model, or set them by a batch, while it is trained.

What:
    Where a script puts new layers in the place of others once the training runs, as pruning and
    growing networks do, it is refused. So is a model that sets its parameters by what it is
    given, as layers do that normalize their first batch.

Why:
    Which parts go is mostly decided by activations and gradients, of which each process has its
    own: the models would differ from then on. Nor does a wrap know of the new parameters, and
    what is written into parameters past the optimizer is never averaged.

Before:
    for epoch in range(3):
        train(model)
        model._modules["layer"] = smaller(model.layer)

After:
    model._modules["layer"] = smaller(model.layer)
    for epoch in range(3):
        train(model)

Refuses when:
    a part is exchanged behind the place where the processes get random numbers of their own, or
    a forward pass copies what it computes from its input into a parameter.

Source:
    https://pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.facts.events import Call
from transpile.facts.values import Opaque, Value
from transpile.plan.graph import called_names, walk_back
from transpile.plan.model import Plan
from transpile.rule import Answer, Change, Ruling, Rulings
from transpile.rules.pytorch.randomness._random_draws import Draws

CODES = {
    "PT316": "parts of a model are exchanged while it is trained",
    "PT319": "a forward pass sets parameters by its input",
}


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each place that exchanges parts during the training."""
    if all(backward.event.detached for backward in plan.backwards):
        return
    yield from set_by_input(plan)
    draws = Draws(plan)
    seen: set[int] = set()
    for event in plan.facts.stores:
        if event.name != "[]" or event.detached:
            continue
        parts = any(
            isinstance(value, Opaque) and value.kind == "attribute" and value.name == "_modules"
            for value in event.callee
        )
        if parts and draws.is_late(event) and id(event.node) not in seen:
            seen.add(id(event.node))
            yield Ruling.refuse(
                "PT316",
                event,
                "parts of a model are exchanged here while it is trained: each process would "
                "decide by what it has seen of the data, and the models would differ",
                "let rank 0 decide which parts go, send that to all processes, and wrap the model "
                "anew",
            )


def set_by_input(plan: Plan) -> Iterator[Ruling]:
    """Parameters that a forward pass fills with what it computes from its input."""
    seen: set[int] = set()
    loaders = {id(loader.value) for loader in plan.loaders}
    for event in plan.facts.calls:
        if id(event.node) in seen or not event.arguments.items:
            continue
        if not any(fills_parameter(callee) for callee in event.callee):
            continue
        if not any(
            isinstance(frame, Call) and frame.function.name == "forward" for frame in event.stack
        ):
            continue
        given = walk_back(event.arguments.items[0].values)
        if any(is_input(value, loaders) for value in given):
            seen.add(id(event.node))
            yield Ruling.refuse(
                "PT319",
                event,
                "the forward pass writes into a parameter here what it computes from its input: "
                "each process would do so from its own share, and the models would differ",
                "set it before the training, from a batch that all processes have, or broadcast "
                "it from rank 0 afterwards",
            )


def fills_parameter(callee: Value) -> bool:
    """Whether a call copies something into a parameter."""
    if not isinstance(callee, Opaque) or callee.kind != "attribute" or callee.name != "copy_":
        return False
    pending, behind = list(callee.operands[0]), list[Value]()
    while pending:
        value = pending.pop()
        if isinstance(value, Opaque) and value.kind in ("attribute", "item"):
            pending.extend(value.operands[0])
        else:
            behind.append(value)
    return any("torch.nn.Parameter" in called_names(value) for value in behind)


def is_input(value: Value, loaders: set[int]) -> bool:
    """Whether a value is of a batch, or what a function is given by code that is not known."""
    if not isinstance(value, Opaque):
        return False
    if value.kind == "element":
        return any(id(source) in loaders for source in walk_back(value.operands[0]))
    return value.kind == "parameter"


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """Nothing is changed."""
    return iter(())
