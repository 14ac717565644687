"""Average the gradients by hand where no variable holds the model for a wrap.

What:
    Models in lists and dicts, models with a training method of their own, and models that are
    trained through methods other than their call have their gradients averaged over the processes
    after the backward pass, before the optimizer or anything else uses them.

Why:
    DistributedDataParallel averages what goes through its own call. Models that are reached in
    other ways would each go on with the gradients of one process's data.

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
    never: what cannot be averaged here is refused where models are wrapped.

Source:
    https://pytorch.org/tutorials/intermediate/dist_tuto.html#distributed-training
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.layout import insert_before
from transpile.plan.model import Plan
from transpile.rule import Answer, Change, Helper, In, Remark, Ruling, Rulings
from transpile.rules.pytorch.gradients._averaging import Averaging, averaged_by_hand, averagings
from transpile.rules.pytorch.models._batch_norm import has_batch_norm

CODES = {
    "PT313": "gradients are averaged where the optimizer steps",
    "PT314": "batch norm of a model without a wrap takes its statistics per process",
}
LEAVES = ("none", "horovod")


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each step of an optimizer whose models cannot be wrapped."""
    seen: set[tuple[int, str]] = set()
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
            yield Ruling.apply(
                "PT313",
                (place.module, place.before),
                "the gradients are averaged here: no variable holds the model for a wrap",
                data=place,
                claims=(place.step,),
            )
        normalises = has_batch_norm(plan, model)
        if normalises is not False:
            subject = "batch norm" if normalises else "batch norm, if the model has any,"
            yield Remark.warn(
                "PT314",
                (places[0].module, places[0].step),
                f"{subject} takes its statistics from the batch of each process, which is smaller "
                "than the script's, and each process keeps its own",
                "keep the model in one variable, so that it can be wrapped",
            )


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The call of the helper."""
    place: Averaging = ruling.data
    yield Helper("average_gradients", place.module)
    name = plan.names_in(place.module).fresh("average_gradients")
    for edit in insert_before(place.module.source, place.before, [f"{name}({place.text})"]):
        yield In(place.module, edit)
