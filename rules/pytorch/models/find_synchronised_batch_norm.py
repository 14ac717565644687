"""Find batch norm by its class where it has become synchronised.

What:
    A test whether a module is one of ``BatchNorm1d``, ``BatchNorm2d`` or ``BatchNorm3d``, behind
    the place where the model is wrapped, asks for ``SyncBatchNorm``, too. One that compares the
    class itself is warned of.

Why:
    On GPUs batch norm takes its statistics over all processes, by layers of another class that
    derives from none of these. A penalty on their weights, another momentum or ``eval`` of frozen
    layers would leave them out without a word.

Before:
    for module in model.modules():
        if isinstance(module, nn.BatchNorm1d):
            module.momentum = 0.01

After:
    for module in model.modules():
        if isinstance(module, (nn.BatchNorm1d, torch.nn.SyncBatchNorm)):
            module.momentum = 0.01

Refuses when:
    never.

Source:
    https://pytorch.org/docs/stable/generated/torch.nn.SyncBatchNorm.html
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.values import External, Opaque, Sequence, Value, Values
from transpile.layout import replace_expression
from transpile.plan.graph import walk_back
from transpile.plan.model import Plan
from transpile.plan.models.wraps import Wrap, find_wrap
from transpile.rule import Answer, Change, In, Remark, Ruling, Rulings
from transpile.rules.pytorch.gradients._averaging import averaged_by_hand
from transpile.rules.pytorch.models._batch_norm import BATCH_NORMS
from transpile.rules.pytorch.models.wrap_model import synchronises

CODES = {
    "PT317": "a test for batch norm finds what is synchronised over the processes",
    "PT318": "a test for the class of batch norm misses what is synchronised",
}
SYNCHRONISED = "torch.nn.SyncBatchNorm"
COMPARISONS = frozenset({"Equal", "NotEqual", "Is", "IsNot", "In", "NotIn"})


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each test behind the first wrap that synchronises batch norm."""
    ready = first_synchronised(plan)
    if ready is None:
        return
    seen: set[int] = set()
    for event in plan.facts.tests:
        if event.order < ready or event.detached:
            continue
        for value in tests(event):
            if id(value.node) in seen or not looks_for_batch_norm(value):
                continue
            seen.add(id(value.node))
            yield answer(value)


def first_synchronised(plan: Plan) -> int | None:
    """From which position on some model has synchronised batch norm; None where none gets it."""
    if plan.options.strategy != "ddp":
        return None
    found = [
        wrap.order
        for model in plan.trained_models
        if not averaged_by_hand(plan, model)
        for wrap in (find_wrap(plan, model),)
        if isinstance(wrap, Wrap) and synchronises(plan, wrap)
    ]
    return min(found, default=None)


def tests(event: Event) -> Iterator[Opaque]:
    """The comparisons with classes in what is tested."""
    for value in walk_back(event.callee, lambda v: isinstance(v, Opaque) and v.kind == "operation"):
        if isinstance(value, Opaque) and (value.name == "isinstance" or value.name in COMPARISONS):
            yield value


def looks_for_batch_norm(value: Opaque) -> bool:
    """Whether a comparison is with classes of batch norm, but not with the synchronised one."""
    names = {one.name for group in value.operands for one in classes(group)}
    return bool(names & set(BATCH_NORMS)) and not names & {SYNCHRONISED, BASE}


#: What all kinds of batch norm derive from, the synchronised one, too.
BASE = "torch.nn.modules.batchnorm._BatchNorm"


def classes(values: Values) -> Iterator[External]:
    """The classes outside the project among some values and in tuples of them."""
    stack: list[Value] = list(values)
    while stack:
        value = stack.pop()
        if isinstance(value, External):
            yield value
        elif isinstance(value, Sequence):
            for element in value.elements:
                stack.extend(element)


def answer(value: Opaque) -> Answer:
    """What is done about one test."""
    node = value.node
    if value.name == "isinstance" and isinstance(node, cst.Call) and len(node.args) == 2:
        return Ruling.apply(
            "PT317",
            (value.module, node),
            "this test finds batch norm that takes its statistics over all processes, too",
            data=node.args[1].value,
        )
    return Remark.warn(
        "PT318",
        (value.module, node),
        "on GPUs batch norm takes its statistics over all processes, by layers of another class, "
        "which this comparison does not find",
        "compare with torch.nn.SyncBatchNorm, too, or leave batch norm as it is by --sync-bn off",
    )


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The synchronised class beside those that are there."""
    node: cst.BaseExpression = ruling.data
    module = ruling.module
    torch = plan.names_in(module).imported("torch", "torch")
    if isinstance(node, cst.Tuple) and node.elements:
        listed = ", ".join(module.source.code(each.value) for each in node.elements)
    else:
        listed = module.source.code(node)
    text = f"({listed}, {torch}.nn.SyncBatchNorm)"
    for edit in replace_expression(module.source, node, text):
        yield In(module, edit)
