"""Models that DataParallel cannot hold: whether their gradients can be averaged by hand."""

from __future__ import annotations

from transpile.facts.events import Loop
from transpile.facts.values import Value
from transpile.plan.model import Model, Optimizer, Plan
from transpile.plan.models.averaging import Averaging, search, search_tensors
from transpile.plan.models.wraps import find_wrap, wrapped_already
from transpile.plan.query import query
from transpile.rules.paddle.losses._shares import analysis
from transpile.rules.paddle.models._bypasses import bypasses, parameters_beside
from transpile.rules.paddle.models._unused import stops_the_wrap
from transpile.rules.paddle.randomness._seeds import draws_noise, seeded

#: What computes activations anew in the backward pass.
RECOMPUTING = (
    "paddle.distributed.fleet.utils.recompute",
    "paddle.distributed.fleet.recompute",
    "paddle.distributed.fleet.recompute.recompute",
    "paddle.distributed.fleet.utils.recompute.recompute",
    "paddle.distributed.fleet.recompute_sequential",
    "paddle.incubate.distributed.fleet.recompute_sequential",
    "paddle.distributed.fleet.recompute_hybrid",
    "paddle.incubate.distributed.fleet.recompute_hybrid",
)


@query
def averagings(plan: Plan, model: Model) -> list[Averaging] | str:
    """Where to average the gradients of a model that cannot be wrapped, or why that cannot be."""
    if plan.way != "data":
        return "calls of it are to be split"
    if plan.options.paddle_api == "fleet":
        return "with --paddle-api fleet the optimizer averages what the wrap gives"
    if draws_noise(plan) and is_made_in_training(plan, model.value):
        return "it is made where each process has random numbers of its own"
    return search(plan, model)


@query
def tensor_averagings(plan: Plan, optimizer: Optimizer) -> list[Averaging] | str:
    """Where to average the gradients of tensors without a model, or why that cannot be."""
    if plan.options.paddle_api == "fleet":
        return "with --paddle-api fleet the optimizer averages what the wrap gives"
    made = {id(tensor) for tensor in optimizer.tensors}
    for event in plan.facts.calls:
        if not any(id(value) in made for value in event.result):
            continue
        if plan.in_training(event.stack):
            return "it is made anew for each batch"
        if any(not analysis(plan).of(one.values).independent for one in event.arguments.items):
            return "it is made of what one process has of the data"
    if draws_noise(plan) and any(is_made_in_training(plan, one) for one in optimizer.tensors):
        return "it is made where each process has random numbers of its own"
    return search_tensors(plan, optimizer)


def is_made_in_training(plan: Plan, made_value: Value) -> bool:
    """Whether something is made within the loop from which on processes draw other numbers."""
    loops = {
        id(loop.node)
        for backward in plan.backwards
        for loop in (*backward.epoch_loops[:1], backward.batch_loop)
        if loop is not None
    }
    made = [event for event in plan.facts.calls if any(v is made_value for v in event.result)]
    return not made or any(
        isinstance(frame, Loop) and id(frame.node) in loops for frame in made[0].stack
    )


@query
def averaged_by_hand(plan: Plan, model: Model) -> bool:
    """Whether the gradients of a model are averaged where its optimizers step."""
    if wrapped_already(plan, model):
        return False
    passed = isinstance(find_wrap(plan, model), str) or any(
        True for search in (bypasses, parameters_beside) for _ in search(plan, model)
    )
    # A wrap stops where activations are computed anew: parameters are ready twice then.
    passed = passed or bool(plan.facts.calls_to(*RECOMPUTING)) or stops_the_wrap(plan, model)
    return passed and not isinstance(averagings(plan, model), str)


def starts_apart(plan: Plan) -> bool:
    """Whether what no wrap makes alike may begin with other numbers in every process."""
    if "paddle" in seeded(plan):
        return False
    return any(backward.tensors for backward in plan.backwards) or any(
        averaged_by_hand(plan, model) for model in plan.trained_models
    )
