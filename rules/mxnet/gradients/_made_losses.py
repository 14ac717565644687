"""Losses that modules are given as symbols, and which of them add up over the workers."""

from __future__ import annotations

from collections.abc import Iterator

from transpile.facts.events import Event
from transpile.facts.values import Constant, Mapping, Opaque, Sequence, Values
from transpile.plan.graph import called_names, walk_back
from transpile.plan.model import Plan
from transpile.rule import Answer, Remark, Ruling
from transpile.rules.mxnet._roles import all_fits, fits
from transpile.rules.mxnet.data._loaders import from_store
from transpile.rules.mxnet.losses._losses import Reduction, reduction
from transpile.rules.mxnet.losses._symbols import made_losses

#: What lets no gradient through.
BLOCKING = frozenset({"mxnet.sym.BlockGrad", "mxnet.sym.stop_gradient"})
#: What makes one number of several.
REDUCING = frozenset(
    {"mean", "sum", "sum_axis", "nansum", "max", "max_axis", "min", "min_axis", "prod", "norm",
     "softmax_cross_entropy", "dot", "topk"}
)  # fmt: skip
SUM_INSTEAD = (
    "make the loss one number for each sample, or a sum over the batch divided by a number that "
    "the script says: the module divides by the batch of all workers"
)


def made_loss_answers(plan: Plan) -> Iterator[Answer]:
    """What is to be said of the losses that modules are given as symbols."""
    if not fits(plan):
        return
    for event in made_losses(plan):
        argument = event.arguments.get("data", 0)
        if argument is None or is_blocked(argument.values):
            continue
        if any(from_store(each.values, "num_workers") for each in event.arguments.items):
            continue
        answer = answer_for(plan, event, argument.values)
        if answer is not None:
            yield answer


def is_blocked(values: Values) -> bool:
    """Whether no gradient gets through some values."""
    return bool(values) and all(not BLOCKING.isdisjoint(called_names(value)) for value in values)


def answer_for(plan: Plan, event: Event, loss: Values) -> Answer | None:
    """The answer for one loss; None where it adds up over the workers."""
    found = reduction(plan, loss)
    if found in (Reduction.SAMPLES, Reduction.SUM):
        return None
    # A worker that has the batch of one process divides by it, and the store's sum by the workers.
    grows = plan.options.batch_size == "per-device" and not is_rescaled(plan)
    if found is Reduction.MEAN:
        return None if grows else mean_of_a_share(event)
    if found is Reduction.COUPLED:
        return coupled(event) if grows else of_a_share(event)
    if grows or (found is not Reduction.UNEVEN and not reduces(loss)):
        return None  # with a number for each sample, whatever else is not known
    if found is Reduction.UNEVEN:
        return Ruling.refuse(
            "MX308",
            event,
            "this loss is a sum over the samples and a term that they have no part in, such as a "
            "penalty on the parameters: the store would add that term up once for each worker",
            "use weight decay instead of that term",
        )
    return Remark.warn(
        "MX306",
        event,
        "it cannot be told whether this loss adds up over the samples of a batch: it is taken to "
        "add up, and anything else, such as their mean or a penalty on the parameters, would count "
        "once for each worker",
        "compare a run with that of one process, or make the loss a sum of what is known",
    )


def reduces(loss: Values) -> bool:
    """Whether some reduction behind a loss may be one over the samples of a batch."""
    return any(
        word in REDUCING and may_be_over_samples(value)
        for value in walk_back(loss)
        if isinstance(value, Opaque) and value.kind == "call"
        for word in words_of(value)
    )


def words_of(value: Opaque) -> set[str]:
    """The last words of the functions and methods that a value is the result of."""
    methods = {each.name for each in value.callee if isinstance(each, Opaque)}
    return methods | {name.rpartition(".")[2] for name in called_names(value)}


def may_be_over_samples(value: Opaque) -> bool:
    """Whether a reduction has the first axis among its own, as far as is known."""
    method = any(isinstance(each, Opaque) for each in value.callee)
    axis = value.arguments.get("axis", 0 if method else 1)
    if axis is None or value.arguments.keyword("exclude") is not None:
        return True
    numbers = tuple(
        number
        for each in axis.values
        for group in (each.elements if isinstance(each, Sequence) else [(each,)])
        for number in group
    )
    return not numbers or any(
        not isinstance(each, Constant) or each.value in (0, None) for each in numbers
    )


def is_rescaled(plan: Plan) -> bool:
    """Whether some optimizer is told what to multiply gradients by."""
    given = (fit.argument("optimizer_params") for fit in all_fits(plan))
    return any(
        isinstance(value, Mapping) and "rescale_grad" in value.entries
        for argument in given
        if argument is not None
        for value in argument.values
    )


def mean_of_a_share(event: Event) -> Ruling:
    """The refusal of a mean, which is as large for a share as for the batch."""
    return Ruling.refuse(
        "MX303",
        event,
        "this loss is a mean over the batch of one worker, which is as large as that over the "
        "whole batch, but the store adds up the gradients of all: updates would be larger by the "
        "number of workers",
        SUM_INSTEAD,
    )


def of_a_share(event: Event) -> Ruling:
    """The refusal of what is made of the sums or means of a batch."""
    return Ruling.refuse(
        "MX303",
        event,
        "this loss is made of sums or means of the batch in a way that is no sum over its samples, "
        "such as their ratio, their root or samples less their mean: each worker would take it "
        "over its share, and the store add the gradients of all of these up",
        SUM_INSTEAD,
    )


def coupled(event: Event) -> Remark:
    """The warning for a loss that each worker makes of its own batch alone."""
    return Remark.warn(
        "MX314",
        event,
        "this loss is made of sums or means of the batch in a way that is no sum or mean over its "
        "samples: each worker takes them over its own batch, so that updates are not those of the "
        "batch of all workers",
        "make the loss a mean over samples that are kept apart",
    )
