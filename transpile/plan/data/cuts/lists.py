"""What a script does with a batch that is a list of Python: whether each row stays for itself.

A list that is cut out of a list is a process's share of a batch, and its rows are what they were
before. Where a script does more with them than to lay them side by side in a tensor, nothing tells
that a number, a table or a decision is made of a share.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.module import Module
from transpile.facts.values import (
    External,
    Mapping,
    Opaque,
    Sequence,
    Value,
    Values,
    only_constant,
)
from transpile.plan.data.cuts.parts import LAID
from transpile.plan.graph import SIZE_OPERATIONS, walk_back
from transpile.plan.model import Plan
from transpile.plan.query import query

#: Functions of frameworks and arrays that lay rows side by side.
LAYING = LAID | {"pad_sequence", "from_numpy", "DoubleTensor", "IntTensor", "concatenate"}
#: Builtins that say how many rows there are, or make a list of them.
HANDING = frozenset(f"builtins.{word}" for word in ("len", "list", "tuple", "reversed"))
#: What goes through rows for whoever goes through it.
PASSING = frozenset({"enumerate", "iterate", "zip"})
#: Methods that take an entry by its place or key.
TAKING = frozenset({"__getitem__", "get", "pop", "setdefault"})
PLACES = "the rows of a batch are objects of Python that the script goes through by itself"


def why_not_apart(plan: Plan, cut: Value) -> str:
    """Why the rows of a list may come together, other than in tensors; empty where they do not."""
    if not isinstance(cut, Sequence):
        return ""
    pending: list[Value] = [cut]
    seen: set[int] = set()
    while pending:
        listed = pending.pop()
        if id(listed) in seen:
            continue
        seen.add(id(listed))
        for module, node in readings(plan).get(id(listed), ()):
            made = laid(plan, module, node)
            if made is None:
                line, _ = module.source.position(module.source.span(node).start)
                return f"{PLACES} (line {line})"
            pending.extend(made)
    return ""


@query
def readings(plan: Plan) -> dict[int, list[tuple[Module, cst.BaseExpression]]]:
    """Where lists of the script are read, by their identity."""
    found: dict[int, list[tuple[Module, cst.BaseExpression]]] = {}
    for module in plan.facts.modules.values():
        for kind in (cst.Name, cst.Attribute, cst.Subscript, cst.Call):
            for node in module.source.nodes_of(kind):
                for value in plan.facts.values_of(node):
                    if isinstance(value, Sequence):
                        found.setdefault(id(value), []).append((module, node))
    return found


def laid(plan: Plan, module: Module, node: cst.BaseExpression) -> list[Value] | None:
    """The lists that a use of a list makes of its rows; None where it does something else."""
    parent = module.source.parent(node)
    if isinstance(parent, cst.Arg):
        call = module.source.parent(parent)
        return handed_to(plan, module, call) if isinstance(call, cst.Call) else None
    if isinstance(parent, cst.CompFor):
        around = next(
            (one for one in module.source.parents(node) if isinstance(one, cst.BaseComp)), None
        )
        if not isinstance(around, (cst.ListComp, cst.GeneratorExp)):
            return None
        if parent.ifs or parent.inner_for_in is not None or parent is not around.for_in:
            return None
        outer = module.source.parent(around)
        named = isinstance(around, cst.ListComp) and not isinstance(outer, cst.Expr)
        if not named and not isinstance(outer, cst.Arg):
            return None
        if isinstance(outer, cst.Arg):
            call = module.source.parent(outer)
            return handed_to(plan, module, call) if isinstance(call, cst.Call) else None
        return [one for one in plan.facts.values_of(around) if isinstance(one, Sequence)]
    if isinstance(parent, cst.Index):
        # Rows of an array by their places.
        element = module.source.parent(parent)
        base = module.source.parent(element) if element is not None else None
        taken = plan.facts.values_of(base.value) if isinstance(base, cst.Subscript) else ()
        return [] if taken and all(isinstance(one, Opaque) for one in taken) else None
    passing = (cst.Assign, cst.AnnAssign, cst.Return, cst.Yield, cst.Element, cst.AssignTarget)
    return [] if isinstance(parent, passing) else None


def handed_to(plan: Plan, module: Module, call: cst.Call) -> list[Value] | None:
    """What a call makes of rows that it is given; None where it may do something with them."""
    made = plan.facts.values_of(call)
    callees = plan.facts.values_of(call.func)
    if made and all(
        isinstance(one, Opaque) and one.kind == "operation" and one.name in PASSING for one in made
    ):
        return laid(plan, module, call)
    if callees and not any(isinstance(one, (External, Opaque)) for one in callees):
        # Code of the project, whose own uses are looked at.
        return []
    names = {one.name for one in callees if isinstance(one, External)}
    if len(names) != len(callees):
        return None
    if names <= HANDING or names <= {"builtins.zip"}:
        # What ``zip`` makes of rows that are unpacked are lists again.
        return [one for one in made if isinstance(one, Sequence)]
    known = {"numpy", *plan.table.packages}
    lays = all(
        name.partition(".")[0] in known and name.rpartition(".")[2] in LAYING for name in names
    )
    return [] if lays else None


def picked_one_by_one(plan: Plan, cuts: set[int]) -> str:
    """Why rows of lists are taken by the places of a batch, other than into lists; else empty.

    Args:
        plan: the plan.
        cuts: the places that are the batch, by identity.
    """
    for module in plan.facts.modules.values():
        for node, base, index in taken(plan, module):
            if not any(isinstance(one, (Mapping, Sequence)) for one in base):
                continue
            if only_constant(index) is None and is_taken_alone(module, node):
                if any(id(one) in cuts for one in walk_back(index, is_no_size)):
                    line, _ = module.source.position(module.source.span(node).start)
                    return f"{PLACES} (line {line})"
    return ""


def taken(plan: Plan, module: Module) -> Iterator[tuple[cst.CSTNode, Values, Values]]:
    """Where something is taken out of something, from what, and by which place or key."""
    values_of = plan.facts.values_of
    for item in module.source.nodes_of(cst.Subscript):
        part = item.slice[0].slice
        if len(item.slice) == 1 and isinstance(part, cst.Index):
            yield item, values_of(item.value), values_of(part.value)
    for call in module.source.nodes_of(cst.Call):
        if isinstance(call.func, cst.Attribute) and call.func.attr.value in TAKING and call.args:
            yield call, values_of(call.func.value), values_of(call.args[0].value)


def is_no_size(value: Value) -> bool:
    """Whether a value is more than the size of something."""
    return not (
        isinstance(value, Opaque) and value.kind == "operation" and value.name in SIZE_OPERATIONS
    )


def is_taken_alone(module: Module, node: cst.CSTNode) -> bool:
    """Whether an element is taken by itself, and not into a list of such elements."""
    for parent in module.source.parents(node):
        if isinstance(parent, cst.BaseComp):
            return False
        if isinstance(parent, cst.Call) and isinstance(parent.func, cst.Attribute):
            if parent.func.attr.value == "append":
                return False
        if isinstance(parent, (cst.BaseStatement, cst.BaseSmallStatement)):
            return True
    return True
