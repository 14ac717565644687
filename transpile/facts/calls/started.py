"""What the standard library runs beside a script, or behind it: threads, processes, handlers."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.values import (
    Argument,
    Arguments,
    BoundMethod,
    Function,
    Instance,
    Mapping,
    Partial,
    Sequence,
    Value,
    only_constant,
)

#: What a thread or a handler runs, with what it is handed, and where that was.
Later = tuple[Value, Arguments, cst.CSTNode]
#: Classes of the standard library that start a thread or a process, with their other names.
STARTING = frozenset(
    {
        "threading.Thread",
        "threading.Timer",
        "multiprocessing.Process",
        "multiprocessing.process.BaseProcess",
        "multiprocessing.context.Process",
        "multiprocessing.context.SpawnProcess",
        "multiprocessing.context.ForkProcess",
    }
)

#: Functions that keep a function to call it some time later, and where that stands among their
#: arguments; those behind it are handed to it, except to the handler of a signal.
REGISTERING = {"atexit.register": 0, "weakref.finalize": 1, "signal.signal": 1}
HANDLERS = frozenset({"signal.signal"})


def is_starting(name: str) -> bool:
    """Whether a class starts a thread or process; frameworks have ``multiprocessing``, too."""
    return name in STARTING or name.partition(".")[2] in STARTING


def starting_base(value: Value) -> str:
    """The class by which an object of the project starts a thread or process; empty for others."""
    if not isinstance(value, Instance):
        return ""
    return next((base for base in value.cls.external_bases() if is_starting(base)), "")


def run_later(name: str, arguments: Arguments) -> Iterator[tuple[Value, Arguments]]:
    """What a function of the standard library runs at another time, each with what it is handed.

    Args:
        name: the dotted name of the function.
        arguments: what it is called with.
    """
    position = REGISTERING.get(name)
    if position is not None:
        ordered = arguments.positional()
        handed = Arguments()
        if name not in HANDLERS:
            named = (item for item in arguments.items if item.keyword is not None)
            handed = Arguments(
                (*ordered[position + 1 :], *named), arguments.unknown_because, arguments.rest
            )
        targets = ordered[position].values if position < len(ordered) else ()
    elif is_starting(name):
        word = "function" if name.endswith("Timer") else "target"
        target = arguments.get(word, 1)
        first = 2 if word == "function" else 3
        handed = unpacked(arguments.get("args", first), arguments.get("kwargs", first + 1))
        targets = target.values if target is not None else ()
    else:
        return
    for value in targets:
        if isinstance(value, (BoundMethod, Function)):
            yield value, handed
        elif isinstance(value, Partial):
            given = Arguments((*value.arguments.items, *handed.items), handed.unknown_because)
            yield from ((one, given) for one in value.callee)


def unpacked(args: Argument | None, kwargs: Argument | None) -> Arguments:
    """The arguments that a tuple and a dict hold; unknown ones where they are not known."""
    items: list[Argument] = []
    unknown: str | None = None
    if args is not None and only_constant(args.values) is None:
        known = args.values[0] if len(args.values) == 1 else None
        if isinstance(known, Sequence) and not known.rest:
            items.extend(Argument(values, args.node) for values in known.elements)
        else:
            unknown = "what a thread or process is handed is not known"
    if kwargs is not None and only_constant(kwargs.values) is None:
        named = kwargs.values[0] if len(kwargs.values) == 1 else None
        if isinstance(named, Mapping) and not named.rest:
            items.extend(
                Argument(entry.values, kwargs.node, str(key))
                for key, entry in named.entries.items()
            )
        else:
            unknown = "what a thread or process is handed is not known"
    return Arguments(tuple(items), unknown)
