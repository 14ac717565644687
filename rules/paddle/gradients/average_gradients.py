"""Average the gradients by hand where DataParallel would not see what trains.

What:
    Models that are trained through methods or parts of their own, that call themselves in a
    training method, that no variable holds, or that give outputs which a loss may do without have
    their gradients averaged over the processes after the backward pass, before the optimizer or
    anything else uses them. So have tensors that an optimizer holds and that belong to no model.

Why:
    DataParallel averages what goes through its own call. Models that are reached in other ways
    would each go on with the gradients of one process's data. It waits for the gradients of
    outputs that no loss uses, and stops in the next step.

Before:
    loss.backward()
    optimizer.step()

After:
    loss.backward()
    average_gradients(optimizer)
    optimizer.step()

Refuses when:
    the gradient of a tensor without a model is read elsewhere than before the step, or the tensor
    is made anew in training. Models that cannot be averaged here are refused where they are
    wrapped.

Source:
    https://www.paddlepaddle.org.cn/documentation/docs/en/api/paddle/distributed/all_reduce_en.html
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.layout import insert_before
from transpile.plan.model import Plan
from transpile.plan.models.averaging import Averaging, averaged_already
from transpile.rule import Answer, Change, Helper, In, Remark, Ruling, Rulings
from transpile.rules.paddle.gradients._averaging import (
    averaged_by_hand,
    averagings,
    tensor_averagings,
)
from transpile.rules.paddle.models._batch_norm import has_batch_norm
from transpile.rules.paddle.models._unused import stops_the_wrap

CODES = {
    "PD313": "gradients are averaged where the optimizer steps",
    "PD314": "batch norm of a model without a wrap takes its statistics per process",
    "PD325": "the gradients of tensors without a model cannot be averaged",
}

ALL_REDUCE = "paddle.distributed.all_reduce"


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each step of an optimizer whose models DataParallel cannot hold."""
    seen: set[tuple[int, str]] = set()
    for optimizer in {id(one): one for each in plan.backwards for one in each.tensors}.values():
        if averaged_already(plan, [optimizer], ALL_REDUCE):
            continue
        found = tensor_averagings(plan, optimizer)
        if isinstance(found, str):
            yield Ruling.refuse(
                "PD325",
                optimizer.event,
                "this optimizer is given a tensor that belongs to no model, and its gradient "
                f"cannot be averaged by hand: {found}",
                "make it a parameter of a paddle.nn.Layer that the loss goes through",
            )
            continue
        for place in found:
            seen.add((id(place.before), place.text))
            yield averaged(place, "no model holds a tensor for a wrap")
    # Where calls are split, the wrap of a model averages.
    for model in plan.trained_models if plan.way == "data" else ():
        places = averagings(plan, model) if averaged_by_hand(plan, model) else ()
        for place in places:
            assert isinstance(place, Averaging)
            key = (id(place.before), place.text)
            if key not in seen:
                seen.add(key)
                stops = stops_the_wrap(plan, model)
                why = "wait for layers that steps leave out" if stops else "not see all that trains"
                yield averaged(place, f"a wrap would {why}")
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


def averaged(place: Averaging, why: str) -> Ruling:
    """The gradients that an optimizer is about to use are averaged."""
    return Ruling.apply(
        "PD313",
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
