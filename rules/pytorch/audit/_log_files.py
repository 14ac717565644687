"""Files of loggers: whether all processes write lines into them, as they are set up and asked."""

from __future__ import annotations

from collections.abc import Callable

import libcst as cst

from transpile.audit.model import Audit
from transpile.audit.ranks import Ranks
from transpile.facts.events import Event
from transpile.facts.values import Constant, Opaque, Value
from transpile.plan.effects.effects import Effect, Kind
from transpile.plan.graph import called_names, walk_back

#: What sets up a logger.
SETTING_UP = ("setLevel", "disable", "addHandler", "removeHandler", "basicConfig")
#: What gives loggers that write on the main process alone.
ON_MAIN = frozenset({"accelerate.logging.get_logger"})


def silences(audit: Audit, ranks: Ranks) -> bool:
    """Whether the script sets up its loggers in another way on other processes."""
    for event in audit.facts.calls:
        for callee in event.callee:
            name = getattr(callee, "name", "").rpartition(".")[2]
            if name in SETTING_UP:
                if not audit.on_all(event.node):
                    return True
                if any(ranks.depend(item.values) for item in event.arguments.items):
                    return True
                if any(chosen_apart(audit, item.node) for item in event.arguments.items):
                    return True
    return False


def chosen_apart(audit: Audit, node: cst.CSTNode | None) -> bool:
    """Whether a conditional expression gives something else on another process."""
    if not isinstance(node, cst.IfExp):
        return False
    return len(set(audit.answers(node.test))) > 1


def empties(effect: Effect) -> bool:
    """Whether a log's file is emptied where it is opened, whatever is written to it."""
    return any(
        item.values == (Constant("w"),)
        for event in effect.events
        for item in event.arguments.items
        if item.keyword in ("mode", "filemode", None)
    )


def logs_on_main(audit: Audit, effects: list[Effect], guarded: Callable[[Effect], bool]) -> bool:
    """Whether no line of a log is written by another process than the first of a machine."""
    lines = [effect for effect in effects if effect.kind is Kind.LOG]
    return bool(lines) and not any(
        id(line.node) in audit.second.calls and not guarded(line) for line in lines
    )


def is_of_main_logger(audit: Audit, effect: Effect) -> bool:
    """Whether a handler belongs to loggers alone that write on the main process."""
    made = {id(value) for event in effect.events for value in event.result}
    added = [event for event in audit.facts.calls if adds_handler(event, made)]
    return bool(added) and all(
        all(comes_from_main(value) for value in callee.operands[0])
        for event in added
        for callee in event.callee
        if isinstance(callee, Opaque)
    )


def adds_handler(event: Event, made: set[int]) -> bool:
    """Whether a call gives one of some handlers to a logger."""
    if not any(isinstance(c, Opaque) and c.name == "addHandler" for c in event.callee):
        return False
    return any(id(value) in made for item in event.arguments.items for value in item.values)


def comes_from_main(value: Value) -> bool:
    """Whether a logger is, or is behind, one that writes on the main process alone."""
    return any(not ON_MAIN.isdisjoint(called_names(one)) for one in walk_back((value,)))
