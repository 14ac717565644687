"""Let callbacks that write files do so on one worker.

What:
    A callback that saves checkpoints, such as ``mx.callback.do_checkpoint``, does nothing in the
    workers whose rank is not 0. Callbacks that log are silenced with logging.

Why:
    ``fit`` calls it in every worker, and all would write the same files at the same time.

Before:
    checkpoint = mx.callback.do_checkpoint("model")

After:
    checkpoint = on_main_process(mx.callback.do_checkpoint("model"))

Refuses when:
    never.

Source:
    https://mxnet.apache.org/versions/1.9.1/api/python/docs/api/mxnet/callback/index.html
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.values import External
from transpile.layout import wrap_expression
from transpile.plan.model import Plan
from transpile.rule import Answer, Change, Helper, In, Ruling, Rulings
from transpile.rules.mxnet.effects._once import once_of

CODES = {"MX553": "a callback writes on one worker"}
WRITING = frozenset(
    {
        "mxnet.callback.do_checkpoint", "mxnet.callback.module_checkpoint",
        "mxnet.rnn.do_rnn_checkpoint", "mxnet.contrib.tensorboard.LogMetricsCallback",
    }
)  # fmt: skip


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each callback that writes."""
    seen: set[int] = set()
    for event in plan.facts.calls:
        if id(event.node) in seen or not isinstance(event.node, cst.Call):
            continue
        if any(isinstance(c, External) and c.name in WRITING for c in event.callee):
            seen.add(id(event.node))
            parent = event.module.source.parent(event.node)
            parent = event.module.source.parent(parent) if isinstance(parent, cst.Arg) else None
            done = once_of(plan).ranks.some_ranks(event) or (
                isinstance(parent, cst.Call) and chooses(plan, parent)
            )
            yield Ruling.apply(
                "MX553",
                event,
                "the callback writes on the worker with rank 0 alone",
                data=event.node,
                claims=(event.node,),
                done=done,
            )


def chooses(plan: Plan, call: cst.Call) -> bool:
    """Whether a function of the project gives back something else on other ranks."""
    ranks = once_of(plan).ranks
    return any(
        function.node.name.value == getattr(call.func, "value", "")
        and any(
            isinstance(node, cst.IfExp) and ranks.tests_rank(node.test)
            for node in function.module.source.nodes
            if isinstance(node, cst.IfExp) and function.node in function.module.source.parents(node)
        )
        for function in plan.facts.functions.values()
        if isinstance(function.node, cst.FunctionDef)
        and function in plan.facts.values_of(call.func)
    )


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The helper around the callback."""
    yield Helper("on_main_process", ruling.module)
    opening = f"{plan.names_in(ruling.module).fresh('on_main_process')}("
    for edit in wrap_expression(ruling.module.source, ruling.data, opening, ")"):
        yield In(ruling.module, edit)
