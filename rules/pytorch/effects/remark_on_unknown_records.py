"""Warn of libraries that are handed numbers of the training, and of which nothing is known.

What:
    A call of a library that is in no table, made for what it does and given something of the
    batches, is warned of: once for each object or function.

Why:
    It may record, print or send what it is given. Every process calls it, and with sharded batches
    each with what it has seen itself.

Before:
    recorder = reclib.Recorder("run.csv")
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        recorder.log("loss", loss.item())

After:
    recorder = reclib.Recorder("run.csv")
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        if dist.get_rank() == 0:
            recorder.log("loss", loss.item())

Refuses when:
    never: it is a warning, as the library may as well keep to one process by itself.

Source:
    https://pytorch.org/docs/stable/distributed.html#torch.distributed.get_rank
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.values import External, Opaque, Values
from transpile.plan.effects.effect_search import find_effects
from transpile.plan.flow.ranks import Ranks
from transpile.plan.graph import called_names, method_calls
from transpile.plan.known import is_known
from transpile.plan.model import Plan
from transpile.quantity.asking import quantity
from transpile.rule import Answer, Remark
from transpile.rules.pytorch.effects._vocabulary import VOCABULARY

CODES = {"PT533": "what a library does with numbers of the training is not known"}
DEEPEST = 8


def decide(plan: Plan) -> Iterator[Answer]:
    """A warning for the first call of each such object or function."""
    if not plan.backwards:
        return
    known = {id(effect.node) for effect in find_effects(plan, VOCABULARY)}
    ranks = Ranks(plan, frozenset())
    seen: set[str] = set()
    for event in plan.facts.calls:
        if event.detached or id(event.node) in known or not is_for_effect(event):
            continue
        said = unknown_called(plan, event)
        if not said or said in seen or not any(is_of_batches(plan, event)):
            continue
        if ranks.some_ranks(event):
            continue
        seen.add(said)
        shares = ", each with what it has seen" if plan.way == "data" else ""
        yield Remark.warn(
            "PT533",
            event,
            f"what '{said}' does with numbers of the training is not known: every process calls "
            f"it{shares}",
            "let rank 0 alone call it if it records or prints, with what is reduced over the "
            "processes",
        )


def is_for_effect(event: Event) -> bool:
    """Whether what a call gives is not used, so that it is there for what it does."""
    return isinstance(event.module.source.parent(event.node), cst.Expr)


def is_of_batches(plan: Plan, event: Event) -> Iterator[bool]:
    """Whether each argument depends on the batches of this process."""
    for item in event.arguments.items:
        found = quantity(plan, item.values)
        yield bool(found.pending) or not found.independent


def unknown_called(plan: Plan, event: Event) -> str:
    """The function or method of an unknown library that is called; empty for others."""
    for callee in event.callee:
        if isinstance(callee, External) and is_unknown(plan, callee.name):
            return callee.name
        if isinstance(callee, Opaque) and callee.kind == "attribute":
            for name in makers(callee.operands[0], DEEPEST):
                if is_unknown(plan, name):
                    return f"{name.rpartition('.')[2]}.{callee.name}"
    return ""


def makers(values: Values, depth: int) -> Iterator[str]:
    """The dotted names of what made the objects, or gave what has them as a part."""
    for value in values if depth else ():
        if isinstance(value, External):
            yield value.name
        if isinstance(value, Opaque):
            yield from called_names(value)
            for inner in inside_of(value):
                yield from makers(inner, depth - 1)


def inside_of(value: Opaque) -> Iterator[Values]:
    """What an object is an attribute, an entry or a result of."""
    if value.kind in ("attribute", "item"):
        yield value.operands[0]
    for _, receiver in method_calls(value):
        yield receiver


def is_unknown(plan: Plan, name: str) -> bool:
    """Whether a dotted name is of a library that no table has."""
    package = name.partition(".")[0]
    return not is_known(plan, name) and package not in plan.table.quiet_packages
