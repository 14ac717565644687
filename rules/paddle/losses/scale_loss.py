"""Keep the gradient of each loss that of the global batch.

What:
    DataParallel averages gradients over the processes. That is right for a mean over equal shares
    of a batch, and nothing changes there. A sum is multiplied by the number of processes for the
    backward pass alone; where a penalty is added to it, there. A mean by the weights of classes, by
    a mask, or over the targets that are not left out is taken over the average denominator of the
    processes.

Why:
    The average of the sums of the shares is too small by the number of processes. The average of
    means over different numbers of targets weighs the targets of one process more than those of
    another.

Before:
    loss = paddle.nn.functional.cross_entropy(model(x), y, reduction="sum")
    loss.backward()

After:
    loss = paddle.nn.functional.cross_entropy(model(x), y, reduction="sum")
    (loss * dist.get_world_size()).backward()

Refuses when:
    never: a loss that couples the samples of a batch, is not recognised, or divides by what cannot
    be taken over the processes in the text stays as it is, with a warning.

Source:
    https://www.paddlepaddle.org.cn/documentation/docs/en/api/paddle/DataParallel_en.html
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event
from transpile.plan.model import Backward, Plan
from transpile.quantity.domain import Pending
from transpile.records import dataclass
from transpile.result import Verdict
from transpile.rule import Answer, Change, In, Remark, Ruling, Rulings
from transpile.rules.paddle.losses._denominators import settled
from transpile.rules.paddle.losses._losses import hindered, losses_of, told
from transpile.rules.paddle.losses._shares import analysis
from transpile.rules.paddle.losses._summands import factored
from transpile.text.changes import Insert

CODES = {
    "PD401": "the averaged gradients are those of the global batch",
    "PD402": "a loss is taken over the global batch",
    "PD403": "a loss may mean something else over the shares of a batch",
    "PD404": "the sum that runs backward has no place in the text",
}
#: Where calls are split, every process has whole batches.
WAYS = ("data",)


@dataclass(frozen=True, eq=False)
class Scaling:
    """What is done for one backward pass.

    Args:
        loss: the sum to multiply by the number of processes; None where there is none.
        pending: the denominators to take over all processes.
    """

    loss: cst.BaseExpression | None
    pending: frozenset[Pending]


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each backward pass in the text."""
    by_node: dict[int, list[Backward]] = {}
    for backward in plan.backwards:
        by_node.setdefault(id(backward.event.node), []).append(backward)
    for several in by_node.values():
        yield from answers(plan, several)


def answers(plan: Plan, several: list[Backward]) -> Iterator[Answer]:
    """The answers about one backward pass."""
    event = several[0].event
    reached = [backward for backward in several if not backward.event.detached]
    quantity = analysis(plan).of(
        tuple(value for backward in reached for value in losses_of(backward))
    )

    def ruling(code: str, verdict: Verdict, reason: str, data: object = None) -> Ruling:
        return Ruling(
            code, verdict, event.module, event.node, reason, data=data, claims=(event.node,)
        )

    if not reached:
        yield ruling("PD401", Verdict.ALREADY_DONE, "nothing in the script runs this backward pass")
    elif why := hindered(plan, quantity):
        yield from doubted(event, why)
        yield ruling("PD403", Verdict.ALREADY_DONE, f"left as it is: {why}")
    elif (quantity.is_mean or quantity.is_same) and quantity.pending:
        data = Scaling(None, quantity.pending)
        yield ruling("PD402", Verdict.APPLY, "the mean is over the global batch", data)
    elif quantity.is_mean or quantity.is_same:
        yield ruling("PD401", Verdict.ALREADY_DONE, f"the loss is {told(quantity)}")
    elif quantity.is_sum:
        loss = loss_expression(event.node)
        if loss is None:
            yield Ruling.refuse(
                "PD404",
                event,
                "this loss is a sum over the batch, but there is no place to multiply it by the "
                "number of processes",
                "call backward() on the loss itself",
            )
        else:
            data = Scaling(loss, quantity.pending)
            yield ruling("PD402", Verdict.APPLY, "the loss is a sum over the batch", data)
    else:
        why = quantity.reason or "it is not seen how the samples of a batch become one number"
        yield from doubted(event, why)
        yield ruling("PD403", Verdict.ALREADY_DONE, f"left as it is: {why}")


def doubted(event: Event, why: str) -> Iterator[Remark]:
    """The warning about a loss that stays as it is."""
    yield Remark.warn(
        "PD403",
        event,
        f"the average over the processes may differ from the loss over the whole batch: {why}",
        "compare a run with one process, or gather what the loss compares from all processes",
    )


def loss_expression(node: cst.CSTNode) -> cst.BaseExpression | None:
    """The expression that a call runs backward from, before a gradient scaler."""
    if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute):
        return None
    receiver = node.func.value
    if (
        isinstance(receiver, cst.Call)
        and isinstance(receiver.func, cst.Attribute)
        and receiver.func.attr.value == "scale"
        and len(receiver.args) == 1
    ):
        return receiver.args[0].value
    return receiver


def order_of(pending: Pending) -> tuple[str, int]:
    """Where something to rewrite stands."""
    return pending.module.name, pending.module.source.span(pending.node).start


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The factor for the backward pass, and the denominators."""
    scaling: Scaling = ruling.data
    for pending in sorted(scaling.pending, key=order_of):
        if pending.factor:
            yield from factored(plan, pending)
        else:
            yield from settled(plan, pending)
    node = scaling.loss
    if node is None:
        return
    dist = plan.names_in(ruling.module).imported("paddle.distributed", "dist")
    span = ruling.module.source.span(node)
    parent = ruling.module.source.parent(node)
    before, after = "", f" * {dist}.get_world_size()"
    if isinstance(parent, cst.Attribute) and not node.lpar:
        before, after = "(", f"{after})"
    if isinstance(node, cst.BinaryOperation) and not node.lpar:
        before, after = f"{before}(", f"){after}"
    if before:
        yield In(ruling.module, Insert(span.start, before, 0, "open", span))
    yield In(ruling.module, Insert(span.end, after, 0, "close", span))
