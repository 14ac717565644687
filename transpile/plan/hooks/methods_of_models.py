"""Methods of models: which of them a pass calls, and which the training loop gives samples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import libcst as cst

from transpile.facts.events import Event, Loop
from transpile.facts.values import (
    BoundMethod,
    Class,
    External,
    Function,
    Instance,
    Opaque,
    Value,
    Values,
)
from transpile.facts.walk import descendants
from transpile.plan.graph import walk_back
from transpile.plan.model import Plan
from transpile.plan.query import query

#: Methods that a call of a model runs, and those that make it, whose mentions may be hooks.
STARTS = frozenset({"forward", "__call__", "hybrid_forward", "call", "__init__"})
#: What tells how many samples there are, and nothing else of them.
SIZES = frozenset({"shape", "size", "ndim", "dtype"})


def reached_by_passes(classes: Iterable[Class]) -> set[int]:
    """The methods, by the identity of their node, that calls of models of these classes may run.

    A method that only the script's own loop calls is given what the script has there.
    """
    methods: dict[str, list[cst.CSTNode]] = {}
    named: set[str] = set()
    for cls in classes:
        for name, values in cls.scope.names.items():
            found = (value.node for value in values if isinstance(value, Function))
            # What a model merely holds is made by a pass that names its class, and by no other.
            own = name == "__init__" and not any(map(is_from_elsewhere, cls.ancestry()))
            methods.setdefault(cls.name if own else name, []).extend(found)
            named.update({cls.name} if own else ())
    reached: set[int] = set()
    pending = [name for name in methods if name in STARTS]
    known = set(pending)
    while pending:
        current = pending.pop()
        for node in methods[current]:
            reached.add(id(node))
            # What is made where a model is made is there before its passes.
            for word in set(words_in(node)) - known - (named if current == "__init__" else set()):
                if word in methods:
                    known.add(word)
                    pending.append(word)
    return reached


def is_from_elsewhere(base: Value) -> bool:
    """Whether a base of a class is none of the project's, such as one that makes layers."""
    return not isinstance(base, Class) and base != External("builtins.object")


def words_in(node: cst.CSTNode) -> Iterator[str]:
    """The names and attributes in a method."""
    for part in descendants(node):
        if isinstance(part, cst.Name):
            yield part.value


@query
def fed_in_training(plan: Plan) -> set[int]:
    """The methods, by the identity of their node, that a training loop gives samples itself."""
    loops = {id(b.batch_loop.node) for b in plan.backwards if b.batch_loop is not None}
    return {
        id(callee.function.node)
        for event in plan.facts.calls
        if stands_in(event, loops)
        for callee in event.callee
        if isinstance(callee, BoundMethod)
        if has_samples(plan, tuple(v for item in event.arguments.items for v in item.values))
    }


def stands_in(event: Event, loops: set[int]) -> bool:
    """Whether a call is written in a loop, or in a function that the loop calls."""
    return not event.detached and any(
        isinstance(frame, Loop) and id(frame.node) in loops for frame in event.stack
    )


def has_samples(plan: Plan, values: Values) -> bool:
    """Whether values are made of training batches, beyond how many samples these have."""
    loaders = {id(loader.value) for loader in plan.training_loaders}
    return any(
        isinstance(value, Opaque)
        and value.kind == "element"
        and any(id(source) in loaders for source in walk_back(value.operands[0]))
        for value in walk_back(values, enters)
    )


def enters(value: Value) -> bool:
    """Whether what a value is made of may be samples."""
    if isinstance(value, (Instance, Function)):
        return False
    if isinstance(value, Opaque) and value.kind == "attribute":
        return value.name not in SIZES
    return not (isinstance(value, Opaque) and value.kind == "operation" and value.name == "len")
