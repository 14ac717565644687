"""The closing check: every site that matters for training is claimed by some ruling."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.module import Module
from transpile.finding import Level
from transpile.plan.model import Plan
from transpile.plan.places import function_of
from transpile.prelude import prelude_of
from transpile.result import Verdict
from transpile.rule import Helper, Remark, Rule, Rulings


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


def too_early(plan: Plan, rulings: Rulings, rules: Iterable[Rule]) -> Iterator[Remark]:
    """A remark for each edit that asks for the process group while a module is imported.

    The script joins the process group, and imports its modules before that.
    """
    if all(module.is_entry for module in plan.facts.modules.values()):
        return
    sources = prelude_of(plan.table.framework, plan.options)
    functions = {id(frame.function.node) for event in imported(plan) for frame in event.calls()}
    for rule in rules:
        for ruling in rulings.of(rule.name, Verdict.APPLY):
            function = function_of(ruling.module, ruling.node)
            if ruling.module.is_entry or not (function is None or id(function) in functions):
                continue
            if any(
                isinstance(change, Helper) and not sources[change.name].without_group
                for change in rule.edits(plan, ruling, rulings)
            ):
                yield Remark(
                    "DT009",
                    Level.ERROR,
                    ruling.module,
                    ruling.node,
                    "this runs while the module is imported, and the script joins the process "
                    "group only afterwards",
                    "put it into a function that the script calls",
                )


def imported(plan: Plan) -> Iterator[Event]:
    """What happens while modules are imported."""
    for event in plan.facts.events:
        if not event.detached:
            first = next(event.calls(), None)
            module = event.module if first is None else first.module
            if not module.is_entry:
                yield event


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
