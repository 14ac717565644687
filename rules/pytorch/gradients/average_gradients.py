"""Average the gradients by hand where no variable holds the model for a wrap.

What:
    Models in lists and dicts, models with a training method of their own, models that are trained
    through methods other than their call, and tensors that belong to no model have their gradients
    averaged over the processes after the backward pass, before the optimizer or anything else uses
    them.

Why:
    DistributedDataParallel averages what goes through its own call. What is reached in other ways
    would each go on with the gradients of one process's data.

Before:
    models = [Net(), Net()]
    optimizers = [SGD(model.parameters(), lr=0.1) for model in models]
    for x, y in train_loader:
        for model, optimizer in zip(models, optimizers):
            optimizer.zero_grad()
            criterion(model(x), y).backward()
            optimizer.step()

After:
    models = [Net(), Net()]
    optimizers = [SGD(model.parameters(), lr=0.1) for model in models]
    for x, y in train_loader:
        for model, optimizer in zip(models, optimizers):
            optimizer.zero_grad()
            criterion(model(x), y).backward()
            average_gradients(optimizer)
            optimizer.step()

Refuses when:
    a tensor without a model belongs to one batch, or its gradient is read before all processes
    have it. Models that cannot be averaged here are refused where models are wrapped.

Source:
    https://pytorch.org/tutorials/intermediate/dist_tuto.html#distributed-training
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.facts.values import Value
from transpile.layout import insert_before
from transpile.plan.graph import called_names, walk_back
from transpile.plan.model import Model, Plan
from transpile.rule import Answer, Change, Helper, In, Remark, Ruling, Rulings
from transpile.rules.pytorch.gradients._averaging import (
    Averaging,
    averaged_by_hand,
    averagings,
    tensor_averagings,
)
from transpile.rules.pytorch.models._batch_norm import has_batch_norm

CODES = {
    "PT313": "gradients are averaged where the optimizer steps",
    "PT325": "the gradients of tensors without a model cannot be averaged",
    "PT314": "batch norm of a model without a wrap takes its statistics per process",
}
LEAVES = ("none", "horovod")


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each step of an optimizer whose models cannot be wrapped."""
    seen: set[tuple[int, str]] = set()
    for optimizer in {id(one): one for each in plan.backwards for one in each.tensors}.values():
        found = tensor_averagings(plan, optimizer)
        if isinstance(found, str):
            whose = "layers of a model that is not called itself, and their gradients"
            advice = "read gradients right before the optimizer steps, or call the model"
            if not all(is_layer(plan, one) for one in optimizer.tensors):
                whose = "a tensor that belongs to no model, and its gradient"
                advice = "put what is trained into a torch.nn.Module"
            yield Ruling.refuse(
                "PT325",
                optimizer.event,
                f"this optimizer is given {whose} cannot be averaged by hand: {found}",
                advice,
            )
            continue
        for place in found:
            seen.add((id(place.before), place.text))
            yield averaged(place, "no model holds a tensor for a wrap")
        for model in plan.models:
            if found and any(model.value is read for read in optimizer.read):
                yield from own_statistics(plan, model, found[0])
    for model in plan.trained_models:
        if not averaged_by_hand(plan, model):
            continue
        places = averagings(plan, model)
        assert not isinstance(places, str)
        for place in places:
            key = (id(place.before), place.text)
            if key in seen:
                continue
            seen.add(key)
            yield averaged(place, "no variable holds the model for a wrap")
        yield from own_statistics(plan, model, places[0])


def is_layer(plan: Plan, value: Value) -> bool:
    """Whether a value is a layer, or is taken out of one."""
    return any(
        name.startswith(plan.table.layer_packages)
        for one in walk_back((value,))
        for name in called_names(one)
    )


def own_statistics(plan: Plan, model: Model, place: Averaging) -> Iterator[Remark]:
    """A word on batch norm in a model without a wrap, if it may have any."""
    normalises = has_batch_norm(plan, model)
    # Where calls are split, what holds batch norm without a wrap is computed whole.
    if normalises is None or (normalises and plan.way == "data"):
        subject = "batch norm" if normalises else "batch norm, if the model has any,"
        yield Remark.warn(
            "PT314",
            (place.module, place.step),
            f"{subject} takes its statistics from the batch of each process, which is smaller "
            "than the script's, and each process keeps its own",
            "keep the model in one variable, so that it can be wrapped",
        )


def averaged(place: Averaging, why: str) -> Ruling:
    """The gradients that an optimizer is about to use are averaged."""
    return Ruling.apply(
        "PT313",
        (place.module, place.before),
        f"the gradients are averaged here: {why}",
        data=place,
        claims=(place.step,),
    )


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The call of the helper."""
    place: Averaging = ruling.data
    yield Helper("average_gradients", place.module)
    name = plan.names_in(place.module).fresh("average_gradients")
    for edit in insert_before(place.module.source, place.before, [f"{name}({place.text})"]):
        yield In(place.module, edit)
