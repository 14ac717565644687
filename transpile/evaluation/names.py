"""Which names carry something from one round of a loop to the next, or out of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import libcst as cst

from transpile.facts.module import Module
from transpile.facts.walk import children, descendants
from transpile.plan.flow.places import function_of

from .model import Obstacle

COMPREHENSIONS = (cst.ListComp, cst.SetComp, cst.DictComp, cst.GeneratorExp)
SCOPES = (cst.FunctionDef, cst.Lambda)
EXITS = (cst.Return, cst.Raise, cst.Break, cst.Continue)


class Reads:
    """Follows statements and notes names that may be read before they are bound.

    Args:
        watched: the names that matter.
    """

    def __init__(self, watched: Iterable[str]) -> None:
        self.watched = frozenset(watched)
        self.early: dict[str, cst.CSTNode] = {}

    def statements(
        self, statements: Iterable[cst.CSTNode], bound: frozenset[str]
    ) -> frozenset[str] | None:
        """The names that are bound after statements; None where control does not get there."""
        known: frozenset[str] | None = bound
        for statement in statements:
            if known is None:
                return None
            known = self.statement(statement, known)
        return known

    def statement(self, statement: cst.CSTNode, bound: frozenset[str]) -> frozenset[str] | None:
        """The same for one statement."""
        if isinstance(statement, cst.SimpleStatementLine | cst.SimpleStatementSuite):
            for small in statement.body:
                if isinstance(small, EXITS):
                    self.expression(small, bound)
                    return None
                bound = self.small(small, bound)
            return bound
        if isinstance(statement, cst.IndentedBlock):
            return self.statements(statement.body, bound)
        if isinstance(statement, cst.If):
            bound = self.expression(statement.test, bound)
            then = self.statement(statement.body, bound)
            otherwise: frozenset[str] | None = bound
            if isinstance(statement.orelse, cst.If):
                otherwise = self.statement(statement.orelse, bound)
            elif statement.orelse is not None:
                otherwise = self.statement(statement.orelse.body, bound)
            return met(then, otherwise)
        if isinstance(statement, cst.For):
            bound = self.expression(statement.iter, bound)
            self.statement(statement.body, self.target(statement.target, bound))
            if statement.orelse is not None:
                self.statement(statement.orelse.body, bound)
            return bound
        if isinstance(statement, cst.While):
            bound = self.expression(statement.test, bound)
            self.statement(statement.body, bound)
            if statement.orelse is not None:
                self.statement(statement.orelse.body, bound)
            return bound
        if isinstance(statement, cst.With):
            for item in statement.items:
                bound = self.expression(item.item, bound)
                if item.asname is not None:
                    bound = self.target(item.asname.name, bound)
            return self.statement(statement.body, bound)
        if isinstance(statement, cst.Try):
            self.statement(statement.body, bound)
            for handler in statement.handlers:
                self.statement(handler.body, bound)
            for rest in (statement.orelse, statement.finalbody):
                if rest is not None:
                    self.statement(rest.body, bound)
            return bound
        if isinstance(statement, cst.FunctionDef | cst.ClassDef):
            return bound | {statement.name.value}
        for inner in descendants(statement):
            if isinstance(inner, cst.Name):
                self.read(inner, bound)
        return bound

    def small(self, small: cst.CSTNode, bound: frozenset[str]) -> frozenset[str]:
        """The names that are bound after a statement within a line."""
        if isinstance(small, cst.Assign):
            bound = self.expression(small.value, bound)
            for target in small.targets:
                bound = self.target(target.target, bound)
            return bound
        if isinstance(small, cst.AnnAssign):
            if small.value is None:
                return bound
            return self.target(small.target, self.expression(small.value, bound))
        if isinstance(small, cst.AugAssign):
            bound = self.expression(small.value, self.expression(small.target, bound))
            return self.target(small.target, bound)
        if isinstance(small, cst.Import | cst.ImportFrom):
            return bound | bound_names(small)
        if isinstance(small, cst.Del):
            # A name that is gone is as good as one that is bound: nothing of it is read later.
            return bound | frozenset(
                node.value for node in descendants(small.target) if isinstance(node, cst.Name)
            )
        if isinstance(small, cst.Global | cst.Nonlocal):
            return bound
        return self.expression(small, bound)

    def target(self, target: cst.CSTNode, bound: frozenset[str]) -> frozenset[str]:
        """The names that are bound once a target is assigned to."""
        if isinstance(target, cst.Name):
            return bound | {target.value}
        if isinstance(target, cst.Tuple | cst.List):
            for element in target.elements:
                bound = self.target(element.value, bound)
            return bound
        return self.expression(target, bound)

    def expression(self, node: cst.CSTNode, bound: frozenset[str]) -> frozenset[str]:
        """The names that are bound once an expression is evaluated."""
        if isinstance(node, cst.Name):
            self.read(node, bound)
            return bound
        if isinstance(node, cst.NamedExpr):
            return self.target(node.target, self.expression(node.value, bound))
        if isinstance(node, cst.Attribute):
            return self.expression(node.value, bound)
        if isinstance(node, cst.Arg):
            return self.expression(node.value, bound)
        if isinstance(node, COMPREHENSIONS):
            inner = self.comprehension(node.for_in, bound)
            parts = (node.key, node.value) if isinstance(node, cst.DictComp) else (node.elt,)
            for part in parts:
                self.expression(part, inner)
            return bound
        if isinstance(node, cst.Lambda):
            self.expression(node.body, bound | parameters(node))
            return bound
        for child in children(node):
            bound = self.expression(child, bound)
        return bound

    def comprehension(self, part: cst.CompFor, bound: frozenset[str]) -> frozenset[str]:
        """The names that are bound inside a comprehension."""
        self.expression(part.iter, bound)
        bound = self.target(part.target, bound)
        for test in part.ifs:
            self.expression(test.test, bound)
        if part.inner_for_in is not None:
            return self.comprehension(part.inner_for_in, bound)
        return bound

    def read(self, node: cst.Name, bound: frozenset[str]) -> None:
        """Note a name that is read."""
        if node.value in self.watched and node.value not in bound:
            self.early.setdefault(node.value, node)


def parameters(function: cst.CSTNode) -> frozenset[str]:
    """The names of the parameters of a function, and of functions inside it."""
    return frozenset(
        inner.name.value for inner in descendants(function) if isinstance(inner, cst.Param)
    )


def met(first: frozenset[str] | None, second: frozenset[str] | None) -> frozenset[str] | None:
    """What is bound after either of two ways."""
    if first is None or second is None:
        return second if first is None else first
    return first & second


def bound_names(node: cst.CSTNode) -> frozenset[str]:
    """The names that a statement binds anywhere in it, comprehensions and functions left out."""
    found: set[str] = set()
    stack = [node]
    while stack:
        one = stack.pop()
        if isinstance(one, cst.FunctionDef | cst.ClassDef):
            found.add(one.name.value)
            continue
        if isinstance(one, (cst.Lambda, *COMPREHENSIONS)):
            continue
        if isinstance(one, cst.AssignTarget | cst.AnnAssign | cst.AugAssign | cst.NamedExpr):
            found.update(target_names(one.target))
        elif isinstance(one, cst.For):
            found.update(target_names(one.target))
        elif isinstance(one, cst.AsName):
            found.update(target_names(one.name))
        elif isinstance(one, cst.ImportAlias) and one.asname is None:
            first = one.name
            while isinstance(first, cst.Attribute):
                first = first.value  # type: ignore[assignment]
            found.update(target_names(first))
        stack.extend(children(one))
    return frozenset(found)


def target_names(target: cst.CSTNode) -> Iterator[str]:
    """The names in a target."""
    if isinstance(target, cst.Name):
        yield target.value
    elif isinstance(target, cst.Tuple | cst.List):
        for element in target.elements:
            yield from target_names(element.value)


def check_names(module: Module, loop: cst.For, totals: frozenset[str]) -> None:
    """Make sure that a loop hands on nothing but its totals.

    Args:
        module: where the loop stands.
        loop: the loop.
        totals: the names that it adds to.

    Raises:
        Obstacle: it hands on something else.
    """
    own = bound_names(loop) - totals
    inside = carried(loop, own)
    for name, node in inside.items():
        raise Obstacle(node, f"'{name}' is carried from one batch to the next")
    function = function_of(module, loop)
    declared = declared_elsewhere(function) if function is not None else frozenset()
    for name in sorted((own | totals) & declared):
        raise Obstacle(loop, f"'{name}' belongs to code outside of this function")
    for name, node in read_after(module, loop, own, function).items():
        raise Obstacle(node, f"'{name}' of the last batch is used after the loop")


def carried(loop: cst.For, names: Iterable[str]) -> dict[str, cst.CSTNode]:
    """The names that a round of a loop may read before it binds them, to where it does."""
    reads = Reads(names)
    reads.statement(loop.body, reads.target(loop.target, frozenset()))
    return reads.early


def declared_elsewhere(function: cst.CSTNode) -> frozenset[str]:
    """The names that a function declares global or nonlocal."""
    return frozenset(
        item.name.value
        for node in descendants(function)
        if isinstance(node, cst.Global | cst.Nonlocal)
        for item in node.names
    )


def read_after(
    module: Module, loop: cst.For, names: frozenset[str], function: cst.CSTNode | None
) -> dict[str, cst.CSTNode]:
    """The names that may be read after a loop with what it has bound, to where they are."""
    reads = Reads(names)
    bound: frozenset[str] | None = frozenset()
    inner: cst.CSTNode = loop
    for outer in module.source.parents(loop):
        if isinstance(outer, cst.IndentedBlock | cst.Module) and bound is not None:
            bound = reads.statements(following(outer.body, inner), bound)
        elif isinstance(outer, cst.For | cst.While):
            start = bound or frozenset()
            if isinstance(outer, cst.For):
                start = reads.target(outer.target, start)
            else:
                reads.expression(outer.test, start)
            reads.statement(outer.body, start)
            bound = start if bound is None else bound
        elif isinstance(outer, cst.Try):
            for part in (*outer.handlers, outer.orelse, outer.finalbody):
                if part is not None:
                    reads.statement(part.body, bound or frozenset())
        if outer is function:
            break
        inner = outer
    for scope in module.source.nodes:
        if not isinstance(scope, SCOPES) or scope is function:
            continue
        if names_of_scope(module, scope, function):
            # Functions within the same scope may look at its names at any time.
            hidden = local_names(scope)
            for node in descendants(scope):
                if isinstance(node, cst.Name) and node.value in names - hidden:
                    if not is_label(module, node):
                        reads.early.setdefault(node.value, node)
    return reads.early


def following(statements: Sequence[cst.CSTNode], node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The statements of a block behind one of them."""
    found = False
    for statement in statements:
        if found:
            yield statement
        found = found or statement is node


def names_of_scope(module: Module, node: cst.CSTNode, function: cst.CSTNode | None) -> bool:
    """Whether a function stands in the scope of another one, or of the module."""
    return function is None or any(outer is function for outer in module.source.parents(node))


def local_names(node: cst.CSTNode) -> frozenset[str]:
    """The names that are a function's own: its parameters and what it binds."""
    found = set(parameters(node))
    for inner in descendants(node):
        if isinstance(inner, COMPREHENSIONS):
            part: cst.CompFor | None = inner.for_in
            while part is not None:
                found.update(target_names(part.target))
                part = part.inner_for_in
    if isinstance(node, cst.FunctionDef | cst.ClassDef):
        found |= bound_names(node.body) - declared_elsewhere(node)
    return frozenset(found)


def is_label(module: Module, node: cst.Name) -> bool:
    """Whether a name is an attribute's or a keyword's, and no variable's."""
    parent = module.source.parent(node)
    if isinstance(parent, cst.Attribute):
        return parent.attr is node
    return isinstance(parent, cst.Arg) and parent.keyword is node
