"""What the drawing of a sample writes into what outlives it."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.values import (
    BoundMethod,
    Class,
    Constant,
    External,
    Function,
    Mapping,
    Opaque,
    Value,
)
from transpile.plan.data.data_code import body_of, root_names
from transpile.plan.data.in_order.kept_places import Kept, Place, Places, paired
from transpile.plan.data.in_order.sampling import declared
from transpile.plan.data.written_rows import NOTHING
from transpile.plan.graph import called_names
from transpile.records import dataclass

#: Methods that put something into a container, or change its order.
FILLING = frozenset(
    {
        "append", "appendleft", "add", "update", "extend", "extendleft", "insert", "setdefault",
        "subtract", "sort", "reverse", "rotate", "put", "__setitem__",
    }
)  # fmt: skip
#: Those that are given a key and what is kept under it.
KEYED = frozenset({"setdefault", "__setitem__"})
#: Methods that take something out of a container, or move it to its end.
REMOVING = frozenset({"pop", "popitem", "popleft", "remove", "discard", "clear", "move_to_end"})
#: Methods that write the whole of what they are called on.
WHOLE = frozenset({"clear", "fill_", "zero_", "copy_", "fill"})
#: Functions that change their first argument.
CHANGING = frozenset(
    {
        "heapq.heappush", "heapq.heappushpop", "heapq.heapreplace", "bisect.insort",
        "bisect.insort_left", "bisect.insort_right", "operator.setitem", "numpy.copyto",
        "numpy.put", "random.shuffle", "numpy.random.shuffle",
    }
)  # fmt: skip
#: Libraries whose functions give arrays.
ARRAYS = ("torch.", "numpy.", "paddle.", "mxnet.")


@dataclass(frozen=True, eq=False)
class Write:
    """One place in the code that changes what outlives it.

    Args:
        function: the function that it stands in.
        node: what changes it.
        kept: what is changed.
        value: what is put there; None where that is computed from what was there.
        removes: it only takes something out.
        receiver: the expression that stands for what is changed.
    """

    function: Function
    node: cst.CSTNode
    kept: Kept
    value: cst.BaseExpression | None
    removes: bool = False
    receiver: cst.CSTNode | None = None


def writes(places: Places) -> Iterator[Write]:
    """All that some code changes of what outlives it."""
    for function, node in places.reads.nodes:
        if isinstance(node, cst.Assign):
            for each in node.targets:
                for target, value, whole in paired(each.target, node.value):
                    yield from stored(places, function, node, target, value if whole else None)
        elif isinstance(node, cst.AnnAssign) and node.value is not None:
            yield from stored(places, function, node, node.target, node.value)
        elif isinstance(node, cst.AugAssign):
            yield from stored(places, function, node, node.target, None)
        elif isinstance(node, cst.Del):
            targets = node.target.elements if isinstance(node.target, cst.Tuple) else (node.target,)
            for one in targets:
                entry = one.value if isinstance(one, cst.Element) else one
                if isinstance(entry, cst.Subscript) and (kept := places.of(function, entry)):
                    yield Write(function, node, kept, None, removes=True, receiver=entry)
        elif isinstance(node, cst.Call):
            yield from called(places, function, node)
        elif isinstance(node, cst.Subscript) and (kept := made_by_looking(places, function, node)):
            yield Write(function, node, kept, None, receiver=node.value)


def stored(
    places: Places,
    function: Function,
    node: cst.CSTNode,
    target: cst.BaseExpression,
    value: cst.BaseExpression | None,
) -> Iterator[Write]:
    """What a statement puts into a target."""
    if isinstance(target, cst.Name):
        if target.value not in declared(function):
            kept = places.of(function, target) if isinstance(node, cst.AugAssign) else None
            if kept is not None and is_array(places, function, target):
                yield Write(function, node, kept, None, receiver=target)
            return
        place = Place(target.value, frozenset((id(function.module),)))
        yield Write(function, node, Kept(place), value, receiver=target)
        return
    if isinstance(target, cst.Subscript) and is_whole(target):
        kept = places.of(function, target.value)
    elif isinstance(target, (cst.Attribute, cst.Subscript)):
        kept = places.of(function, target)
    else:
        return
    if kept is not None:
        yield Write(function, node, kept, value, receiver=target)


def is_array(places: Places, function: Function, name: cst.Name) -> bool:
    """Whether a name stands for a part of an array, which operators change in its place."""
    bound = places.names_of(function).bound.get(name.value, ())
    values = tuple(v for one in bound if one is not None for v in places.plan.facts.values_of(one))
    return any(root.startswith(ARRAYS) for value in values for root in root_names(value))


def called(places: Places, function: Function, node: cst.Call) -> Iterator[Write]:
    """What a call changes."""
    values = places.plan.facts.values_of(node.func)
    names = {value.name for value in values if isinstance(value, External)}
    if "builtins.setattr" in names and len(node.args) == 3:
        word = node.args[1].value
        found = places.plan.facts.values_of(word)
        if len(found) == 1 and isinstance(found[0], Constant):
            attribute = cst.Attribute(node.args[0].value, cst.Name(str(found[0].value)))
            kept = places.attribute(function, attribute, (), 8)
            if kept is not None:
                yield Write(function, node, kept, node.args[2].value, receiver=node)
        return
    if names & CHANGING and node.args:
        kept = places.of(function, node.args[0].value)
        if kept is not None:
            yield Write(function, node, kept, None, receiver=node.args[0].value)
        return
    if not isinstance(node.func, cst.Attribute):
        return
    method = node.func.attr.value
    in_place = method.endswith("_") and not method.endswith("__") and method not in NOTHING
    if method not in FILLING | REMOVING and not in_place:
        return
    if names or any(isinstance(value, (BoundMethod, Function)) for value in values):
        return
    kept = places.of(function, node.func.value)
    if kept is None:
        return
    receiver = node.func.value
    if method in KEYED and len(node.args) == 2:
        entry = Kept(kept.place, (*kept.keys, node.args[0].value))
        yield Write(function, node, entry, node.args[1].value, receiver=receiver)
    elif method in WHOLE and not kept.keys:
        yield Write(function, node, kept, node.args[0].value if node.args else None,
                    removes=not node.args, receiver=receiver)  # fmt: skip
    else:
        yield Write(function, node, kept, None, removes=method in REMOVING, receiver=receiver)


def made_by_looking(places: Places, function: Function, node: cst.Subscript) -> Kept | None:
    """The entry that a dict makes by itself where it is looked up, unless all are alike."""
    if isinstance(places.parent(function, node), (cst.AssignTarget, cst.Del)):
        return None
    for value in places.plan.facts.values_of(node.value):
        factory = value.factory if isinstance(value, Mapping) else ()
        if "collections.defaultdict" in called_names(value) and isinstance(value, Opaque):
            factory = tuple(one for item in value.arguments.items[:1] for one in item.values)
        if any(gives_others(places, one) for one in factory):
            return places.of(function, node)
    return None


def gives_others(places: Places, value: Value) -> bool:
    """Whether what makes the entries of a dict may give another one each time."""
    if isinstance(value, External):
        return not value.name.startswith(("builtins.", "collections."))
    if isinstance(value, Class):
        return False
    if not isinstance(value, Function):
        return not isinstance(value, Constant)
    names = (part for part in body_of(value) if isinstance(part, cst.Name))
    return any(
        not isinstance(one, (External, Constant))
        for name in names
        for one in places.plan.facts.values_of(name)
    )


def is_whole(target: cst.Subscript) -> bool:
    """Whether all of an array is written: ``rows[:]``, ``rows[...]``."""
    part = target.slice[0].slice if len(target.slice) == 1 else None
    if isinstance(part, cst.Slice):
        return part.lower is None and part.upper is None
    return isinstance(part, cst.Index) and isinstance(part.value, cst.Ellipsis)
