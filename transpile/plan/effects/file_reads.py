"""Calls that read files."""

from __future__ import annotations

from transpile.facts.events import Event
from transpile.facts.values import External, Opaque, Values
from transpile.plan.effects.effect_names import PATH_READS, READS
from transpile.plan.effects.effects import Vocabulary

OPENING = frozenset({"builtins.open", "io.open", "codecs.open", "gzip.open"})
#: Functions that ask whether there is a file.
EXISTENCE = frozenset({"os.path.exists", "os.path.isfile", "os.path.isdir", "os.path.lexists"})
EXISTENCE_METHODS = frozenset({"exists", "is_file", "is_dir"})


def path_read(event: Event, vocabulary: Vocabulary) -> Values | None:
    """The path that a call reads; None where it reads no file."""
    for callee in event.callee:
        if isinstance(callee, External):
            name = callee.name
            if name in READS or name in vocabulary.reads or name in OPENING or name == "os.chdir":
                first = event.arguments.items[0] if event.arguments.items else None
                return first.values if first is not None else ()
        elif isinstance(callee, Opaque) and callee.kind == "attribute":
            if callee.name in PATH_READS or callee.name == "open":
                return receivers(event)
            if callee.name in vocabulary.read_methods:
                first = event.arguments.items[0] if event.arguments.items else None
                return first.values if first is not None else ()
    return None


def receivers(event: Event) -> Values:
    """What a method is called on."""
    return tuple(
        value
        for callee in event.callee
        if isinstance(callee, Opaque) and callee.kind == "attribute"
        for value in callee.operands[0]
    )


def event_asks(event: Event) -> bool:
    """Whether a call looks for a file."""
    for callee in event.callee:
        if isinstance(callee, External) and callee.name in EXISTENCE:
            return True
        if isinstance(callee, Opaque) and callee.kind == "attribute":
            if callee.name in EXISTENCE_METHODS:
                return True
    return False
