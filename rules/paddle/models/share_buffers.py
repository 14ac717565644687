"""Evaluate with the same statistics of batch norm in every process.

What:
    Behind each call that switches a trained model with batch norm to evaluation, every process
    takes the buffers of rank 0.

Why:
    Each process gathers its own running statistics. Evaluations would differ between the
    processes, and with them early stopping, schedules and the checkpoint that is kept.

Before:
    model.eval()

After:
    model.eval()
    share_buffers(model)

Refuses when:
    never.

Source:
    https://www.paddlepaddle.org.cn/documentation/docs/en/api/paddle/distributed/broadcast_en.html
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.values import BoundMethod, External, Opaque
from transpile.layout import insert_after
from transpile.plan.flow.places import insertion_place
from transpile.plan.graph import origins
from transpile.plan.model import Plan
from transpile.rule import Answer, Change, Helper, In, Ruling, Rulings
from transpile.rules.paddle.effects._once import once_of
from transpile.rules.paddle.models._batch_norm import has_batch_norm

CODES = {"PD621": "every process evaluates with the buffers of rank 0"}


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each statement that switches a trained model to evaluation."""
    models = {id(model.value) for model in plan.trained_models if has_batch_norm(plan, model)}
    seen: set[int] = set()
    broadcasting = any(
        event.kind == "call" and External("paddle.distributed.broadcast") in event.callee
        for event in plan.facts.events
    )
    for event in plan.facts.reached_calls:
        if id(event.node) in seen:
            continue
        if not switches(event, models) or once_of(plan).ranks.some_ranks(event):
            continue
        seen.add(id(event.node))
        statement = event.module.source.parent(event.node)
        if not isinstance(statement, cst.Expr) or not isinstance(event.node, cst.Call):
            continue
        assert isinstance(event.node.func, cst.Attribute)
        yield Ruling.apply(
            "PD621",
            event,
            "every process takes the buffers of rank 0 here",
            data=event.module.source.code(event.node.func.value),
            done=broadcasting,
        )


def switches(event: Event, models: set[int]) -> bool:
    """Whether a call switches one of the models to evaluation."""
    node = event.node
    if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute):
        return False
    if node.func.attr.value != "eval" or node.args:
        return False
    for callee in event.callee:
        if isinstance(callee, Opaque) and callee.kind == "attribute":
            if any(id(value) in models for value in origins(callee.operands[0])):
                return True
        if isinstance(callee, BoundMethod) and id(callee.receiver) in models:
            return True
    return False


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The call behind the statement."""
    statement = insertion_place(ruling.module, ruling.node)
    assert statement is not None
    yield Helper("share_buffers", ruling.module)
    lines = [f"{plan.names_in(ruling.module).fresh('share_buffers')}({ruling.data})"]
    for edit in insert_after(ruling.module.source, statement, lines):
        yield In(ruling.module, edit)
