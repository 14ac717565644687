"""What a script does with a batch that is a list of Python: whether each row stays for itself.

A list that is cut out of a list is a process's share of a batch, and its rows are what they were
before. Where a script does more with them than to lay them side by side in a tensor, nothing tells
that a number, a table or a decision is made of a share.
"""

from __future__ import annotations

import libcst as cst

from transpile.facts.module import Module
from transpile.facts.values import External, Mapping, Opaque, Sequence, Value, only_constant
from transpile.plan.data.cuts.parts import LAID
from transpile.plan.graph import SIZE_OPERATIONS, called_names, walk_back
from transpile.plan.model import Plan
from transpile.plan.query import query

#: Other functions that lay rows side by side.
LAYING = LAID | {"pad_sequence", "from_numpy", "DoubleTensor", "IntTensor", "tensor", "concatenate"}
#: Builtins that hand rows on as they are, and their number.
HANDING = frozenset({"len", "list", "tuple", "zip", "enumerate", "iter", "tqdm"})
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
        return handed_to(plan, call, parent) if isinstance(call, cst.Call) else None
    if isinstance(parent, cst.CompFor):
        around = next(
            (one for one in module.source.parents(node) if isinstance(one, cst.BaseComp)), None
        )
        if around is None or parent.ifs or isinstance(around, (cst.SetComp, cst.DictComp)):
            return None
        outer = module.source.parent(around)
        if isinstance(around, cst.GeneratorExp) and not isinstance(outer, cst.Arg):
            return None
        if isinstance(outer, cst.Arg):
            call = module.source.parent(outer)
            return handed_to(plan, call, outer) if isinstance(call, cst.Call) else None
        return [one for one in plan.facts.values_of(around) if isinstance(one, Sequence)]
    if isinstance(parent, cst.Index):
        # Rows of an array by their places.
        element = module.source.parent(parent)
        base = module.source.parent(element) if element is not None else None
        taken = plan.facts.values_of(base.value) if isinstance(base, cst.Subscript) else ()
        return [] if taken and all(isinstance(one, Opaque) for one in taken) else None
    passing = (cst.Assign, cst.AnnAssign, cst.Return, cst.Yield, cst.Element, cst.AssignTarget)
    return [] if isinstance(parent, passing) else None


def handed_to(plan: Plan, call: cst.Call, argument: cst.Arg) -> list[Value] | None:
    """What a call makes of rows that it is given; None where it may do something with them."""
    made = plan.facts.values_of(call)
    callees = plan.facts.values_of(call.func)
    names = {one.name.rpartition(".")[2] for one in callees if isinstance(one, External)}
    names |= {name.rpartition(".")[2] for one in made for name in called_names(one)}
    if names & LAYING:
        return []
    if callees and not any(isinstance(one, (External, Opaque)) for one in callees):
        # Code of the project, whose own uses are looked at.
        return []
    if names & HANDING and len(names) == 1:
        return [one for one in made if isinstance(one, Sequence)]
    return None


def picked_one_by_one(plan: Plan, cuts: set[int]) -> str:
    """Why rows of lists are taken by the places of a batch, other than into lists; else empty.

    Args:
        plan: the plan.
        cuts: the places that are the batch, by identity.
    """
    for module in plan.facts.modules.values():
        for node in module.source.nodes_of(cst.Subscript):
            part = node.slice[0].slice
            if len(node.slice) != 1 or not isinstance(part, cst.Index):
                continue
            base = plan.facts.values_of(node.value)
            if not any(isinstance(one, (Mapping, Sequence)) for one in base):
                continue
            index = plan.facts.values_of(part.value)
            if only_constant(index) is None and is_taken_alone(module, node):
                if any(id(one) in cuts for one in walk_back(index, is_no_size)):
                    line, _ = module.source.position(module.source.span(node).start)
                    return f"{PLACES} (line {line})"
    return ""


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
