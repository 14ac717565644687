"""What rules that wrap models have in common: what no wrap sees, and where one is written."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.module import Module
from transpile.layout import insert_after, insert_before
from transpile.plan.flow.gate import hand_written
from transpile.plan.flow.places import start
from transpile.plan.model import Model, Optimizer, Plan
from transpile.plan.models.learning import reached_by_losses
from transpile.plan.models.wraps import Wrap
from transpile.rule import Change, In, Place, Ruling


def home(plan: Plan, model: Model) -> tuple[Module, cst.CSTNode]:
    """A place to point at for a model: where it was made."""
    node = getattr(model.value, "node", None)
    module = getattr(model.value, "module", None)
    if node is not None and module is not None:
        return module, node
    return plan.entry, plan.entry.source.tree


def claims(model: Model) -> tuple[cst.CSTNode, ...]:
    """The optimizer steps that a wrapped model's gradients reach."""
    return tuple(step.node for optimizer in model.optimizers for step in optimizer.steps)


def merged(group: list[Wrap]) -> Wrap:
    """One wrap for the models that a variable may hold."""
    module = group[0].module
    return Wrap(
        tuple(model for wrap in group for model in wrap.models),
        module,
        group[0].text,
        group[0].before,
        max((each.after for each in group), key=lambda node: start(module, node)),
        min(each.order for each in group),
        group[0].function,
        any(wrap.thawed for wrap in group),
    )


def wrapped(wrap: Wrap, reason: str, code: str) -> Ruling:
    """The answer for a variable whose models are wrapped."""
    nodes = tuple(node for model in wrap.models for node in claims(model))
    return Ruling.apply(code, wrap, reason, data=wrap, claims=nodes)


def by_hand(plan: Plan, code: str) -> Iterator[Ruling]:
    """Gradients that are taken without a backward pass."""
    for value in hand_written(plan):
        # Gradients that enter a loss, such as a gradient penalty, are synchronised with it.
        if id(value) not in reached_by_losses(plan):
            yield Ruling.refuse(
                code,
                value,
                "gradients are taken here without a backward pass: no wrap averages them over the "
                "processes",
                "let backward() take them, and read the .grad of the parameters behind it",
            )


def hidden(value: Place, code: str) -> Ruling:
    """The refusal of training within a call that cannot be analysed."""
    return Ruling.refuse(
        code,
        value,
        "the model is trained inside a call that cannot be analysed",
        "use the distributed support of that library, or write the loop in the script",
    )


def untraced(optimizers: list[Optimizer], code: str) -> Iterator[Ruling]:
    """Optimizers of which it is not known what they update."""
    for optimizer in optimizers:
        if optimizer.steps and optimizer.unknown_because and not optimizer.event.detached:
            yield Ruling.refuse(
                code,
                optimizer.event,
                f"it is not known which model this optimizer updates: {optimizer.unknown_because}",
                "give the optimizer the parameters of a model of the script",
            )


def written(wrap: Wrap, lines: list[str]) -> Iterator[Change]:
    """The lines of a wrap where the model is ready."""
    source = wrap.module.source
    if wrap.before is not None:
        changes = insert_before(source, wrap.before, lines, order=5)
    else:
        changes = insert_after(source, wrap.after, lines, order=5)
    for edit in changes:
        yield In(wrap.module, edit)
