"""Effects once: found, prepared in turn, guarded."""

from __future__ import annotations

from collections.abc import Set

from transpile.plan.effects import Kind, Vocabulary, find_effects
from transpile.plan.foreign import find_foreign
from transpile.plan.guards import Guards
from transpile.plan.model import Plan
from transpile.plan.preparation import PREPARING, Preparations
from transpile.plan.ranks import Ranks
from transpile.plan.readback import is_private
from transpile.plan.reads import Reads
from transpile.plan.treatment import Once

#: Effects with a path.
FILES = frozenset({Kind.OPEN, Kind.WRITE, Kind.MODIFY, Kind.CONTAINER})


def find_once(
    plan: Plan,
    vocabulary: Vocabulary,
    barriers: frozenset[str],
    joined: int,
    together: Set[int] = frozenset(),
) -> Once:
    """Decide what becomes of the effects of a script.

    Args:
        plan: the plan.
        vocabulary: the framework's own effects.
        barriers: calls in which every process waits for the others.
        joined: the order of the first event that the process group exists for.
        together: expressions that every process will have to evaluate, by the identity of their
            node.
    """
    once = Once(plan, Ranks(plan, barriers), Reads(plan, vocabulary, together))
    scope = plan.entry.scope
    rebound = scope is not None and "print" in scope.names
    for effect in find_effects(plan, vocabulary):
        if effect.kind is Kind.PRINT and rebound:
            # A helper could not call the builtin by its name.
            effect.kind = Kind.CONSOLE
        once.effects[id(effect.node)] = effect
        if all(once.ranks.some_ranks(event) for event in effect.events):
            once.done.add(id(effect.node))
        elif effect.kind in PREPARING and all(
            once.ranks.in_turn(event.stack) for event in effect.events
        ):
            once.prepared.add(id(effect.node))
        elif effect.kind in FILES and is_private(effect, vocabulary):
            once.private.add(id(effect.node))
    find_foreign(once)
    source = plan.entry.source
    for effect in once.effects.values():
        if effect.module.is_entry:
            once.holders.add(id(effect.node))
            once.holders.update(id(node) for node in source.parents(effect.node))
    once.preparations = Preparations(once, joined).find()
    once.foreign = [effect for effect in once.foreign if not once.settled(effect)]
    once.grades.clear()
    Guards(once).block(source.tree)
    return once
