"""Let each process use the GPU that the launcher gave it.

What:
    A GPU that the script names by its number (``set_device("gpu:0")``, ``CUDAPlace(0)``) becomes
    this process's own.

Why:
    The launcher gives every process a GPU of its own. With a number in the script all of them
    would train on that one.

Before:
    paddle.set_device("gpu:0")

After:
    paddle.set_device("gpu:%d" % dist.ParallelEnv().device_id)

Refuses when:
    the script chooses which GPUs can be seen by itself.

Source:
    https://www.paddlepaddle.org.cn/documentation/docs/en/api/paddle/distributed/ParallelEnv_en.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from transpile.facts.values import Constant, External, Opaque
from transpile.layout import replace_expression
from transpile.plan.graph import called_names
from transpile.plan.model import Plan
from transpile.rule import Answer, Change, In, Ruling, Rulings

CODES = {
    "PD801": "each process uses its own GPU",
    "PD802": "a GPU is named in a way that cannot be followed",
    "PD803": "the script chooses the GPUs that can be seen",
}
SETTING = frozenset({"paddle.set_device", "paddle.device.set_device"})
PLACES = frozenset({"paddle.CUDAPlace", "paddle.framework.CUDAPlace", "paddle.base.CUDAPlace"})
OWN = "paddle.distributed.ParallelEnv"


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each GPU that is named by its number."""
    seen: set[int] = set()
    for event in plan.facts.events:
        if event.kind == "store" and is_visible_devices(event.node, plan):
            yield Ruling.refuse(
                "PD803",
                event,
                "which GPUs can be seen is set here for every process, after the launcher has "
                "given each its own",
                "choose the GPUs when launching: --devices 0,1",
            )
        if event.kind != "call" or not isinstance(event.node, cst.Call):
            continue
        names = {c.name for c in event.callee if isinstance(c, External)}
        if not names & (SETTING | PLACES) or not event.node.args or id(event.node) in seen:
            continue
        seen.add(id(event.node))
        node = event.node.args[0].value
        values = plan.facts.values_of(node)
        if names_own(plan, node):
            yield Ruling.done("PD801", (event.module, node), "each process uses its own GPU")
            continue
        numbered = [v for v in values if isinstance(v, Constant) and is_numbered(v.value)]
        formatted = isinstance(node, (cst.FormattedString, cst.BinaryOperation))
        if not numbered and not formatted:
            continue
        if formatted or len(numbered) < len(values) or not literal(node):
            yield Ruling.refuse(
                "PD802",
                (event.module, node),
                "a GPU is chosen by its number here, which would be the same one in every process",
                "leave the choice to the launcher: paddle.set_device('gpu')",
            )
            continue
        yield Ruling.apply(
            "PD801",
            (event.module, node),
            "each process uses its own GPU",
            data=bool(names & PLACES),
        )


def is_numbered(value: object) -> bool:
    """Whether a constant names a GPU by its number."""
    if isinstance(value, str):
        return re.fullmatch(r"(gpu|cuda):\d+", value) is not None
    return isinstance(value, int) and not isinstance(value, bool)


def literal(node: cst.CSTNode) -> bool:
    """Whether an expression is a number or a text itself."""
    return isinstance(node, (cst.SimpleString, cst.Integer))


def names_own(plan: Plan, node: cst.CSTNode) -> bool:
    """Whether an expression reads the launcher's choice."""
    stack = [node]
    while stack:
        current = stack.pop()
        for value in plan.facts.values_of(current):
            if isinstance(value, Opaque) and OWN in called_names(value):
                return True
        stack.extend(current.children)
    return False


def is_visible_devices(node: cst.CSTNode, plan: Plan) -> bool:
    """Whether a place sets ``os.environ["CUDA_VISIBLE_DEVICES"]``."""
    if not isinstance(node, cst.Subscript) or len(node.slice) != 1:
        return False
    index = node.slice[0].slice
    if not isinstance(index, cst.Index):
        return False
    return plan.facts.values_of(node.value) == (External("os.environ"),) and plan.facts.values_of(
        index.value
    ) == (Constant("CUDA_VISIBLE_DEVICES"),)


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The launcher's choice in the place of the number."""
    dist = plan.names_in(ruling.module).imported("paddle.distributed", "dist")
    own = f"{dist}.ParallelEnv().device_id"
    text = own if ruling.data else f'"gpu:%d" % {own}'
    for edit in replace_expression(ruling.module.source, ruling.node, text):
        yield In(ruling.module, edit)
