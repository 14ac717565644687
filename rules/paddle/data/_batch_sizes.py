"""The sizes of training batches, and what of the training step is as large as they are."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.values import Argument, Constant, Opaque, Sequence, Value
from transpile.plan.data.batch_size.lookalikes import sizes
from transpile.plan.data.batch_size.reads import Use, mentions, shapes
from transpile.plan.data.batch_size.uses import Maker, reached_in_steps, uses
from transpile.plan.data.sources import depends_on_world_size, given, sites
from transpile.plan.graph import called_names, identity
from transpile.plan.model import Plan
from transpile.plan.models.learning import reached_by_losses
from transpile.plan.query import query
from transpile.rules.paddle.data._shared_already import shared_already
from transpile.rules.paddle.high_level._high_level import fit_argument, high_level

#: Where samplers are told the size of a batch.
POSITIONS = {"paddle.io.BatchSampler": 3, "paddle.io.DistributedBatchSampler": 1}
ALIKE = (
    "this number has the value of the batch size and is bound beside it: whether it must follow "
    "the share of a process is not known"
)
NETWORK = (
    "the network takes the batch size of fit() for a shape, in training, where each process has "
    "its share, and in evaluation"
)


@query
def places(plan: Plan) -> tuple[Use, ...]:
    """What follows the batch size of training; found once for all rules."""
    return tuple(find_places(plan))


@query
def _known_batch_sizes(plan: Plan) -> tuple[set[int | str], set[int]]:
    values = {identity(value) for argument, _ in batch_sizes(plan) for value in argument.values}
    return values, {id(use.node) for use in places(plan)}


def holds_share(plan: Plan, call: Opaque) -> bool:
    """Whether what a call makes is as large as this process's share of a batch, for training."""
    if id(call) not in reached_in_steps(plan):
        return False
    known, literal = _known_batch_sizes(plan)
    if any(id(node) in literal for item in call.arguments.items for node in parts(item.node)):
        return True
    return any(identity(value) in known for value in numbers_given(call))


def parts(node: cst.CSTNode | None) -> list[cst.CSTNode]:
    """An argument, and what it puts together to a tuple or list."""
    if isinstance(node, (cst.Tuple, cst.List)):
        return [element.value for element in node.elements]
    return [] if node is None else [node]


def numbers_given(call: Opaque) -> Iterator[Value]:
    """What a call is given, also within a tuple or list."""
    for item in call.arguments.items:
        for held in item.values:
            yield from held.every() if isinstance(held, Sequence) else (held,)


def find_places(plan: Plan) -> Iterator[Use]:
    """What follows the batch size of any training loader, or of the high-level interface."""
    for argument, makers in batch_sizes(plan):
        if not depends_on_world_size(plan, argument.values):
            yield from uses(plan, argument, makers)
            yield from alike(plan, argument)
    for event in high_level(plan).fits:
        size = fit_argument(event, "batch_size")
        if size is not None and not depends_on_world_size(plan, size.values):
            yield from within_network(plan, size)


def alike(plan: Plan, argument: Argument) -> Iterator[Use]:
    """Names of another number that has the value of the batch size, where samples are counted."""
    value = argument.values[0] if len(argument.values) == 1 else None
    if not isinstance(value, Constant):
        return
    reached = reached_by_losses(plan)
    for event in plan.facts.calls:
        if not isinstance(event.node, cst.Call) or event.detached:
            continue
        if not plan.in_training(event.stack) or not any(id(v) in reached for v in event.result):
            continue
        if not any(getattr(c, "name", "") in plan.table.shaping.filled for c in event.callee):
            continue
        for first in sizes(event.node, plan.table.shaping.keywords)[:1]:
            values = plan.facts.values_of(first)
            if isinstance(first, (cst.Name, cst.Attribute)) and values == (Constant(value.value),):
                if values[0] is not value:
                    yield Use(event.module, first, ALIKE)


def within_network(plan: Plan, size: Argument) -> Iterator[Use]:
    """What the network of the high-level interface shapes by its batch size.

    The same network evaluates, and the text does not say with batches of which size.
    """
    sources = {identity(value) for value in size.values if isinstance(value, (Constant, Opaque))}
    for event in plan.facts.calls:
        if not event.detached or not shapes(plan, event.callee):
            continue
        function = event.function()
        if function is None or function.name != "forward" or not isinstance(event.node, cst.Call):
            continue
        for written in event.node.args:
            for node in mentions(plan, written.value, sources):
                yield Use(event.module, node, NETWORK)


def batch_sizes(plan: Plan) -> Iterator[tuple[Argument, list[Maker]]]:
    """The sizes of training batches, each with the calls that take it."""
    for site in sites(plan):
        if shared_already(plan, site):
            continue
        sampler = given(site, "batch_sampler")
        if sampler is None:
            argument = site.loader.argument("batch_size")
            if argument is not None:
                makers = [(loader.event, loader.argument("batch_size")) for loader in site.loaders]
                yield argument, makers
            continue
        for value in sampler.values:
            for name in called_names(value):
                if name in POSITIONS and isinstance(value, Opaque):
                    argument = value.arguments.get("batch_size", POSITIONS[name])
                    if argument is not None:
                        yield argument, [(loader.event, argument) for loader in site.loaders]
