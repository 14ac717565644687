"""Refuse what the processes cannot share: static graphs and parameter servers.

What:
    Scripts that build static graphs, and the choice of parameter servers for Paddle 2.x and 3.x,
    are refused as a whole.

Why:
    A static program is trained by several processes only through a rewriting of the program by
    fleet, which needs GPUs, and which the program representation of Paddle 3 does not support;
    its wheels have no parameter servers. What cannot be run cannot be shown to train the same.

Before:
    paddle.enable_static()

After:
    paddle.disable_static()

Refuses when:
    always.

Source:
    https://www.paddlepaddle.org.cn/documentation/docs/en/api/paddle/enable_static_en.html
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.facts.values import External
from transpile.plan.model import Plan
from transpile.result import Verdict
from transpile.rule import Answer, Ruling

CODES = {
    "PD911": "static graphs are not trained by several processes",
    "PD912": "Paddle 2.x and 3.x are not trained with parameter servers",
}


def decide(plan: Plan) -> Iterator[Answer]:
    """A refusal for a script with static graphs, and for another way to share gradients."""
    if plan.options.mode in ("pserver", "nccl2"):
        yield Ruling(
            "PD912",
            Verdict.REFUSE,
            plan.entry,
            plan.entry.source.tree,
            f"--mode {plan.options.mode} is not done for Paddle 2.x and 3.x, where gradients are "
            "averaged by collectives",
            "leave out --mode; scripts of Fluid 1.x are converted for parameter servers",
        )
    for event in plan.facts.events:
        if event.kind == "call" and External("paddle.enable_static") in event.callee:
            yield Ruling(
                "PD911",
                Verdict.REFUSE,
                event.module,
                event.node,
                "this script builds static graphs, which are not converted for several processes",
                "train in dynamic graph mode, with paddle.jit.to_static where speed matters",
                claims=tuple(
                    step.node for optimizer in plan.optimizers for step in optimizer.steps
                ),
            )
            return
