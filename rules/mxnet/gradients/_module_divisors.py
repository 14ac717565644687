"""Modules that would divide by the batch of one worker."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.values import Constant, External, Mapping, Opaque, Values
from transpile.plan.data.sources import constant_of
from transpile.plan.graph import called_names
from transpile.plan.model import Plan
from transpile.plan.query import query
from transpile.plan.roles.backwards import data_sources
from transpile.records import dataclass
from transpile.rule import Ruling
from transpile.rules.mxnet._roles import Fit, fits, fits_at, in_workers, receivers_of
from transpile.rules.mxnet.data._batch_shapes import binds, bound_to_batch
from transpile.rules.mxnet.gradients._divisors import reads_loader


def module_divisors(plan: Plan) -> Iterator[Ruling]:
    """Refusals of modules that would divide by the batch of one worker."""
    for fit in fits(plan):
        entries = [
            value.entries.get("rescale_grad")
            for each in fits_at(plan, fit)
            if (argument := each.argument("optimizer_params")) is not None
            for value in argument.values
            if isinstance(value, Mapping)
        ]
        for entry in entries:
            if entry is not None and (
                reads_loader(plan, entry.values) or data_sources(entry.values, plan)
            ):
                yield module_refusal(
                    fit.event,
                    "rescale_grad divides by the batch of one worker, but the store adds up the "
                    "gradients of all",
                    "leave rescale_grad out: the module divides by the batch of all workers",
                )
                break
    for event in plan.facts.reached_calls:
        if not fits(plan):
            continue
        normalised = event.arguments.keyword("normalization")
        symbol = any(
            isinstance(callee, External) and callee.name.startswith("mxnet.sym.")
            for callee in event.callee
        )
        if symbol and constant_of(normalised, "null") != "null":
            yield module_refusal(
                event,
                "this loss divides by the batch of one worker, but the store adds up the "
                "gradients of all",
                'use normalization="null": the module divides by the batch of all workers',
            )
    for elsewhere in bound_elsewhere(plan):
        if not elsewhere.fits:
            yield module_refusal(
                elsewhere.event,
                "the module is bound to shapes that are not those of the training data, so "
                "that it would divide by another batch than a worker has",
                "bind it to provide_data and provide_label of the training data",
            )


@dataclass(frozen=True, eq=False)
class Elsewhere:
    """A module that is bound to shapes that are not those of the training data.

    Args:
        event: where it is bound.
        fits: the calls that set its optimizer up, where its divisor can be written down.
    """

    event: Event
    fits: tuple[Fit, ...]


@query
def bound_elsewhere(plan: Plan) -> list[Elsewhere]:
    """The modules that are bound to other shapes, and divide by them."""
    found: list[Elsewhere] = []
    if plan.options.batch_size == "per-device":
        return found  # each worker divides as one process does, and the store's sum by their number
    for event in binds(plan) if fits(plan) else ():
        shapes = event.arguments.get("data_shapes", 0)
        if shapes is None or reads_loader(plan, shapes.values) or bound_to_batch(plan, event):
            continue
        modules = receivers_of(event, "bind")
        own = [
            fit for fit in fits(plan) if any(sets_up(each, modules) for each in fits_at(plan, fit))
        ]
        if own and all(map(divides_itself, own)):
            continue
        writable = in_workers(plan) and all(can_be_told(fit) for fit in own)
        single = all(SINGLE.intersection(called_names(value)) for value in modules)
        found.append(Elsewhere(event, tuple(own) if writable and single else ()))
    return found


#: Modules that hold one group of executors, which knows its batch.
SINGLE = frozenset({"mxnet.module.Module", "mxnet.module.Module.load"})


def sets_up(fit: Fit, modules: Values) -> bool:
    """Whether a call sets the optimizer of one of some modules up."""
    own = {
        id(value) for name in ("fit", "init_optimizer") for value in receivers_of(fit.event, name)
    }
    return any(id(value) in own for value in modules)


def divides_itself(fit: Fit) -> bool:
    """Whether the optimizer is an object of the script, whose divisor no module sets."""
    given = fit.argument("optimizer")
    return given is not None and all(
        isinstance(value, Opaque)
        and any(n.startswith("mxnet.optimizer.") for n in called_names(value))
        for value in given.values
    )


def can_be_told(fit: Fit) -> bool:
    """Whether the settings of an optimizer stand where something can be put around them."""
    if fit.event.arguments.unknown_because or not isinstance(fit.event.node, cst.Call):
        return False
    given, optimizer = fit.argument("optimizer_params"), fit.argument("optimizer")
    named = optimizer is None or all(isinstance(value, Constant) for value in optimizer.values)
    return named and (given is None or isinstance(given.node, cst.BaseExpression))


def module_refusal(event: Event, why: str, advice: str) -> Ruling:
    """The refusal of something that divides by the batch of one worker."""
    return Ruling.refuse("MX303", event, why, advice)
