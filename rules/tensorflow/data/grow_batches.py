"""Let every worker take the script's batch size.

What:
    With ``--batch-size per-device`` the size of a batch is multiplied by the number of workers
    where the script says it, so that all that is computed from it follows: steps of an epoch,
    noise, shapes. Each worker computes its share of the larger batch, which has the script's size.

Why:
    A GPU is best used with the batch that was chosen for it. What N workers train is then what one
    would train with an N times larger batch, and is printed so.

Before:
    BATCH_SIZE = 64

After:
    BATCH_SIZE = 64 * get_world_size()

Refuses when:
    it cannot be seen where the script says how large a batch is.

Source:
    https://www.tensorflow.org/tutorials/distribute/keras
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.values import Constant, only_constant
from transpile.layout import add_argument, multiply_expression
from transpile.plan.data.batch_size.said import Said
from transpile.plan.graph import called_names
from transpile.plan.model import Plan
from transpile.rule import Answer, Change, Helper, In, Remark, Ruling, Rulings
from transpile.rules.tensorflow._names import SCHEDULES
from transpile.rules.tensorflow._sites import connects_workers, fits
from transpile.rules.tensorflow.data._batches import Size, said, sizes

CODES = {
    "TF211": "every worker takes the script's batch size",
    "TF212": "it is not seen where the script says how large a batch is",
    "TF213": "batches are counted by a fixed number",
}
#: What counts batches: arguments of ``fit``, and of schedules.
OF_FIT = ("steps_per_epoch",)
OF_SCHEDULES = {"decay_steps": 1, "first_decay_steps": 1, "boundaries": 0, "warmup_steps": None}


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each place that says how large a batch is, a word on each fixed count."""
    if plan.options.batch_size != "per-device" or connects_workers(plan):
        return
    for size in sizes(plan):
        if size.why_not:
            yield refused(size.event, size.why_not)
        elif size.node is None:
            why = "every worker takes the batch size that counts without one"
            yield Ruling.apply("TF211", size.event, why, data=size)
    for place in said(plan):
        if place.why_not:
            yield refused(place, place.why_not)
        else:
            why = "every worker takes the script's batch size"
            yield Ruling.apply("TF211", place, why, data=place)
    yield from fixed_counts(plan)


def refused(place: Event | Said, why: str) -> Ruling:
    """The refusal where a size is not found."""
    advice = "give the size of a batch a name where it is assigned once, or choose global"
    return Ruling.refuse("TF212", place, why, advice)


def fixed_counts(plan: Plan) -> Iterator[Remark]:
    """A word on each literal that counts batches."""
    for event in fits(plan):
        for word in OF_FIT:
            yield from counted(event, word, None)
    for event in plan.facts.calls:
        names = [name for value in event.result for name in called_names(value)]
        if any(name.startswith(SCHEDULES) for name in names):
            for word, position in OF_SCHEDULES.items():
                yield from counted(event, word, position)


def counted(event: Event, word: str, position: int | None) -> Iterator[Remark]:
    """A word on an argument that is a literal."""
    argument = event.arguments.get(word, position)
    if argument is None or not isinstance(argument.node, (cst.Integer, cst.List)):
        return
    constant = only_constant(argument.values) or Constant(None)
    half = f" ({constant.value // 2} for N = 2)" if isinstance(constant.value, int) else ""
    yield Remark.warn(
        "TF213",
        (event.module, argument.node),
        f"'{word}' counts batches of the script's size; with N workers each step takes N of them",
        f"divide it by N for the same number of samples{half}",
    )


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The number of workers behind the size."""
    yield Helper("get_world_size", ruling.module)
    factor = plan.names_in(ruling.module).fresh("get_world_size") + "()"
    source = ruling.module.source
    if isinstance(ruling.data, Size):
        call = ruling.data.event.node
        assert isinstance(call, cst.Call)
        text = f"batch_size={ruling.data.default} * {factor}"
        changes = add_argument(source, call, text)
    else:
        changes = multiply_expression(source, ruling.data.node, factor)
    for edit in changes:
        yield In(ruling.module, edit)
