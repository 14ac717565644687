"""Warn of hooks that see gradients before they are averaged.

What:
    A hook on a tensor or a parameter is warned of, but for one that is seen to multiply a gradient
    by a number.

Why:
    paddle.DataParallel averages gradients behind such code, which sees those of one process's share
    of the batch. The average of bounded gradients is not the bounded average. Behind the backward
    pass gradients are those of all processes, and there it is right.

Before:
    for parameter in model.parameters():
        parameter.register_hook(lambda grad: grad.clip(-1, 1))

After:
    clip = paddle.nn.ClipGradByValue(1.0)

Refuses when:
    never: it is a warning, as for losses that are not recognised.

Source:
    https://www.paddlepaddle.org.cn/documentation/docs/en/api/paddle/Tensor_en.html
    (``register_hook``); https://www.paddlepaddle.org.cn/documentation/docs/en/api/paddle/
    DataParallel_en.html
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.values import Function, Opaque, only_constant
from transpile.facts.walk import descendants
from transpile.plan.hooks.changes import Kind, worst_change
from transpile.plan.hooks.functions import hooks_of, is_kept_by_hook
from transpile.plan.model import Plan
from transpile.rule import Answer, Remark

CODES = {"PD408": "a hook sees gradients before they are averaged"}
HOOKS = frozenset({"register_hook", "_register_grad_hook", "_register_backward_hook"})


def decide(plan: Plan) -> Iterator[Answer]:
    """A warning for each hook."""
    seen: set[int] = set()
    for event in plan.facts.reached_calls if plan.backwards else ():
        if id(event.node) in seen:
            continue
        if any(isinstance(c, Opaque) and c.name in HOOKS for c in event.callee):
            seen.add(id(event.node))
            if multiplies(plan, event):
                continue
            yield Remark.warn(
                "PD408",
                event,
                "this hook sees gradients within the backward pass, where they are those of one "
                "process's share, and only then averaged over the processes",
                "change the gradients of the parameters between backward() and step(), or clip "
                "them by the optimizer's grad_clip",
            )


def multiplies(plan: Plan, event: Event) -> bool:
    """Whether a hook does nothing but multiply its gradient by a number that all processes have."""
    given = event.arguments.get("hook", 0)
    hooks = list(hooks_of(event, 0, 1))
    if given is None or len(hooks) != len(given.values) or is_kept_by_hook(event, 0, 1):
        return False
    return bool(hooks) and all(
        worst_change(function.node, names) is Kind.MULTIPLE
        and uses_numbers_alone(plan, function, names)
        for function, names in hooks
    )


def uses_numbers_alone(plan: Plan, function: Function, gradients: set[str]) -> bool:
    """Whether a hook keeps nothing, and uses nothing but gradients and numbers that are known."""
    inside = list(descendants(function.node.body))
    if any(isinstance(node, (cst.Global, cst.Nonlocal, cst.If, cst.IfExp)) for node in inside):
        return False
    local = set(gradients)
    for node in inside:
        if isinstance(node, (cst.Assign, cst.AugAssign, cst.AnnAssign)):
            for each in node.targets if isinstance(node, cst.Assign) else (node,):
                if not isinstance(each.target, cst.Name):
                    return False
                local.add(each.target.value)
    words = {id(node.attr) for node in inside if isinstance(node, cst.Attribute)}
    words |= {id(node.keyword) for node in inside if isinstance(node, cst.Arg) and node.keyword}
    names = [n for n in inside if isinstance(n, cst.Name) and id(n) not in words]
    return all(name.value in local or is_number(plan, function, name) for name in names)


def is_number(plan: Plan, function: Function, name: cst.Name) -> bool:
    """Whether a name stands for a number that is known."""
    scope = function.module.scope
    values = plan.facts.values_of(name) or (scope.names.get(name.value, ()) if scope else ())
    known = only_constant(values)
    return known is not None and isinstance(known.value, (int, float))
