"""Hand every optimizer to fleet, where fleet is asked for.

What:
    With ``--paddle-api fleet`` each optimizer of a model that learns goes through
    ``fleet.distributed_optimizer``, right after it is made. In a single process it stays as it is.

Why:
    ``fleet`` wants to know the optimizer beside the model: its strategies are carried out there.

Before:
    optimizer = paddle.optimizer.SGD(0.1, parameters=model.parameters())

After:
    optimizer = paddle.optimizer.SGD(0.1, parameters=model.parameters())
    if dist.get_world_size() > 1:
        optimizer = fleet.distributed_optimizer(optimizer)

Refuses when:
    never: an optimizer that no variable holds stays as it is, with a word on it.

Source:
    https://www.paddlepaddle.org.cn/documentation/docs/en/api/paddle/distributed/fleet/Fleet_en.html
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.values import External
from transpile.layout import insert_after
from transpile.plan.flow.places import insertion_place
from transpile.plan.model import Optimizer, Plan
from transpile.rule import Answer, Change, In, Remark, Ruling, Rulings

CODES = {
    "PD321": "fleet is handed an optimizer",
    "PD322": "an optimizer is not handed to fleet",
}
#: Where calls are split, every process has whole batches.
WAYS = ("data",)
WRAP = External("paddle.distributed.fleet.distributed_optimizer")


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each optimizer that steps."""
    if plan.options.paddle_api != "fleet":
        return
    seen: set[int] = set()
    for optimizer in plan.optimizers:
        event = optimizer.event
        if event.detached or not optimizer.steps or id(event.node) in seen:
            continue
        seen.add(id(event.node))
        text = variable(optimizer)
        if handed(plan, optimizer):
            yield Ruling.done("PD321", event, "fleet has this optimizer")
        elif text is None:
            yield Remark.note(
                "PD322",
                event,
                "no variable holds this optimizer: it stays as it is, which is enough for training "
                "by shares of the data",
            )
        else:
            yield Ruling.apply("PD321", event, "fleet is handed this optimizer", data=text)


def handed(plan: Plan, optimizer: Optimizer) -> bool:
    """Whether the script hands an optimizer to fleet itself."""
    return any(
        event.kind == "call"
        and WRAP in event.callee
        and any(value is optimizer.value for item in event.arguments.items for value in item.values)
        for event in plan.facts.events
    )


def variable(optimizer: Optimizer) -> str | None:
    """The variable that an optimizer is bound to where it is made."""
    source = optimizer.event.module.source
    parent = source.parent(optimizer.event.node)
    if not isinstance(parent, cst.Assign) or len(parent.targets) != 1:
        return None
    target = parent.targets[0].target
    return source.code(target) if isinstance(target, (cst.Name, cst.Attribute)) else None


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The wrap behind the statement that makes the optimizer."""
    names = plan.names_in(ruling.module)
    dist = names.imported("paddle.distributed", "dist")
    fleet = names.imported("paddle.distributed.fleet", "fleet")
    statement = insertion_place(ruling.module, ruling.node)
    assert statement is not None
    lines = [
        f"if {dist}.get_world_size() > 1:",
        f"    {ruling.data} = {fleet}.distributed_optimizer({ruling.data})",
    ]
    for edit in insert_after(ruling.module.source, statement, lines):
        yield In(ruling.module, edit)
