"""Models that no variable holds for a wrap: whether their gradients can be averaged by hand."""

from __future__ import annotations

from transpile.facts.values import Values
from transpile.plan.graph import walk_back
from transpile.plan.model import Model, Optimizer, Plan
from transpile.plan.models import averaging
from transpile.plan.models.averaging import Averaging
from transpile.plan.models.late_parts import late_parts
from transpile.plan.models.wraps import find_wrap, wrapped_already
from transpile.plan.query import query
from transpile.quantity.asking import Kind, quantity
from transpile.rules.pytorch.models._unused.search import learns_by_several_passes
from transpile.rules.pytorch.randomness._random_draws import Draws


@query
def averagings(plan: Plan, model: Model) -> list[Averaging] | str:
    """Where to average the gradients of a model that cannot be wrapped, or why that cannot be."""
    return search(plan, model)


@query
def averaged_by_hand(plan: Plan, model: Model) -> bool:
    """Whether the gradients of a model are averaged where its optimizers step."""
    return (
        not wrapped_already(plan, model)
        and (isinstance(find_wrap(plan, model), str) or learns_by_several_passes(plan, model))
        and not isinstance(averagings(plan, model), str)
    )


def search(plan: Plan, model: Model) -> list[Averaging] | str:
    """What :func:`averagings` gives, worked out anew."""
    if plan.options.strategy != "ddp":
        return f"with --strategy {plan.options.strategy} it would not be sharded"
    made = [
        event for event in plan.facts.calls if any(value is model.value for value in event.result)
    ]
    draws = Draws(plan)
    if not made or not all(draws.equal(event, "torch") for event in made[:1]):
        return "it is made where each process has random numbers of its own"
    started = min((event.order for event in model.forwards), default=0)
    if not all(draws.equal(event, "torch") for event in late_parts(plan, model, started)):
        return "parts of it are made where each process has random numbers of its own"
    return averaging.search(plan, model, lambda values: of_samples(plan, values))


def of_samples(plan: Plan, values: Values) -> bool:
    """Whether values are outputs or inputs of a model: their gradients are no parameters'."""
    return bool(values) and quantity(plan, values).kind is Kind.SAMPLE


@query
def tensor_averagings(plan: Plan, optimizer: Optimizer) -> list[Averaging] | str:
    """Where to average the gradients of tensors without a model, or why that cannot be."""
    if plan.options.strategy != "ddp":
        return f"with --strategy {plan.options.strategy} nothing would average it"
    made = {id(each) for each in (*optimizer.tensors, *walk_back(tuple(optimizer.read)))}
    draws = Draws(plan)
    for event in plan.facts.calls:
        if not any(id(value) in made for value in event.result):
            continue
        if plan.in_training(event.stack):
            return "it is made anew for each batch"
        if any(not quantity(plan, one.values).independent for one in event.arguments.items):
            return "it is made of what one process has of the data"
        if not draws.equal(event, "torch"):
            return "it is made where each process has random numbers of its own"
    return averaging.search_tensors(plan, optimizer)


def averaged_already(plan: Plan, model: Model) -> bool:
    """Whether the script reduces over the processes what an optimizer of the model holds."""
    return averaging.averaged_already(plan, model.optimizers, "torch.distributed.all_reduce")
