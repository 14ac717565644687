"""On what conditions names are bound, places are reached and calls return."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Branch, Call, Event, Loop
from transpile.facts.module import Module
from transpile.facts.walk import children, descendants
from transpile.plan.flow.places import ancestors, function_of, start
from transpile.records import dataclass, field

Binding = tuple[cst.CSTNode, cst.CSTNode | None]


@dataclass(eq=False)
class Names:
    """What one function, or a module, says of names.

    Args:
        bound: the names that it binds by assignments.
        declared: those that belong to a scope around it.
        parameters: those of its parameters.
    """

    bound: dict[str, list[Binding]] = field(default_factory=dict)
    declared: set[str] = field(default_factory=set)
    parameters: set[str] = field(default_factory=set)

    def bind(self, target: cst.CSTNode, statement: cst.CSTNode, value: cst.CSTNode | None) -> None:
        """Note an assignment."""
        if isinstance(target, cst.Name):
            self.bound.setdefault(target.value, []).append((statement, value))
        elif isinstance(target, (cst.Tuple, cst.List)):
            for element in target.elements:
                self.bind(element.value, statement, value)


class Bindings:
    """Finds where names are bound; each scope is looked through once."""

    def __init__(self) -> None:
        self.scopes: dict[int, Names] = {}
        self.functions: dict[int, list[cst.CSTNode]] = {}

    def of(self, module: Module, node: cst.Name) -> list[Binding]:
        """The statements that bind a name in its scope, with the expressions that they give it."""
        name = node.value
        function: cst.CSTNode | None = function_of(module, node)
        while function is not None:
            scope = self.scope(function)
            if name in scope.declared:
                break
            if name in scope.bound:
                own = function is function_of(module, node)
                found = scope.bound[name]
                return [b for b in found if not own or may_reach(module, b[0], node)]
            if name in scope.parameters:
                return []
            function = function_of(module, function)
        top = function_of(module, node) is None
        found = [
            binding
            for binding in self.scope(module.source.tree).bound.get(name, ())
            if not top or may_reach(module, binding[0], node)
        ]
        for other in self.functions_of(module):
            if name in self.scope(other).declared:
                found.extend(self.scope(other).bound.get(name, ()))
        return found

    def is_local(self, module: Module, node: cst.Name) -> bool:
        """Whether a name belongs to a call of the function that it is read in."""
        function = function_of(module, node)
        if function is None:
            return False
        scope = self.scope(function)
        return node.value in scope.bound and node.value not in scope.declared

    def counted(self, module: Module, node: cst.CSTNode) -> frozenset[int]:
        """The statements by which a function changes the names of its calls, as ``n += 1``."""
        function = function_of(module, node)
        scope = self.scope(function) if function is not None else Names()
        return frozenset(
            id(statement)
            for name, bindings in scope.bound.items()
            for statement, _ in bindings
            if name not in scope.declared and isinstance(statement, cst.AugAssign)
        )

    def live(self, module: Module, node: cst.Name) -> list[tuple[Binding, bool]]:
        """The bindings of a name that may be the last ones where it is read.

        With each comes whether whoever reads the name there has surely come by it: then the name
        was bound before, on whatever way, in vain.
        """
        found = self.of(module, node)
        sure = [binding for binding in found if comes_by(module, binding, node)]
        if not sure:
            return [(binding, False) for binding in found]
        last = max(sure, key=lambda binding: start(module, binding[0]))
        behind = start(module, last[0])
        block = module.source.parent(module.source.parent(last[0]))  # type: ignore[arg-type]
        end = next(one for one in ancestors(module, node) if module.source.parent(one) is block)
        until = module.source.span(end).end
        return [
            (last, True),
            *((one, False) for one in found if behind < start(module, one[0]) < until),
        ]

    def functions_of(self, module: Module) -> list[cst.CSTNode]:
        """The functions of a module."""
        known = self.functions.get(id(module))
        if known is None:
            known = list(module.source.nodes_of(cst.FunctionDef))
            self.functions[id(module)] = known
        return known

    def scope(self, owner: cst.CSTNode) -> Names:
        """What a function or a module says of names."""
        known = self.scopes.get(id(owner))
        if known is None:
            known = self.scopes[id(owner)] = read_names(owner)
        return known

    def carried(
        self, module: Module, node: cst.CSTNode
    ) -> Iterator[tuple[cst.BaseExpression, int | None]]:
        """What a loop gives to a name in its own condition, for the rounds behind the first.

        With it comes which part of that it is, where it is unpacked.
        """
        if not isinstance(node, cst.Name):
            return
        inner: cst.CSTNode = node
        for outer in ancestors(module, node):
            if isinstance(outer, cst.While) and inner is outer.test:
                for statement, value in self.of(module, node):
                    if isinstance(value, cst.BaseExpression):
                        if any(around is outer for around in ancestors(module, statement)):
                            yield value, unpacked_at(statement, node.value)
            if isinstance(outer, (cst.SimpleStatementLine, cst.BaseCompoundStatement)):
                return
            inner = outer


def comes_by(module: Module, binding: Binding, node: cst.Name) -> bool:
    """Whether whoever reads a name has come by a statement that binds it anew in this round.

    It stands before, in one of the blocks around the place where the name is read.
    """
    statement, value = binding
    line = module.source.parent(statement)
    if not isinstance(statement, cst.Assign) or not isinstance(line, cst.SimpleStatementLine):
        return False
    if value is None or start(module, statement) >= start(module, node):
        return False
    if any(isinstance(o, cst.Name) and o.value == node.value for o in descendants(value)):
        return False
    block = module.source.parent(line)
    for outer in ancestors(module, node):
        if outer is block:
            return True
        if isinstance(outer, (cst.FunctionDef, cst.Lambda, cst.ClassDef)):
            return False
    return False


def unpacked_at(statement: cst.CSTNode, name: str) -> int | None:
    """At which place of what is assigned a name stands; None where it is given all of that."""
    lines = statement.body if isinstance(statement, cst.SimpleStatementLine) else (statement,)
    for line in lines:
        for target in line.targets if isinstance(line, cst.Assign) else ():
            if isinstance(target.target, (cst.Tuple, cst.List)):
                for place, element in enumerate(target.target.elements):
                    if isinstance(element.value, cst.Name) and element.value.value == name:
                        return place
    return None


ELSEWHERE = frozenset({cst.FunctionDef, cst.ClassDef, cst.Lambda})
LEAVING = frozenset({cst.Break, cst.Continue})
LOOPS = frozenset({cst.For, cst.While})


def read_names(owner: cst.CSTNode) -> Names:
    """The names of a function or a module."""
    found = Names()
    if isinstance(owner, cst.FunctionDef):
        parameters = owner.params
        found.parameters = {
            parameter.name.value
            for parameter in (
                *parameters.posonly_params,
                *parameters.params,
                *parameters.kwonly_params,
            )
        }
    body = owner.body  # type: ignore[attr-defined]
    stack: list[cst.CSTNode] = list(body) if isinstance(body, (list, tuple)) else [body]
    while stack:
        node = stack.pop()
        kind = type(node)
        if kind in ELSEWHERE:
            continue
        if kind is cst.Assign:
            for target in node.targets:  # type: ignore[attr-defined]
                found.bind(target.target, node, node.value)  # type: ignore[attr-defined]
        elif kind in (cst.AnnAssign, cst.AugAssign, cst.NamedExpr):
            if node.value is not None:  # type: ignore[attr-defined]
                found.bind(node.target, node, node.value)  # type: ignore[attr-defined]
        elif kind in (cst.Global, cst.Nonlocal):
            found.declared.update(item.name.value for item in node.names)  # type: ignore[attr-defined]
        stack.extend(children(node))
    return found


def may_reach(module: Module, statement: cst.CSTNode, use: cst.CSTNode) -> bool:
    """Whether a name that a statement binds may be what is read at a place of the same function.

    What stands behind it comes there in a loop around both alone.
    """
    if start(module, statement) < start(module, use):
        return True
    around = {id(outer) for outer in ancestors(module, use) if type(outer) in LOOPS}
    return any(id(outer) in around for outer in ancestors(module, statement))


def choices(value: cst.CSTNode | None) -> Iterator[cst.CSTNode]:
    """The conditions by which an expression chooses between values."""
    if isinstance(value, cst.BaseExpression):
        for node in descendants(value):
            if isinstance(node, cst.IfExp):
                yield node.test


def assigned(event: Event) -> cst.BaseExpression | None:
    """What an attribute or an item is set to, as it is written."""
    for outer in event.module.source.parents(event.node):
        if isinstance(outer, (cst.Assign, cst.AugAssign)):
            return outer.value
        if isinstance(outer, cst.AnnAssign):
            return outer.value
        if isinstance(outer, (cst.SimpleStatementLine, cst.BaseCompoundStatement)):
            return None
    return None


def controls_of(event: Event, *, returns: bool = True) -> Iterator[tuple[Module, cst.CSTNode]]:
    """The conditions on which an event happens, those of the calls around it included."""
    for test in controls(event.module, event.node, returns=returns):
        yield event.module, test
    for frame in event.stack:
        if isinstance(frame, Call) and frame.node is not None:
            for test in controls(frame.module, frame.node):
                yield frame.module, test


def controls(module: Module, node: cst.CSTNode, *, returns: bool = True) -> Iterator[cst.CSTNode]:
    """The conditions on which a place in the text is reached, within its function.

    Args:
        module: its module.
        node: the place.
        returns: those that end the function count, too; who asks in it has passed them.
    """
    inner = node
    for outer in ancestors(module, node):
        if isinstance(outer, (cst.If, cst.While, cst.IfExp)) and inner is not outer.test:
            if inner is not outer:
                yield outer.test
        if isinstance(outer, (cst.IndentedBlock, cst.Module)):
            yield from leaving_before(module, outer, inner, returns=returns)
        if isinstance(outer, (cst.FunctionDef, cst.Lambda)):
            return
        inner = outer


def leaving_before(
    module: Module, block: cst.IndentedBlock | cst.Module, inner: cst.CSTNode, *, returns: bool
) -> Iterator[cst.CSTNode]:
    """The conditions on which the statements before one of a block leave it."""
    kept = module.source.answers
    key = ((leaving_before, returns), id(block))
    known = kept.get(key)
    if known is None:
        numbers = {id(statement): number for number, statement in enumerate(block.body)}
        tests = [
            (number, test)
            for number, statement in enumerate(block.body)
            for test in leaving_tests(statement, returns=returns)
        ]
        known = kept[key] = numbers, tests
    numbers, tests = known
    end = numbers.get(id(inner), len(numbers))
    yield from (test for number, test in tests if number < end)


def leaving_tests(statement: cst.CSTNode, *, returns: bool) -> Iterator[cst.CSTNode]:
    """The conditions on which a statement leaves the block that it stands in."""
    stack: list[tuple[cst.CSTNode, tuple[cst.CSTNode, ...], bool]] = [(statement, (), False)]
    while stack:
        node, tests, in_loop = stack.pop()
        kind = type(node)
        if kind in ELSEWHERE:
            continue
        if (kind is cst.Return and returns) or (kind in LEAVING and not in_loop):
            yield from tests
            continue
        if kind is cst.If:
            tests = (*tests, node.test)  # type: ignore[attr-defined]
        if kind in LOOPS:
            in_loop = True
        if issubclass(kind, cst.BaseExpression):
            continue
        stack.extend((child, tests, in_loop) for child in children(node))


def tests_in_call(event: Event, call: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The conditions on which a return inside a call happens."""
    inside = False
    for frame in event.stack:
        if isinstance(frame, Call) and frame.node is call:
            inside = True
        elif inside and isinstance(frame, Branch) and isinstance(frame.node, (cst.If, cst.IfExp)):
            yield frame.node.test
        elif inside and isinstance(frame, Loop) and isinstance(frame.node, cst.While):
            yield frame.node.test
