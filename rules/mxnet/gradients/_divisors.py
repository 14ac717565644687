"""What a step divides by."""

from __future__ import annotations

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.module import Module
from transpile.facts.values import Argument, Opaque, Unknown, Values
from transpile.plan.graph import walk_back
from transpile.plan.model import Plan
from transpile.plan.roles.backwards import data_sources
from transpile.records import dataclass
from transpile.rules.mxnet._roles import training_loaders
from transpile.rules.mxnet.data._batch_shapes import made_whole
from transpile.rules.mxnet.data._loaders import counts_workers
from transpile.rules.mxnet.effects._vocabulary import VOCABULARY
from transpile.rules.mxnet.losses._losses import count_degree, is_size
from transpile.rules.mxnet.losses._numbers import in_training, numbers_of


@dataclass(frozen=True, eq=False)
class Divisor:
    """What a step is divided by.

    Args:
        module: where it is.
        node: the expression.
        times: how often it is to be multiplied by the number of workers.
        shared: it is this worker's share of the script's batch instead.
    """

    module: Module
    node: cst.BaseExpression
    times: int
    shared: bool = False


def divisor_unknown(event: Event, argument: Argument | None) -> str:
    """Why it is not known what a step divides by; empty where it is."""
    if argument is None or event.arguments.unknown_because:
        return "it is not known what this step divides by"
    if any(isinstance(value, Unknown) for value in argument.values):
        return "it is not known what this step divides by"
    if not isinstance(argument.node, cst.BaseExpression):
        return "what this step divides by has no place in the text"
    return ""


def differs(plan: Plan, argument: Argument) -> str:
    """Why a divisor cannot be made that of all workers; empty where it can."""
    values = argument.values
    if not in_training(plan, values) or plan.options.kvstore == "dist_async":
        return ""
    numbers = numbers_of(plan, VOCABULARY)
    found, others = numbers.behind(values)
    if others and ((found and numbers.counts_all(values)) or count_degree(plan, values) < 1):
        return (
            "what this step divides by is read off the samples that one worker has of the batch, "
            "and the workers cannot make it that of the whole batch: it is neither a sum or a mean "
            "that is read by asscalar() nor a number of samples"
        )
    return ""


def divisor_of(
    plan: Plan, module: Module, argument: Argument, losses: Values, mean: bool
) -> Divisor:
    """How the divisor of a step is to be changed.

    Args:
        plan: the plan.
        module: where the step is.
        argument: what it divides by.
        losses: what its gradients are those of.
        mean: the losses are averaged already.
    """
    assert isinstance(argument.node, cst.BaseExpression)
    local = bool(data_sources(argument.values, plan)) or reads_loader(plan, argument.values)
    batch = is_batch_size(plan, argument.values)
    local = local or (is_size(argument.values) and not batch)
    if plan.options.kvstore == "dist_async":
        share = batch and not local and plan.options.batch_size == "global"
        return Divisor(module, argument.node, 0, share)
    whole = plan.options.batch_size == "per-device" or counts_workers(plan)
    if batch and (whole or made_whole(plan, losses)):
        local = True
    times = int(local)
    if in_training(plan, argument.values):
        # What is added up over the workers where it is read needs no factor here.
        counted = numbers_of(plan, VOCABULARY).counts_all(argument.values)
        times = 0 if counted else max(times, count_degree(plan, argument.values))
    return Divisor(module, argument.node, times + int(mean))


def reads_loader(plan: Plan, values: Values) -> bool:
    """Whether values are read off the training data, as in ``train_iter.batch_size``."""
    loaders = {id(loader.value) for loader in training_loaders(plan)}
    return any(
        isinstance(value, Opaque)
        and value.kind == "attribute"
        and any(id(base) in loaders for base in value.operands[0])
        for value in walk_back(values)
    )


def is_batch_size(plan: Plan, values: Values) -> bool:
    """Whether values are made of the batch size of some training data."""
    sizes = [
        value
        for loader in training_loaders(plan)
        for argument in (
            loader.argument("batch_size") or loader.event.arguments.keyword("batch_size"),
        )
        if argument is not None
        for value in argument.values
    ]
    return any(value in sizes for value in walk_back(values))
