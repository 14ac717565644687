"""What decides where containers and tables are written, and whether they are: often the samples."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Call, Event
from transpile.facts.module import Module
from transpile.facts.values import External, Mapping, Opaque, Sequence, Value, Values
from transpile.plan.flow.conditions import assigned, controls
from transpile.plan.graph import called_names, walk_back
from transpile.plan.model import Plan
from transpile.plan.query import query
from transpile.records import dataclass

COUNTED = "the samples of this process alone decide what is put into it"

#: Methods of sets and counters that put each of what they are given in its own place.
PLACING = frozenset({"add", "discard", "remove", "subtract", "update"})
#: Methods of lists and queues that put what they are given behind the rest.
GROWING = frozenset(
    {"add", "append", "appendleft", "extend", "extendleft", "insert", "put", "push"}
)
#: Methods that take entries out of what the script itself has made.
TAKING = frozenset({"__delitem__", "clear", "discard", "pop", "popitem", "popleft", "remove"})
#: Methods that take over all entries of another container.
TAKING_OVER = frozenset({"extend", "extendleft", "update"})
#: Functions that give a container of the entries of another one.
COPIERS = tuple(
    External(f"builtins.{word}") for word in ("list", "tuple", "set", "sorted", "reversed")
)
#: Makers of containers, besides displays and comprehensions.
MAKERS = ("collections.", "builtins.set", "builtins.list", "builtins.dict", "queue.")
#: Functions that write at places of their first argument.
WRITERS = frozenset(
    {"numpy.add.at", "numpy.subtract.at", "numpy.maximum.at", "numpy.put", "numpy.put_along_axis"}
)


@dataclass(frozen=True, eq=False)
class Placed:
    """Something that is put into a container or an array.

    Args:
        by: what decides where it is put, or whether it is.
        line: the line that does it.
    """

    by: Values
    line: int


@query
def places(plan: Plan) -> dict[int, list[Placed]]:
    """What is put into each container or array, by its identity."""
    found: dict[int, list[Placed]] = {}
    for event in plan.facts.events:
        for cell, by in written(plan, event):
            if by:
                source = event.module.source
                line, _ = source.position(source.span(event.node).start)
                found.setdefault(id(cell), []).append(Placed(by, line))
    for cell, placed in picked(plan):
        found.setdefault(id(cell), []).append(placed)
    return handed_on(found, list(taken_over(plan))) if found else found


def handed_on(
    found: dict[int, list[Placed]], pairs: list[tuple[Value, Values]]
) -> dict[int, list[Placed]]:
    """The same, and for what takes over all entries of a container, what decides on those."""
    grows = True
    while grows:
        grows = False
        for cell, given in pairs:
            known = found.get(id(cell), [])
            new = [
                placed
                for one in given
                if one is not cell
                for placed in found.get(id(one), ())
                if not any(placed is other for other in known)
            ]
            if new:
                found[id(cell)] = [*known, *new]
                grows = True
    return found


def taken_over(plan: Plan) -> Iterator[tuple[Value, Values]]:
    """Containers, each with others whose entries it takes: ``+``, ``extend``, ``list``, slices."""
    for event in plan.facts.events:
        given = tuple(value for item in event.arguments.items for value in item.values)
        if event.kind == "operate" and event.name == "extend":
            yield from ((cell, event.result) for cell in event.callee)
        for callee in event.callee if event.kind == "call" else ():
            if isinstance(callee, Opaque) and callee.name in TAKING_OVER and callee.operands:
                yield from ((cell, given) for cell in callee.operands[0])
    for module in plan.facts.modules.values():
        for addition in module.source.nodes_of(cst.BinaryOperation):
            given = tuple(
                value
                for operand in (addition.left, addition.right)
                for value in plan.facts.values_of(operand)
                if isinstance(value, Sequence)
            )
            for value in plan.facts.values_of(addition) if given else ():
                if isinstance(value, Sequence):
                    yield value, given
        for part in module.source.nodes_of(cst.Subscript):
            if any(isinstance(each.slice, cst.Slice) for each in part.slice):
                for value in plan.facts.values_of(part):
                    if isinstance(value, Sequence):
                        yield value, plan.facts.values_of(part.value)
        displays: list[cst.List | cst.Tuple | cst.Set] = [
            *module.source.nodes_of(cst.List),
            *module.source.nodes_of(cst.Tuple),
            *module.source.nodes_of(cst.Set),
        ]
        for display in displays:
            given = tuple(
                value
                for element in display.elements
                if isinstance(element, cst.StarredElement)
                for value in plan.facts.values_of(element.value)
            )
            for value in plan.facts.values_of(display) if given else ():
                yield value, given
        for call in module.source.nodes_of(cst.Call):
            if any(value in COPIERS for value in plan.facts.values_of(call.func)):
                given = tuple(
                    value for item in call.args[:1] for value in plan.facts.values_of(item.value)
                )
                for value in plan.facts.values_of(call):
                    yield value, given


def written(plan: Plan, event: Event) -> Iterator[tuple[Value, Values]]:
    """The containers that an event writes into, each with something that decides where."""
    cells: Values = ()
    deciding: list[Values] = []
    given = tuple(value for item in event.arguments.items for value in item.values)
    if event.kind == "store" and event.name == "[]" and isinstance(event.node, cst.Subscript):
        cells = event.callee
        deciding = [plan.facts.values_of(node) for node in index_nodes(event.node)]
    elif event.kind == "operate" and event.name in ("append", "extend"):
        cells = event.callee
        if any(map(is_set, cells)):
            deciding = [event.result]
    elif event.kind == "delete":
        cells, deciding = tuple(filter(is_own, event.callee)), [event.result]
    elif event.kind == "sort":
        cells, deciding = ordered(plan, event), [event.result]
    elif event.kind == "call":
        for callee in event.callee:
            if isinstance(callee, Opaque) and callee.kind == "attribute":
                if callee.name in PLACING and any(map(is_set, callee.operands[0])):
                    deciding = [given]
                if callee.name in GROWING or deciding:
                    cells = callee.operands[0]
                elif callee.name in TAKING:
                    cells, deciding = tuple(filter(is_own, callee.operands[0])), [given]
            elif isinstance(callee, External) and callee.name in WRITERS:
                cells = event.arguments.items[0].values if event.arguments.items else ()
                deciding = [given]
    cells = tuple(cell for cell in cells if is_container(cell))
    for cell in (*cells, *(value for value in event.result if is_kept_there(event, value))):
        for place in deciding:
            yield cell, place
    for cell in cells:
        if not is_array(cell):
            for test in conditions(event, cell):
                yield cell, plan.facts.values_of(test)


def ordered(plan: Plan, event: Event) -> Values:
    """The lists that something beside their entries puts in order; empty for others."""
    made = plan.facts.values_of(event.node)
    if any(isinstance(one, Opaque) for one in made):
        # One of the entries is chosen.
        return ()
    entries = [
        value
        for cell in event.callee
        if isinstance(cell, Sequence)
        for group in (*cell.elements, cell.rest)
        for value in group
    ]
    own = set(map(id, entries))
    keyed = walk_back(event.result, lambda value: id(value) not in own)
    if not any(isinstance(value, Opaque) and is_apart(value, own) for value in keyed):
        return ()
    return event.callee


def is_apart(value: Value, entries: set[int]) -> bool:
    """Whether a value comes from none of some entries."""
    return not any(id(one) in entries for one in walk_back((value,)))


def picked(plan: Plan) -> Iterator[tuple[Value, Placed]]:
    """Containers and streams that take on conditions what they go over, each with one of those."""
    for module in plan.facts.modules.values():
        for kind in (cst.GeneratorExp, cst.ListComp, cst.SetComp, cst.DictComp):
            for node in module.source.nodes_of(kind):
                line, _ = module.source.position(module.source.span(node).start)
                loop: cst.CompFor | None = node.for_in
                while loop is not None:
                    for condition in loop.ifs:
                        by = plan.facts.values_of(condition.test)
                        for cell in plan.facts.values_of(node) if by else ():
                            yield cell, Placed(by, line)
                    loop = loop.inner_for_in
        for call in module.source.nodes_of(cst.Call):
            for cell in plan.facts.values_of(call):
                if isinstance(cell, Opaque) and cell.kind == "operation" and cell.name == "filter":
                    line, _ = module.source.position(module.source.span(call).start)
                    yield cell, Placed(cell.inner, line)
        for statement in module.source.nodes_of(cst.Assign):
            if not grows(module, statement):
                continue
            line, _ = module.source.position(module.source.span(statement).start)
            for test in controls(module, statement):
                by = plan.facts.values_of(test)
                for cell in plan.facts.values_of(statement.value) if by else ():
                    if isinstance(cell, Sequence):
                        yield cell, Placed(by, line)


def grows(module: Module, statement: cst.Assign) -> bool:
    """Whether a list takes the place of itself and more: ``w = [*w, x]``, ``w = w + [x]``."""
    value = statement.value
    parts: list[cst.BaseExpression] = []
    if isinstance(value, cst.BinaryOperation) and isinstance(value.operator, cst.Add):
        parts = [value.left, value.right]
    elif isinstance(value, (cst.List, cst.Tuple, cst.Set)):
        parts = [one.value for one in value.elements if isinstance(one, cst.StarredElement)]
    code = module.source.code
    names = {code(each.target) for each in statement.targets}
    return any(code(part) in names for part in parts)


def conditions(event: Event, cell: Value) -> Iterator[cst.CSTNode]:
    """The conditions on which an event happens to a container that was made before them."""
    yield from controls(event.module, event.node)
    for frame in reversed(event.stack):
        if isinstance(frame, Call) and frame.node is not None:
            if is_within(cell, frame):
                return
            yield from controls(frame.module, frame.node)


def is_within(cell: Value, call: Call) -> bool:
    """Whether a container is made in the function that is called."""
    source = call.function.module.source
    node = getattr(cell, "node", None)
    if node is None or not source.has(node):
        return False
    return any(around is call.function.node for around in source.parents(node))


def made_within(event: Event, cell: Value, loops: set[int]) -> bool:
    """Whether a container that an event writes into is made in one of some loops, round by round.

    Args:
        event: what writes into it.
        cell: the container.
        loops: the loops, by the identity of their node.
    """
    source, node = event.module.source, getattr(cell, "node", None)
    if node is None or not source.has(node):
        return False
    return any(id(around) in loops for around in source.parents(node))


def is_kept_there(event: Event, value: Value) -> bool:
    """Whether a number is computed for the place that it is stored in alone, as by ``+=``."""
    return (
        event.kind == "store"
        and isinstance(value, Opaque)
        and value.kind == "operation"
        and (isinstance(value.node, cst.AugAssign) or value.node is assigned(event))
    )


def is_container(value: Value) -> bool:
    """Whether a value is a container, or something that the script writes into by index."""
    return isinstance(value, (Sequence, Mapping, Opaque))


def is_own(value: Value) -> bool:
    """Whether a value is a container that the script has made and fills."""
    return isinstance(value, (Sequence, Mapping)) or made_as_container(value)


def is_array(value: Value) -> bool:
    """Whether a value may be a tensor or an array, into which numbers are written."""
    return isinstance(value, Opaque) and not made_as_container(value)


def is_set(value: Value) -> bool:
    """Whether a value is a set, a dict or a counter."""
    if isinstance(value, Sequence):
        return value.kind == "set"
    return isinstance(value, Mapping) or made_as_container(value)


def made_as_container(value: Value) -> bool:
    """Whether a value is a container that a library has made."""
    return any(name.startswith(MAKERS) for name in called_names(value))


def index_nodes(node: cst.Subscript) -> Iterator[cst.BaseExpression]:
    """The expressions between the brackets."""
    for element in node.slice:
        if isinstance(element.slice, cst.Index):
            yield element.slice.value
        elif isinstance(element.slice, cst.Slice):
            for bound in (element.slice.lower, element.slice.upper, element.slice.step):
                if bound is not None:
                    yield bound
