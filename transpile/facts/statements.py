"""Execution of statements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import libcst as cst

from transpile.facts.calls import Calls
from transpile.facts.events import Branch, Loop, Within
from transpile.facts.state import truth, unknown
from transpile.facts.values import (
    Arguments,
    Class,
    Constant,
    External,
    Function,
    Generator,
    Instance,
    Mapping,
    ModuleValue,
    Opaque,
    Scope,
    Sequence,
    Unknown,
    Value,
    Values,
    join,
)
from transpile.facts.walk import children

#: Passes over a loop's body: the second sees what the first carried round.
LOOP_PASSES = 3


class Statements(Calls):
    """The part of the interpreter that knows statements."""

    def execute_body(self, body: cst.CSTNode) -> bool:
        """Run a suite; whether control may leave it at its end."""
        self.executed.add(id(body))
        if isinstance(body, cst.SimpleStatementSuite):
            return self.execute_small(body.body)
        statements = body.body  # type: ignore[attr-defined]
        for statement in statements:
            if not self.execute(statement):
                return False
        return True

    def execute(self, statement: cst.CSTNode) -> bool:
        """Run one statement; whether control goes on behind it."""
        if isinstance(statement, cst.SimpleStatementLine):
            return self.execute_small(statement.body)
        handler = COMPOUND.get(type(statement))
        if handler is None:
            self.unfollowed.append((self.module, statement, type(statement).__name__))
            return True
        return handler(self, statement)

    def execute_small(self, smalls: Any) -> bool:
        """Run the small statements of one line."""
        for small in smalls:
            kind = type(small)
            if kind in EXITS:
                if isinstance(small, cst.Return):
                    values = (
                        self.evaluate(small.value) if small.value is not None else (Constant(None),)
                    )
                    self.activation.returns = join(self.activation.returns, values)
                elif isinstance(small, cst.Raise) and small.exc is not None:
                    self.evaluate(small.exc)
                elif self.activation.loop_exits:
                    self.activation.loop_exits[-1].append(dict(self.activation.scope.names))
                self.record("exit", small, (), name=EXITS[kind])
                return False
            handler = SMALL.get(kind)
            if handler is not None:
                handler(self, small)
        return True

    # Small statements.

    def expression_statement(self, node: cst.Expr) -> None:
        """An expression on its own."""
        self.evaluate(node.value)

    def assign(self, node: cst.Assign) -> None:
        """``target = other = value``."""
        values = self.evaluate(node.value)
        for target in node.targets:
            self.bind_target(target.target, values)

    def annotated_assign(self, node: cst.AnnAssign) -> None:
        """``target: type = value``."""
        if node.value is not None:
            self.bind_target(node.target, self.evaluate(node.value))

    def augmented_assign(self, node: cst.AugAssign) -> None:
        """``target += value``."""
        old = self.evaluate(node.target)
        added = self.evaluate(node.value)
        word = type(node.operator).__name__.replace("Assign", "")
        if word == "Add" and len(old) == 1 and isinstance(old[0], Sequence):
            old[0].rest = join(old[0].rest, self.elements(added, node))
            return
        made = self.opaque("operation", node, word, (old, added))
        self.record("operate", node, old, result=added, name=word)
        self.bind_target(node.target, (made,))

    def assertion(self, node: cst.Assert) -> None:
        """``assert test, message``."""
        self.evaluate(node.test)
        if node.msg is not None:
            self.evaluate(node.msg)

    def delete(self, node: cst.Del) -> None:
        """``del name``."""

    def declare_global(self, node: cst.Global) -> None:
        """``global name``."""
        self.activation.scope.globals_declared.update(item.name.value for item in node.names)

    def declare_nonlocal(self, node: cst.Nonlocal) -> None:
        """``nonlocal name``."""
        self.activation.scope.nonlocals_declared.update(item.name.value for item in node.names)

    # Binding.

    def bind_target(self, target: cst.CSTNode, values: Values) -> None:
        """Assign `values` to a target."""
        if isinstance(target, cst.Name):
            self.bind_name(target.value, values)
        elif isinstance(target, (cst.Tuple, cst.List)):
            self.bind_elements(target, values)
        elif isinstance(target, cst.StarredElement):
            self.bind_target(target.value, values)
        elif isinstance(target, cst.Attribute):
            self.store_attribute(target, values)
        elif isinstance(target, cst.Subscript):
            self.store_subscript(target, values)

    def bind_name(self, name: str, values: Values) -> None:
        """Bind a name in the scope that owns it."""
        scope = self.activation.scope
        if name in scope.globals_declared and self.module.scope is not None:
            owner: Scope = self.module.scope
        elif name in scope.nonlocals_declared:
            outer = scope.parent
            while outer is not None and name not in outer.names:
                outer = outer.parent
            owner = outer if outer is not None else scope
        else:
            scope.names[name] = values
            return
        old = owner.names.get(name, ())
        new = join(old, values)
        if new != old:
            owner.names[name] = new
            self.heap_version += 1

    def bind_elements(self, target: Any, values: Values) -> None:
        """Unpack values into several targets."""
        targets = list(target.elements)
        parts: list[list[Value]] = [[] for _ in targets]
        starred = [isinstance(element, cst.StarredElement) for element in targets]
        for value in values:
            if (
                isinstance(value, Sequence)
                and not value.rest
                and len(value.elements) == len(targets)
                and not any(starred)
            ):
                for part, element_values in zip(parts, value.elements, strict=True):
                    part.extend(element_values)
                continue
            if isinstance(value, Sequence):
                for part in parts:
                    part.extend(value.every())
                continue
            if isinstance(value, Unknown):
                for part in parts:
                    part.append(value)
                continue
            if isinstance(value, (Mapping, Generator)):
                spread = self.elements((value,), target)
                for part in parts:
                    part.extend(spread)
                continue
            for position, part in enumerate(parts):
                part.append(self.unpacked(value, position, target))
        for element, part in zip(targets, parts, strict=True):
            self.bind_target(
                element if isinstance(element, cst.StarredElement) else element.value, join(part)
            )

    def unpacked(self, value: Value, position: int, node: cst.CSTNode) -> Opaque:
        """The element at a position of something that is unpacked."""
        key = ("unpacked", id(value), position)
        made = self.nodes.get(key)
        if not isinstance(made, Opaque):
            made = Opaque(
                "item",
                node,
                self.module,
                str(position),
                operands=((value,),),
                index=(Constant(position),),
            )
            self.nodes[key] = made
        return made

    def store_attribute(self, target: cst.Attribute, values: Values) -> None:
        """``base.name = value``."""
        base = self.evaluate(target.value)
        name = target.attr.value
        for value in base:
            if isinstance(value, (Instance, Opaque)):
                made_here = isinstance(value, Instance) and name not in value.attributes
                definite = len(base) == 1 and (made_here or self.is_straight(value))
                self.set_attribute(value.attributes, name, values, definite)
            elif isinstance(value, Class):
                self.set_attribute(value.scope.names, name, values, False)
        self.record("store", target, base, result=values, name=name)

    def is_straight(self, value: Instance | Opaque) -> bool:
        """Whether an attribute set here replaces the old one for certain.

        Only in straight code of the same call as the place that made the object.
        """
        return not any(isinstance(frame, (Branch, Loop)) for frame in self.stack)

    def store_subscript(self, target: cst.Subscript, values: Values) -> None:
        """``base[key] = value``."""
        base = self.evaluate(target.value)
        keys: Values = ()
        for element in target.slice:
            if isinstance(element.slice, cst.Index):
                keys = self.evaluate(element.slice.value)
            elif isinstance(element.slice, cst.Slice):
                for bound in (element.slice.lower, element.slice.upper):
                    if bound is not None:
                        self.evaluate(bound)
        for value in base:
            if isinstance(value, Mapping):
                self.store_item(value, keys, values, None)
            elif isinstance(value, Sequence):
                value.rest = join(value.rest, values)
        self.record("store", target, base, result=values, name="[]")

    # Imports.

    def import_names(self, node: cst.Import) -> None:
        """``import a.b as c``."""
        for alias in node.names:
            dotted = dotted_name(alias.name)
            bound = alias.asname.name.value if alias.asname is not None else None  # type: ignore[union-attr]
            found = self.find_module(dotted, self.module)
            self.record("import", node, (External(dotted),), name=dotted)
            if found is not None:
                self.import_module(found)
                if bound is not None or "." not in dotted:
                    self.bind_name(bound or dotted, (ModuleValue(found),))
                else:
                    top = self.find_module(dotted.split(".")[0], self.module)
                    if top is not None:
                        self.bind_name(dotted.split(".")[0], (ModuleValue(top),))
                continue
            if bound is not None:
                self.bind_name(bound, (External(self.dialect.canonical(dotted)),))
            else:
                top_name = dotted.split(".")[0]
                self.bind_name(top_name, (External(top_name),))

    def import_from(self, node: cst.ImportFrom) -> None:
        """``from a import b as c`` and ``from a import *``."""
        base = dotted_name(node.module) if node.module is not None else ""
        dotted = "." * len(node.relative) + base
        found = self.find_module(dotted, self.module)
        self.record("import", node, (External(dotted),), name=dotted)
        if found is not None:
            self.import_module(found)
        if isinstance(node.names, cst.ImportStar):
            self.import_star(found, dotted)
            return
        for alias in node.names:
            name = alias.name.value
            bound = alias.asname.name.value if alias.asname is not None else name  # type: ignore[union-attr]
            self.bind_name(str(bound), self.imported(found, dotted, str(name)))

    def imported(self, found: Any, dotted: str, name: str) -> Values:
        """One name imported from a module."""
        if found is None:
            child = self.find_module(
                f"{dotted.rstrip('.')}.{name}" if dotted.strip(".") else f"{dotted}{name}",
                self.module,
            )
            if child is not None:
                self.import_module(child)
                return (ModuleValue(child),)
            if dotted.startswith("."):
                return unknown(f"module '{dotted}' is not beside the script")
            return (External(self.dialect.canonical(f"{dotted}.{name}")),)
        if found.scope is not None and name in found.scope.names:
            values: Values = found.scope.names[name]
            return values
        child = self.find_module(
            f"{dotted}.{name}" if dotted.strip(".") else f"{dotted}{name}", self.module
        )
        if child is not None:
            self.import_module(child)
            return (ModuleValue(child),)
        return unknown(f"'{name}' is not bound in module '{dotted}'")

    def import_star(self, found: Any, dotted: str) -> None:
        """Every public name of a module."""
        if found is None:
            self.module.star_externals.append(dotted)
            return
        if found.scope is None:
            return
        listed = found.scope.names.get("__all__")
        chosen: list[str] | None = None
        if listed and len(listed) == 1 and isinstance(listed[0], Sequence) and not listed[0].rest:
            chosen = [
                str(values[0].value)
                for values in listed[0].elements
                if len(values) == 1 and isinstance(values[0], Constant)
            ]
        for name, values in list(found.scope.names.items()):
            if name in chosen if chosen is not None else not name.startswith("_"):
                self.bind_name(name, values)
        self.module.star_externals.extend(found.star_externals)

    # Definitions.

    def define_function(self, node: cst.FunctionDef) -> bool:
        """``def``: the function becomes a value; its body runs when it is called."""
        key = ("function", id(node), self.context)
        decorators = tuple(self.evaluate(d.decorator) for d in node.decorators)
        made = self.nodes.get(key)
        if not isinstance(made, Function):
            scope = self.activation.scope
            made = Function(
                node,
                self.module,
                node.name.value,
                scope,
                self.parameter_defaults(node.params),
                decorators=decorators,
                is_generator=contains_yield(node),
            )
            self.nodes[key] = made
            self.functions[id(node)] = made
        self.bind_name(node.name.value, (made,))
        return True

    def define_class(self, node: cst.ClassDef) -> bool:
        """``class``: its body runs now."""
        key = ("class", id(node), self.context)
        bases = tuple(self.evaluate(base.value) for base in node.bases)
        decorators = [self.evaluate(d.decorator) for d in node.decorators]
        made = self.nodes.get(key)
        if not isinstance(made, Class):
            scope = Scope({}, self.activation.scope, self.module, is_class=True)
            made = Class(node, self.module, node.name.value, scope, bases)
            made.is_dataclass = any(is_dataclass_decorator(values) for values in decorators)
            self.nodes[key] = made
        before = self.activation.scope
        self.activation.scope = made.scope
        try:
            self.execute_body(node.body)
        finally:
            self.activation.scope = before
        for values in made.scope.names.values():
            for value in values:
                if isinstance(value, Function) and value.owner is None:
                    value.owner = made
        self.bind_name(node.name.value, (made,))
        return True

    # Control flow.

    def branch(self, node: cst.CSTNode, arm: str, run: Callable[[], bool]) -> bool:
        """Run one arm with a frame that says so."""
        before = self.stack
        self.stack = self.pushed(Branch(node, arm))
        try:
            return run()
        finally:
            self.stack = before

    def if_statement(self, node: cst.If) -> bool:
        """``if`` / ``elif`` / ``else``: both arms, unless the test is known."""
        test = self.evaluate(node.test)
        known = truth(test)
        if known is None:
            self.record("test", node.test, test)
        scope = self.activation.scope
        if known is True:
            self.pass_over(node.orelse)
            return self.execute_body(node.body)
        if known is False:
            self.pass_over(node.body)
            return self.execute_else(node.orelse)
        before = dict(scope.names)
        falls = self.branch(node, "then", lambda: self.execute_body(node.body))
        after_then = scope.names
        scope.names = dict(before)
        falls_else = self.branch(node, "else", lambda: self.execute_else(node.orelse))
        after_else = scope.names
        if falls and falls_else:
            replace(scope, merge(after_then, after_else))
        elif falls:
            replace(scope, after_then)
        else:
            replace(scope, after_else)
        return falls or falls_else

    def pass_over(self, arm: cst.CSTNode | None) -> None:
        """Remember an arm that a known test leaves out: another setting may take it."""
        if arm is not None:
            self.passed_over.append((arm, self.activation.scope))

    def execute_else(self, orelse: Any) -> bool:
        """The ``else`` of a statement, an ``elif``, or nothing."""
        if orelse is None:
            return True
        if isinstance(orelse, cst.If):
            return self.if_statement(orelse)
        return self.execute_body(orelse.body)

    def for_statement(self, node: cst.For) -> bool:
        """``for``: the body runs until nothing new is carried round."""
        iterated = self.evaluate(node.iter)
        self.record("iterate", node, iterated)

        unrolled = self.few_elements(iterated)
        if unrolled is not None:
            return self.unroll(node, unrolled)

        def start() -> None:
            self.bind_target(node.target, self.elements(iterated, node))

        return self.loop(node, start)

    def unroll(self, node: cst.For, elements: list[Values]) -> bool:
        """Run a loop's body once for each element, each in a context of its own."""
        context = self.context
        try:
            for position, values in enumerate(elements):
                self.context = (*context, id(node), position)

                def start(values: Values = values) -> None:
                    self.bind_target(node.target, values)

                self.loop(node, start, passes=1, with_else=False)
        finally:
            self.context = context
        if node.orelse is not None:
            self.execute_else(node.orelse)
        return True

    def while_statement(self, node: cst.While) -> bool:
        """``while``: like a loop over nothing; endless where the test is constant."""
        known = truth(self.evaluate(node.test))
        if known is False:
            return self.execute_else(node.orelse)
        if known is None:
            self.record("test", node.test, self.evaluate(node.test), name="while")

        def start() -> None:
            if known is None:
                self.evaluate(node.test)

        return self.loop(node, start, endless=known is True)

    def loop(
        self,
        node: Any,
        start: Callable[[], None],
        endless: bool = False,
        passes: int = LOOP_PASSES,
        with_else: bool = True,
    ) -> bool:
        """Run a loop's body to a fixed point, then its ``else``."""
        scope = self.activation.scope
        entry = dict(scope.names)
        exits: list[dict[str, Values]] = []
        self.activation.loop_exits.append(exits)
        before = self.stack
        self.stack = self.pushed(Loop(node, self.module))
        falls = True
        try:
            for _ in range(passes):
                version = self.heap_version
                carried = dict(scope.names)
                start()
                falls = self.execute_body(node.body)
                after = scope.names if falls else carried
                for exited in exits:
                    after = merge(after, exited)
                merged = merge(carried, after) if passes > 1 else after
                changed = any(
                    name in carried and carried[name] != values for name, values in merged.items()
                )
                replace(scope, merged)
                if not changed and version == self.heap_version:
                    break
        finally:
            self.stack = before
            self.activation.loop_exits.pop()
        if passes > 1:
            replace(scope, merge(entry, scope.names))
        if endless and not exits:
            return False
        if with_else and node.orelse is not None:
            self.execute_else(node.orelse)
        return True

    def try_statement(self, node: Any) -> bool:
        """``try``: the body, every handler from any point of it, ``else`` and ``finally``."""
        scope = self.activation.scope
        before = dict(scope.names)
        falls = self.branch(node, "body", lambda: self.execute_body(node.body))
        after = dict(scope.names)
        outcomes = []
        if falls and node.orelse is not None:
            falls = self.execute_else(node.orelse)
            after = dict(scope.names)
        if falls:
            outcomes.append(after)
        for handler in node.handlers:
            scope.names.clear()
            scope.names.update(merge(before, after))

            def handle(handler: Any = handler) -> bool:
                if handler.type is not None:
                    self.evaluate(handler.type)
                if handler.name is not None:
                    self.bind_target(
                        handler.name.name, (self.opaque("parameter", handler, "exception"),)
                    )
                return self.execute_body(handler.body)

            if self.branch(handler, "except", handle):
                outcomes.append(dict(scope.names))
        merged = outcomes[0] if outcomes else after
        for outcome in outcomes[1:]:
            merged = merge(merged, outcome)
        replace(scope, merged)
        goes_on = bool(outcomes)
        if node.finalbody is not None:
            goes_on = self.execute_body(node.finalbody.body) and goes_on
        return goes_on

    def with_statement(self, node: cst.With) -> bool:
        """``with``: the managers enter, the body runs inside them."""
        managers: list[Value] = []
        for item in node.items:
            values = self.evaluate(item.item)
            managers.extend(values)
            if item.asname is not None:
                self.bind_target(item.asname.name, self.entered_values(values, item))
            else:
                self.entered_values(values, item)
        before = self.stack
        self.stack = self.pushed(Within(node, tuple(managers)))
        try:
            return self.execute_body(node.body)
        finally:
            self.stack = before

    def entered_values(self, values: Values, node: cst.CSTNode) -> Values:
        """What ``as`` binds: the object itself, unless its class or generator says otherwise."""
        found: list[Value] = []
        for value in values:
            if isinstance(value, Generator):
                found.extend(value.yields)
            elif isinstance(value, Instance):
                method = self.class_attribute(value.cls, "__enter__", value, value.cls)
                found.extend(
                    self.invoke(method, Arguments(), node) if method is not None else (value,)
                )
            else:
                found.append(value)
        return join(found)

    def match_statement(self, node: cst.Match) -> bool:
        """``match``: every case may run."""
        self.evaluate(node.subject)
        scope = self.activation.scope
        before = dict(scope.names)
        merged = dict(before)
        falls = True
        for case in node.cases:
            scope.names.clear()
            scope.names.update(before)
            for name in captured_names(case.pattern):
                self.bind_name(name, unknown("a name that a pattern binds"))
            if self.branch(case, "case", lambda case=case: self.execute_body(case.body)):  # type: ignore[misc]
                merged = merge(merged, scope.names)
        replace(scope, merged)
        return falls


def replace(scope: Scope, names: dict[str, Values]) -> None:
    """Give a scope new bindings."""
    scope.names = names


def merge(first: dict[str, Values], second: dict[str, Values]) -> dict[str, Values]:
    """The bindings after either of two ways."""
    merged = dict(first)
    for name, values in second.items():
        old = merged.get(name)
        if old is None:
            merged[name] = values
        elif old is not values and old != values:
            merged[name] = join(old, values)
    return merged


def dotted_name(node: cst.CSTNode) -> str:
    """``a.b.c`` of a chain of attributes."""
    if isinstance(node, cst.Attribute):
        return f"{dotted_name(node.value)}.{node.attr.value}"
    if isinstance(node, cst.Name):
        return node.value
    return "?"


def is_dataclass_decorator(values: Values) -> bool:
    """Whether a decorator is ``dataclasses.dataclass``, called or not."""
    for value in values:
        if isinstance(value, External) and value.name == "dataclasses.dataclass":
            return True
        if isinstance(value, Opaque) and value.kind == "call":
            return is_dataclass_decorator(value.callee)
    return False


def contains_yield(node: cst.FunctionDef) -> bool:
    """Whether a function is a generator: a ``yield`` of its own, not of a nested function."""
    stack: list[cst.CSTNode] = [node.body]
    while stack:
        current = stack.pop()
        if isinstance(current, cst.Yield):
            return True
        if isinstance(current, (cst.FunctionDef, cst.Lambda, cst.ClassDef)):
            continue
        if isinstance(current, (cst.Name, cst.SimpleString, cst.Integer, cst.Float)):
            continue
        stack.extend(children(current))
    return False


def captured_names(pattern: cst.CSTNode) -> list[str]:
    """Names that a ``match`` pattern binds."""
    found = []
    if isinstance(pattern, cst.MatchAs) and pattern.name is not None:
        found.append(pattern.name.value)
    for child in children(pattern):
        found.extend(captured_names(child))
    return found


EXITS: dict[type[cst.CSTNode], str] = {
    cst.Return: "return",
    cst.Raise: "raise",
    cst.Break: "break",
    cst.Continue: "continue",
}
SMALL: dict[type[cst.CSTNode], Callable[[Any, Any], None]] = {
    cst.Expr: Statements.expression_statement,
    cst.Assign: Statements.assign,
    cst.AnnAssign: Statements.annotated_assign,
    cst.AugAssign: Statements.augmented_assign,
    cst.Assert: Statements.assertion,
    cst.Del: Statements.delete,
    cst.Global: Statements.declare_global,
    cst.Nonlocal: Statements.declare_nonlocal,
    cst.Import: Statements.import_names,
    cst.ImportFrom: Statements.import_from,
}
COMPOUND: dict[type[cst.CSTNode], Callable[[Any, Any], bool]] = {
    cst.If: Statements.if_statement,
    cst.For: Statements.for_statement,
    cst.While: Statements.while_statement,
    cst.Try: Statements.try_statement,
    cst.TryStar: Statements.try_statement,
    cst.With: Statements.with_statement,
    cst.FunctionDef: Statements.define_function,
    cst.ClassDef: Statements.define_class,
    cst.Match: Statements.match_statement,
}
