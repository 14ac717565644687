"""The closing check: every site that matters for training is claimed by some ruling."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.module import Module
from transpile.finding import Level
from transpile.plan.model import Plan
from transpile.result import Verdict
from transpile.rule import Remark, Rulings


def unclaimed(plan: Plan, rulings: Rulings) -> Iterator[Remark]:
    """A remark for each backward pass, optimizer step, training loop and loader left unclaimed."""
    claimed: set[int] = set()
    for answers in rulings.by_rule.values():
        for ruling in answers:
            if ruling.verdict is not Verdict.REFUSE:
                claimed.update(id(node) for node in ruling.claims)
    seen: set[int] = set()
    for word, module, node in sites(plan):
        if id(node) in claimed or id(node) in seen:
            continue
        seen.add(id(node))
        yield Remark(
            "DT005",
            Level.ERROR,
            module,
            node,
            f"no rule takes care of this {word}, so it might train differently on several ranks",
            "make it part of the training loop that the tool recognises, or convert it by hand",
        )


def sites(plan: Plan) -> Iterator[tuple[str, Module, cst.CSTNode]]:
    """The sites that some ruling must claim."""
    for backward in plan.backwards:
        yield "backward pass", backward.event.module, backward.event.node
    for optimizer in plan.optimizers:
        for step in optimizer.steps:
            yield "optimizer step", step.module, step.node
    for loader in plan.training_loaders:
        yield "training loader", loader.event.module, loader.event.node
    if plan.table.sites is not None:
        yield from plan.table.sites(plan)
