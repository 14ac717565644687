"""Objects of libraries that keep what they are given: queues, counters, tables, databases."""

from __future__ import annotations

from collections.abc import Iterator

from transpile.facts.events import Event
from transpile.facts.values import External, Mapping, Opaque, Value, Values
from transpile.plan.flow.redirects import redirected_to
from transpile.plan.graph import called_names, walk_back
from transpile.plan.model import Plan
from transpile.plan.query import query
from transpile.records import dataclass

#: Modules whose objects give back what their methods and attributes were given.
MODULES = frozenset(
    {
        "array", "asyncio", "collections", "contextvars", "ctypes", "dbm", "io", "mmap",
        "multiprocessing", "pandas", "queue", "shelve", "sqlite3", "threading",
    }
)  # fmt: skip
#: Methods that give one of the things that an object keeps, as it is.
GIVING = frozenset(
    {"get", "get_nowait", "pop", "popleft", "recv", "value", "get_obj", "tolist", "__getitem__"}
)
#: What writes into its first argument.
WRITERS = frozenset({"csv.writer", "csv.DictWriter", "io.TextIOWrapper", "pickle.Pickler"})
PRINT = External("builtins.print")
#: Functions that make a table of what they are given, as it is.
TABLES = frozenset({"pandas.DataFrame", "pandas.Series", "pandas.concat"})
HANDED_ON = "it is asked of an object that was given numbers of one process's share"


@dataclass(frozen=True, eq=False)
class Given:
    """What an object is given in one place.

    Args:
        keeper: the object.
        values: what it is given.
    """

    keeper: Opaque
    values: Values


def is_keeper(value: Value) -> bool:
    """Whether a library made an object that keeps what it is given."""
    return (
        isinstance(value, Opaque)
        and value.kind == "call"
        and any(map(is_of_modules, called_names(value)))
    )


def is_of_modules(name: str) -> bool:
    """Whether a name is one of `MODULES`, or of what a framework has of them by the same name."""
    package, _, rest = name.partition(".")
    return package in MODULES or ("." in rest and rest.partition(".")[0] == "multiprocessing")


def keepers_of(values: Values) -> Iterator[Opaque]:
    """The objects that values are, or are asked of: ``db`` of ``db.execute(...).fetchone()[0]``."""
    seen: set[int] = set()
    stack = list(values)
    while stack:
        value = stack.pop()
        if id(value) in seen or not isinstance(value, Opaque):
            continue
        seen.add(id(value))
        if is_keeper(value):
            yield value
        elif any(name in WRITERS for name in called_names(value)):
            stack.extend(one for item in value.arguments.items[:1] for one in item.values)
        elif value.kind in ("attribute", "item", "element"):
            stack.extend(value.operands[0])
        elif value.kind == "call":
            stack.extend(
                one
                for callee in value.callee
                if isinstance(callee, Opaque) and callee.kind == "attribute"
                for one in callee.operands[0]
            )


def given_in(event: Event) -> Iterator[Given]:
    """What an event gives to objects that keep it: by methods, attributes, and places."""
    if event.kind == "call":
        values = tuple(
            one
            for item in event.arguments.items
            for value in item.values
            for one in (value.every() if isinstance(value, Mapping) else (value,))
        )
        if PRINT in event.callee:
            file = event.arguments.keyword("file")
            into = file.values if file is not None else redirected_to(event)
            yield from (Given(one, values) for one in keepers_of(into))
        for callee in event.callee if values else ():
            if isinstance(callee, Opaque) and callee.kind == "attribute":
                yield from (Given(one, values) for one in keepers_of(callee.operands[0]))
    elif event.kind == "store" and event.name != "[]":
        yield from (Given(one, event.result) for one in keepers_of(event.callee))


@query
def kept_by(plan: Plan) -> dict[int, list[Value]]:
    """What each object is given, by its identity."""
    found: dict[int, list[Value]] = {}
    for event in plan.facts.events:
        for given in given_in(event):
            found.setdefault(id(given.keeper), []).extend(given.values)
    return found


def with_kept(plan: Plan, values: Values) -> Values:
    """Values, and what the objects were given that they are, or are asked of."""
    kept = kept_by(plan)
    behind = keepers_of(tuple(walk_back(values))) if kept else ()
    return (*values, *(one for keeper in behind for one in kept.get(id(keeper), ())))
