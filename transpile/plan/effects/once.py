"""Effects once: found, prepared in turn, guarded."""

from __future__ import annotations

from collections.abc import Set

from transpile.facts.values import Constant
from transpile.layout.imports import last_import
from transpile.plan.data.data_code import drawing_code, is_drawing
from transpile.plan.effects.effect_search import find_effects
from transpile.plan.effects.effects import Effect, Kind, Vocabulary
from transpile.plan.effects.foreign import find_calls, find_idle, give_up
from transpile.plan.effects.guards import Guards
from transpile.plan.effects.missing_files import MissingFiles
from transpile.plan.effects.preparation import PREPARING, Preparations
from transpile.plan.effects.readback import is_private
from transpile.plan.effects.reads import Reads
from transpile.plan.effects.treatment import ATTACHING, Once
from transpile.plan.flow.places import function_of
from transpile.plan.flow.ranks import Ranks
from transpile.plan.model import Plan

#: Effects that need no guard of their own.
HARMLESS = ATTACHING | {Kind.LOG}
#: Effects with a path.
FILES = frozenset({Kind.OPEN, Kind.WRITE, Kind.MODIFY, Kind.CONTAINER})
#: Effects that a process has for each sample of its own.
ALONE = FILES | {Kind.HANDLE, Kind.PRINT, Kind.CONSOLE}


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
    for effect in find_effects(plan, vocabulary):
        scope = effect.module.scope
        if effect.kind is Kind.PRINT and scope is not None and "print" in scope.names:
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
    once.sampling.extend(find_sampling(once))
    once.mixed.extend(find_mixed(once))
    once.idle.update(find_idle(once))
    once.idle.update(id(effect.node) for effect in once.sampling)
    once.early.extend(effect for effect in once.effects.values() if is_early(plan, effect))
    once.idle.update(id(effect.node) for effect in once.early)
    find_calls(once)
    find_holders(once)
    once.preparations = Preparations(once, MissingFiles(once, vocabulary), joined).find()
    once.grades.clear()
    Guards(once, plan.entry).block(plan.entry.source.tree)
    refused = [effect for effect, _ in once.loose if effect.kind is Kind.CALL]
    if refused:
        give_up(once, refused)
        forget_guards(once)
        find_holders(once)
        Guards(once, plan.entry).block(plan.entry.source.tree)
    for module in plan.facts.modules.values():
        if id(module.source.tree) in once.holders and not module.is_entry:
            Guards(once, module).block(module.source.tree)
    return once


def find_sampling(once: Once) -> list[Effect]:
    """The effects of code that draws samples alone, which every process has to have on its own.

    Where batches are shared out, these are other samples in each process; where all have the same,
    what is written may be read again before rank 0 has written it.
    """
    code = drawing_code(once.plan)
    shared = once.plan.way != "calls"
    found = [
        effect
        for key, effect in once.effects.items()
        if key in code and key not in once.done | once.prepared | once.private
        if effect.kind in (ALONE if shared else FILES) and (shared or not appends(effect))
        if all(is_drawing(once.plan, event) for event in effect.events)
    ]
    # What is written into a file that every process has open is written by all of them.
    owners = {id(function_of(effect.module, effect.node)) for effect in found}
    found.extend(
        effect
        for key, effect in once.effects.items()
        if not shared and key in code and effect.kind is Kind.HANDLE
        if id(function_of(effect.module, effect.node)) in owners
    )
    return found


def find_mixed(once: Once) -> list[Effect]:
    """The files that code writes while samples are drawn and beside that: rank 0 alone does."""
    if once.plan.way == "calls":
        return []
    code = drawing_code(once.plan)
    return [
        effect
        for key, effect in once.effects.items()
        if key in code and key not in once.done | once.prepared | once.private
        if effect.kind in FILES and not all(is_drawing(once.plan, one) for one in effect.events)
    ]


def appends(effect: Effect) -> bool:
    """Whether a file is opened to add lines to it."""
    modes = [event.arguments.get("mode", 1) for event in effect.events]
    return effect.kind is Kind.OPEN and any(
        isinstance(value, Constant) and "a" in str(value.value)
        for mode in modes
        if mode is not None
        for value in mode.values
    )


def is_early(plan: Plan, effect: Effect) -> bool:
    """Whether an effect happens between the imports at the top of the script."""
    if not effect.module.is_entry or effect.kind in HARMLESS:
        return False
    source = effect.module.source
    last = last_import(source)
    return (
        last is not None
        and source.span(effect.node).end <= source.span(last).start
        and function_of(effect.module, effect.node) is None
    )


def find_holders(once: Once) -> None:
    """Note what holds the effects that may need a guard."""
    once.holders.clear()
    for effect in once.effects.values():
        key = id(effect.node)
        if key not in once.idle and key not in once.elsewhere:
            once.holders.add(key)
            once.holders.update(id(node) for node in effect.module.source.parents(effect.node))


def forget_guards(once: Once) -> None:
    """Take back what was decided about guards."""
    for decided in (once.runs, once.loose, once.inline, once.managers):
        decided.clear()
    once.inside.clear()
    once.grades.clear()
