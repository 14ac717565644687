"""Warn of hooks that see gradients before they are averaged.

What:
    A hook on a tensor or a parameter is warned of.

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

from transpile.facts.values import Opaque
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
            yield Remark.warn(
                "PD408",
                event,
                "this hook sees gradients within the backward pass, where they are those of one "
                "process's share, and only then averaged over the processes",
                "change the gradients of the parameters between backward() and step(), or clip "
                "them by the optimizer's grad_clip",
            )
