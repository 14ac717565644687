"""Reach the model itself, not its wrap, where more than a call is wanted.

What:
    Once a model is wrapped, its attributes, items and methods, saving and copying it, and handing
    it to code that looks at it go through ``unwrap(model)``.

Why:
    ``DistributedDataParallel`` has none of the model's own attributes, and its state dict carries
    the prefix ``module.``: checkpoints would no longer load into the script's model.

Before:
    torch.save(model.state_dict(), "model.pt")

After:
    torch.save(unwrap(model).state_dict(), "model.pt")

Refuses when:
    a part of the wrapped model is replaced.

Source:
    https://pytorch.org/tutorials/intermediate/ddp_tutorial.html#save-and-load-checkpoints
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst
from transpile.rules.pytorch._models import Wrap, find_wrap, wrapped_already

from transpile.facts.events import Call
from transpile.facts.module import Module
from transpile.facts.values import Class, External, Instance, Opaque, Value
from transpile.facts.walk import descendants
from transpile.layout import wrap_expression
from transpile.plan.graph import origin
from transpile.plan.model import Plan
from transpile.plan.places import ancestors, function_of, start
from transpile.result import Verdict
from transpile.rule import Answer, Change, Helper, In, Ruling, Rulings

CODES = {
    "PT311": "the model is reached behind its wrap",
    "PT312": "a part of a wrapped model is replaced",
}
#: What DistributedDataParallel itself does as the model would.
SAME_ON_WRAP = frozenset(
    {
        "train", "eval", "parameters", "zero_grad", "modules", "requires_grad_", "training",
        "no_sync", "join", "module", "register_comm_hook", "buffers", "__call__", "forward",
    }
)  # fmt: skip
#: Builtins and functions that only need something callable, or its parameters.
HARMLESS_ARGUMENTS = ("torch.optim.", "torch.nn.utils.clip_grad", "torch.compile")


@dataclass(frozen=True, eq=False)
class Reach:
    """An expression to put into ``unwrap``."""

    module: Module
    node: cst.BaseExpression


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each place that looks into a wrapped model."""
    wraps: list[Wrap] = []
    for model in plan.trained_models:
        if wrapped_already(plan, model):
            continue
        found = find_wrap(plan, model)
        if isinstance(found, Wrap):
            wraps.append(found)
    seen: set[int] = set()
    for wrap in wraps:
        yield from accesses(plan, wrap, seen)
        yield from arguments(plan, wrap, seen)


def accesses(plan: Plan, wrap: Wrap, seen: set[int]) -> Iterator[Answer]:
    """Attributes and items of the wrapped model."""
    value = wrap.models[0].value
    for module in plan.facts.modules.values():
        for node in expressions(module.source.tree):
            base = node.value
            if id(base) in seen or not holds(plan, base, value):
                continue
            if inside_class_of(plan, module, node, value):
                continue
            name = node.attr.value if isinstance(node, cst.Attribute) else "[]"
            if name in SAME_ON_WRAP or is_before(plan, wrap, module, node):
                continue
            seen.add(id(base))
            if is_replaced(module, node):
                yield Ruling(
                    "PT312",
                    Verdict.REFUSE,
                    module,
                    node,
                    f"'{name}' of the model is replaced after the model is ready for training",
                    "replace parts of the model before the optimizer is made",
                )
                continue
            yield reach(module, base)


def arguments(plan: Plan, wrap: Wrap, seen: set[int]) -> Iterator[Answer]:
    """Calls out of the project that are given the wrapped model itself."""
    value = wrap.models[0].value
    for event in plan.facts.events:
        if event.kind != "call" or not isinstance(event.node, cst.Call):
            continue
        if event.order < wrap.order and not event.detached:
            continue
        if not looks_at_arguments(event.callee):
            continue
        for arg in event.node.args:
            node = arg.value
            if id(node) in seen or not isinstance(node, (cst.Name, cst.Attribute, cst.Subscript)):
                continue
            if not holds(plan, node, value) or inside_class_of(plan, event.module, node, value):
                continue
            seen.add(id(node))
            yield reach(event.module, node)


def reach(module: Module, node: cst.BaseExpression) -> Ruling:
    """The answer for one expression."""
    return Ruling(
        "PT311",
        Verdict.APPLY,
        module,
        node,
        "the model itself is wanted here, not its wrap",
        data=Reach(module, node),
    )


def looks_at_arguments(callees: tuple[Value, ...]) -> bool:
    """Whether a call out of the project may look into the model that it is given."""
    for callee in callees:
        if isinstance(callee, External):
            if callee.name.startswith(HARMLESS_ARGUMENTS) or callee.name.endswith(".DataParallel"):
                return False
            if callee.name in ("builtins.super", "torch.nn.parallel.DistributedDataParallel"):
                return False
            continue
        if isinstance(callee, Opaque):
            continue
        return False
    return bool(callees)


def expressions(tree: cst.CSTNode) -> Iterator[cst.Attribute | cst.Subscript]:
    """Every attribute and item access of a module."""
    for node in descendants(tree):
        if isinstance(node, (cst.Attribute, cst.Subscript)):
            yield node


def holds(plan: Plan, node: cst.CSTNode, value: Value) -> bool:
    """Whether an expression may be the model."""
    return any(origin(found) is value for found in plan.facts.values_of(node))


def inside_class_of(plan: Plan, module: Module, node: cst.CSTNode, value: Value) -> bool:
    """Whether a place is in the code of the model's own class, where it is never wrapped."""
    if not isinstance(value, Instance):
        return False
    classes = {id(c.node) for c in value.cls.ancestry() if isinstance(c, Class)}
    return any(id(ancestor) in classes for ancestor in ancestors(module, node))


def is_before(plan: Plan, wrap: Wrap, module: Module, node: cst.CSTNode) -> bool:
    """Whether a place runs only before the wrap."""
    if module is wrap.module and function_of(module, node) is wrap.function:
        if wrap.before is None:
            return start(module, node) <= start(module, wrap.after)
        return start(module, node) < start(module, wrap.before)
    orders = [
        event.order
        for event in plan.facts.events
        if not event.detached and covers(event, module, node)
    ]
    return bool(orders) and max(orders) < wrap.order


def covers(event: object, module: Module, node: cst.CSTNode) -> bool:
    """Whether an event happens in the function that a node is part of."""
    function = function_of(module, node)
    frames = [f for f in event.stack if isinstance(f, Call)]  # type: ignore[attr-defined]
    return bool(frames) and frames[-1].function.node is function


def is_replaced(module: Module, node: cst.CSTNode) -> bool:
    """Whether an access is the target of an assignment."""
    parent = module.source.parent(node)
    return isinstance(parent, cst.AssignTarget)


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The expression within ``unwrap(...)``."""
    data: Reach = ruling.data
    yield Helper("unwrap")
    unwrap = plan.names.fresh("unwrap")
    for edit in wrap_expression(data.module.source, data.node, f"{unwrap}(", ")"):
        yield In(data.module, edit)
