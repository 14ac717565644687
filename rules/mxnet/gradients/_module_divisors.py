"""Modules that would divide by the batch of one worker."""

from __future__ import annotations

from collections.abc import Iterator

from transpile.facts.events import Event
from transpile.facts.values import External, Mapping
from transpile.plan.data.sources import constant_of
from transpile.plan.model import Plan
from transpile.plan.roles.backwards import data_sources
from transpile.rule import Ruling
from transpile.rules.mxnet._roles import fits
from transpile.rules.mxnet.data._batch_shapes import binds, bound_to_batch
from transpile.rules.mxnet.gradients._divisors import reads_loader


def module_divisors(plan: Plan) -> Iterator[Ruling]:
    """Refusals of modules that would divide by the batch of one worker."""
    for fit in fits(plan):
        argument = fit.argument("optimizer_params")
        for value in argument.values if argument is not None else ():
            entry = value.entries.get("rescale_grad") if isinstance(value, Mapping) else None
            if entry is not None and (
                reads_loader(plan, entry.values) or data_sources(entry.values, plan)
            ):
                yield module_refusal(
                    fit.event,
                    "rescale_grad divides by the batch of one worker, but the store adds up the "
                    "gradients of all",
                    "leave rescale_grad out: the module divides by the batch of all workers",
                )
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
    for event in binds(plan) if fits(plan) else ():
        shapes = event.arguments.get("data_shapes", 0)
        followed = shapes is None or reads_loader(plan, shapes.values)
        if not followed and not bound_to_batch(plan, event):
            yield module_refusal(
                event,
                "the module is bound to shapes that are not those of the training data, so "
                "that it would divide by another batch than a worker has",
                "bind it to provide_data and provide_label of the training data",
            )


def module_refusal(event: Event, why: str, advice: str) -> Ruling:
    """The refusal of something that divides by the batch of one worker."""
    return Ruling.refuse("MX303", event, why, advice)
