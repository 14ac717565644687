"""Threads and processes of the project's own classes, whose ``start`` runs a method of theirs."""

from __future__ import annotations

from transpile.facts.values import Instance, Value

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


def is_starting(name: str) -> bool:
    """Whether a class starts a thread or process; frameworks have ``multiprocessing``, too."""
    return name in STARTING or name.partition(".")[2] in STARTING


def starting_base(value: Value) -> str:
    """The class by which an object of the project starts a thread or process; empty for others."""
    if not isinstance(value, Instance):
        return ""
    return next((base for base in value.cls.external_bases() if is_starting(base)), "")
