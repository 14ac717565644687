"""Average the gradients by hand where DataParallel would not see what trains.

What:
    Models that are trained through methods or parts of their own, that call themselves in a
    training method, or that no variable holds have their gradients averaged over the processes
    after the backward pass, before the optimizer or anything else uses them.

Why:
    DataParallel averages what goes through its own call. Models that are reached in other ways
    would each go on with the gradients of one process's data.

Before:
    loss.backward()
    optimizer.step()

After:
    loss.backward()
    average_gradients(optimizer)
    optimizer.step()

Refuses when:
    never: what cannot be averaged here is refused where models are wrapped.

Source:
    https://www.paddlepaddle.org.cn/documentation/docs/en/api/paddle/distributed/all_reduce_en.html
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.layout import insert_before
from transpile.plan.model import Plan
from transpile.plan.models.averaging import Averaging
from transpile.rule import Answer, Change, Helper, In, Remark, Ruling, Rulings
from transpile.rules.paddle.gradients._averaging import averaged_by_hand, averagings
from transpile.rules.paddle.models._batch_norm import has_batch_norm

CODES = {
    "PD313": "gradients are averaged where the optimizer steps",
    "PD314": "batch norm of a model without a wrap takes its statistics per process",
}
#: Where calls are split, their wrap averages.
WAYS = ("data",)


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each step of an optimizer whose models DataParallel cannot hold."""
    seen: set[tuple[int, str]] = set()
    for model in plan.trained_models:
        places = averagings(plan, model) if averaged_by_hand(plan, model) else ()
        for place in places:
            assert isinstance(place, Averaging)
            key = (id(place.before), place.text)
            if key not in seen:
                seen.add(key)
                yield Ruling.apply(
                    "PD313",
                    (place.module, place.before),
                    "the gradients are averaged here: a wrap would not see all that trains",
                    data=place,
                    claims=(place.step,),
                )
        if places and has_batch_norm(plan, model):
            place = places[0]
            assert isinstance(place, Averaging)
            yield Remark.warn(
                "PD314",
                (place.module, place.step),
                "batch norm takes its statistics from the batch of each process, which is smaller "
                "than the script's",
                "train the model through its own call, so that it can be wrapped",
            )


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The call of the helper."""
    place: Averaging = ruling.data
    yield Helper("average_gradients", place.module)
    name = plan.names_in(place.module).fresh("average_gradients")
    for edit in insert_before(place.module.source, place.before, [f"{name}({place.text})"]):
        yield In(place.module, edit)
