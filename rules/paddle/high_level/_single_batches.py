"""Single batches that ``train_batch()`` trains and ``eval_batch()`` evaluates."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event, Loop
from transpile.facts.values import Constant, Sequence, Values
from transpile.layout import insert_before, wrap_expression
from transpile.plan.flow.places import Statement
from transpile.plan.model import Plan
from transpile.quantity.domain import Kind
from transpile.rule import Change, Helper, In, Ruling
from transpile.rules.paddle.high_level._high_level import (
    batch_given,
    high_level,
    is_static,
    loaders_behind,
    method_of_model,
)
from transpile.rules.paddle.losses._shares import analysis
from transpile.rules.paddle.randomness._seeds import draws_noise, imports_random

BY_HAND = "write the steps of train_batch() out: call the network, the loss, backward() and step()"
BATCHES = "hand it the batches of a paddle.io.DataLoader that the script makes, as they are"


def refusals(plan: Plan, event: Event) -> tuple[str, str] | None:
    """Why a single batch cannot be shared, with what to do about it; None where it can."""
    if is_static(plan):
        return "the high-level interface is not converted for static graphs", BY_HAND
    if not isinstance(event.node, cst.Call) or event.arguments.unknown_because:
        return f"what it is given is not known: {event.arguments.unknown_because}", BATCHES
    trains = method_of_model(event) == "train_batch"
    shared = bool(loaders_behind(plan, batch_given(event), shared=True))
    if trains and not shared:
        return (
            "the batch that is trained here comes from no DataLoader, so that nothing could be "
            "shared out over the processes",
            BATCHES,
        )
    if not trains and not shared:
        return None
    if has_metrics(plan):
        return (
            "its metrics would be those of one process's share of the batch",
            "prepare the model without metrics, and compute them from predictions",
        )
    if trains and not all(of_samples(plan, values) for values in tensors(batch_given(event))):
        return (
            "what is trained here is no batch of a DataLoader as it was drawn: of something "
            "that is computed from it, a share may mean something else",
            BATCHES,
        )
    return None


def has_metrics(plan: Plan) -> bool:
    """Whether a model is prepared with metrics."""
    given = (event.arguments.get("metrics", 2) for event in high_level(plan).preparations)
    return any(each is not None and each.values != (Constant(None),) for each in given)


def tensors(values: Values) -> Iterator[Values]:
    """The tensors that a batch consists of."""
    whole = tuple(value for value in values if not isinstance(value, Sequence))
    if whole:
        yield whole
    for value in values:
        if isinstance(value, Sequence):
            yield from (*value.elements, *([value.rest] if value.rest else ()))


def of_samples(plan: Plan, values: Values) -> bool:
    """Whether a tensor has something for each sample of a batch, and nothing of the others."""
    quantity = analysis(plan).of(values)
    return quantity.kind is Kind.SAMPLE and not quantity.coupled


def averaged(plan: Plan, ruling: Ruling, event: Event) -> Iterator[Change]:
    """The losses as those of the whole batch; noise of its own for each process."""
    module = ruling.module
    names = plan.names_in(module)
    yield Helper("average_losses", module)
    assert isinstance(ruling.node, cst.Call)
    for edit in wrap_expression(
        module.source, ruling.node, f"{names.fresh('average_losses')}(", ")"
    ):
        yield In(module, edit)
    loops = [frame for frame in event.stack if isinstance(frame, Loop)]
    if method_of_model(event) != "train_batch" or not draws_noise(plan) or not loops:
        return
    outer = loops[0]
    assert isinstance(outer.node, Statement)
    helper = "vary_all_random_numbers" if imports_random(plan) else "vary_random_numbers"
    yield Helper(helper, outer.module)
    line = f"{plan.names_in(outer.module).fresh(helper)}()"
    for edit in insert_before(outer.module.source, outer.node, [line], order=-3):
        yield In(outer.module, edit)
