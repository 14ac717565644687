"""Calls of the logging package: what is logged, and what opens the files that it goes to."""

from __future__ import annotations

from transpile.facts.events import Event
from transpile.facts.values import Constant, Mapping, Value
from transpile.plan.effects.effect_names import LOG_FILES, LOG_METHODS
from transpile.plan.effects.effects import Kind

#: Functions that make handlers of what is written in a dict or a file.
CONFIGURED = frozenset({"logging.config.dictConfig", "logging.config.fileConfig"})
#: Keys by which a handler opens a file, or is made by a function that may.
OPENING_KEYS = frozenset({"filename", "()"})
#: Classes of handlers that open none.
STREAMS = frozenset(
    {
        "logging.StreamHandler", "logging.NullHandler", "rich.logging.RichHandler",
        "colorlog.StreamHandler",
    }
)  # fmt: skip


def log_kind(name: str, event: Event) -> Kind | None:
    """What a function of the logging package does."""
    last = name.rpartition(".")[2]
    if name in LOG_FILES:
        return Kind.LOG_FILE
    if name == "logging.basicConfig" and names_file(event):
        return Kind.LOG_FILE
    if name in CONFIGURED and configures_files(event):
        return Kind.LOG_SET_UP
    return Kind.LOG if last in LOG_METHODS else None


def names_file(event: Event) -> bool:
    """Whether a call is given the name of a file, or arguments that are not known."""
    return event.arguments.keyword("filename") is not None or bool(event.arguments.unknown_because)


def configures_files(event: Event) -> bool:
    """Whether the handlers that a call makes may open files."""
    given = event.arguments.get("config", 0)
    return given is None or not given.values or not all(map(opens_none, given.values))


def opens_none(config: Value) -> bool:
    """Whether a configuration is known to name no handler with a file."""
    if not isinstance(config, Mapping) or config.open_because:
        return False
    handlers = config.entries.get("handlers")
    return handlers is None or all(
        isinstance(table, Mapping) and not table.open_because and all(map(is_stream, table.every()))
        for table in handlers.values
    )


def is_stream(handler: Value) -> bool:
    """Whether a handler of a configuration is known to write to a stream."""
    if not isinstance(handler, Mapping) or handler.open_because:
        return False
    made = handler.entries.get("class")
    return (
        made is not None
        and OPENING_KEYS.isdisjoint(handler.entries)
        and all(isinstance(name, Constant) and name.value in STREAMS for name in made.values)
    )
