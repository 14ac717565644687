"""Where batches come from that no loader delivers."""

from __future__ import annotations

import libcst as cst

from transpile.facts.events import Loop
from transpile.facts.values import Function, Generator, Instance, Opaque, Sequence, Value, Values
from transpile.plan.graph import called_names, walk_back
from transpile.plan.model import Backward, Plan

#: What chooses among positions, beside the functions of the framework.
CHOICES = frozenset(
    {
        "numpy.random.permutation", "numpy.random.randint", "numpy.random.choice",
        "random.choice", "random.sample", "random.randint", "random.choices", "random.randrange",
    }
)  # fmt: skip
#: Packages whose results are data, not what delivers it, beside the framework.
PLAIN = frozenset({"builtins", "numpy", "itertools", "math"})
GENERATES = "batches are made by the generator '{}' of the script, not drawn from a DataLoader"


def enters(value: Value) -> bool:
    """Whether what a value is made of may be data; the inside of models and settings is not."""
    return not isinstance(value, (Instance, Function))


def foreign_source(plan: Plan, backward: Backward, behind: list[Value]) -> str:
    """The reason where a loop around the backward pass draws from something else than a loader."""
    loops = loops_around(backward)
    known = {id(value) for value in behind}
    for event in plan.facts.iterations:
        if id(event.node) in loops:
            for source in walk_back(event.callee, is_handed_on):
                if isinstance(source, Generator):
                    yields = walk_back(source.yields, lambda value: isinstance(value, Sequence))
                    if known.intersection(map(id, yields)):
                        return GENERATES.format(source.function.name)
    for value in behind:
        if not isinstance(value, Opaque) or value.kind != "element":
            continue
        if id(value.node) in loops:
            for name in filter(
                None, (name_of_source(plan, source) for source in value.operands[0])
            ):
                return (
                    f"the batches come from {name}, which is no DataLoader: how it draws them is "
                    "not known, so they cannot be sharded"
                )
    return ""


def loops_around(backward: Backward) -> set[int]:
    """The identities of the loops that a backward pass runs in."""
    return {id(frame.node) for frame in backward.event.stack if isinstance(frame, Loop)}


def name_of_source(plan: Plan, source: Value) -> str:
    """How to call what a loop draws from; empty where that is nothing that delivers batches."""
    for value in walk_back((source,), is_handed_on):
        if isinstance(value, Instance):
            return f"an object of the script's class '{value.cls.name}'"
        names = called_names(value)
        if any(name.partition(".")[0] not in PLAIN | plan.table.packages for name in names):
            return names[0]
        if isinstance(value, Opaque) and value.kind == "call" and not names:
            call = value.node
            if isinstance(call, cst.Call):
                return f"'{value.module.source.code(call.func)}'"
    return ""


def is_handed_on(value: Value) -> bool:
    """Whether a value is what it was made of in another form."""
    return isinstance(value, Opaque) and value.kind in ("item", "operation", "attribute")


def cut_by_index(
    plan: Plan, backward: Backward, behind: list[Value], choices: frozenset[str]
) -> str:
    """The reason where the script cuts its batches out of its data by index."""
    loops = loops_around(backward)
    for value in behind:
        if not isinstance(value, Opaque) or value.kind != "item":
            continue
        for index in walk_back((*value.index, *bounds(plan, value))):
            if not isinstance(index, Opaque):
                continue
            chosen = index.kind in ("element", "operation") or names_any(index, CHOICES | choices)
            if chosen and happens_within(plan, index, loops):
                return (
                    "the script cuts the batches out of its data by index, not with a DataLoader: "
                    "which indices belong to which process is not decided here"
                )
    return ""


def bounds(plan: Plan, value: Opaque) -> Values:
    """The bounds of a slice such as ``data[first:last]``."""
    if not isinstance(value.node, cst.Subscript):
        return ()
    return tuple(
        found
        for element in value.node.slice
        if isinstance(element.slice, cst.Slice)
        for bound in (element.slice.lower, element.slice.upper)
        if bound is not None
        for found in plan.facts.values_of(bound)
    )


def happens_within(plan: Plan, value: Opaque, loops: set[int]) -> bool:
    """Whether a value comes about inside one of some loops, or in what is called there."""
    node: cst.CSTNode | None = value.node
    while node is not None:
        if id(node) in loops:
            return True
        node = value.module.source.parent(node)
    return any(
        isinstance(frame, Loop) and id(frame.node) in loops
        for event in plan.facts.calls
        if any(value is result for result in event.result)
        for frame in event.stack
    )


def names_any(value: Value, names: frozenset[str]) -> bool:
    """Whether a value is the result of one of some functions."""
    return any(name in names for name in called_names(value))
