"""Definitions of functions and classes."""

from __future__ import annotations

from collections.abc import Sequence as SequenceOf
from itertools import islice

import libcst as cst

from transpile.facts.statements.imports import Imports
from transpile.facts.values import (
    Argument,
    Arguments,
    BoundMethod,
    Class,
    Constant,
    External,
    Function,
    Instance,
    Opaque,
    Partial,
    Scope,
    Value,
    Values,
    join,
)
from transpile.text.source import Source


class Definitions(Imports):
    """The part of the interpreter that knows definitions."""

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
                is_generator=id(node) in self.generators(),
            )
            self.nodes[key] = made
            self.functions[id(node)] = made
            for group in groups_of(decorators):
                self.commands.setdefault(id(group), []).append(made)
        self.bind_name(node.name.value, (made,))
        self.register(made, decorators)
        accessor = self.accessor(made, decorators)
        if accessor is not None:
            self.bind_name(node.name.value, (accessor,))
            self.replaced.setdefault(id(self.activation.scope), []).append(made)
            return True
        given_back = self.hand_to_decorators(made, node.decorators, decorators)
        if given_back != (made,):
            self.bind_name(node.name.value, given_back)
            self.replaced.setdefault(id(self.activation.scope), []).append(made)
        return True

    def generators(self) -> set[int]:
        """The generator functions of the module that is running."""
        name = self.module.name
        if name not in self.generators_by_module:
            self.generators_by_module[name] = generators_of(self.module.source)
        return self.generators_by_module[name]

    def define_class(self, node: cst.ClassDef) -> bool:
        """``class``: its body runs now."""
        key = ("class", id(node), self.context)
        bases = tuple(self.evaluate(base.value) for base in node.bases)
        outside = [value.name for value in join(*bases) if isinstance(value, External)]
        behind = filter(None, map(self.dialect.base_of, outside))
        bases = (*bases, *((External(name),) for name in behind))
        decorators = [self.evaluate(d.decorator) for d in node.decorators]
        made = self.nodes.get(key)
        if not isinstance(made, Class):
            scope = Scope({}, self.activation.scope, self.module, is_class=True)
            made = Class(node, self.module, node.name.value, scope, bases)
            made.is_dataclass = any(is_dataclass_decorator(values) for values in decorators)
            self.nodes[key] = made
        for each in node.keywords:
            if each.keyword is not None and each.keyword.value == "metaclass":
                made.metaclass = join(made.metaclass, self.evaluate(each.value))
        before = self.activation.scope
        self.activation.scope = made.scope
        try:
            self.execute_body(node.body)
        finally:
            self.activation.scope = before
        kept = (value for values in made.scope.names.values() for value in values)
        for value in (*kept, *self.replaced.pop(id(made.scope), ())):
            if isinstance(value, Function) and value.owner is None:
                value.owner = made
        self.tell_attributes(made, node)
        self.tell_bases(made, node)
        self.bind_name(node.name.value, (made,))
        self.hand_to_decorators(made, node.decorators, tuple(decorators))
        return True

    def tell_attributes(self, made: Class, node: cst.ClassDef) -> None:
        """Note what says how attributes are set, and call ``__set_name__`` of what is told."""
        context = self.context
        for name, values in list(made.scope.names.items()):
            if name == "__setattr__" or any(map(self.is_accessor, values)):
                self.accessors.add(name)
            for value in values:
                if isinstance(value, Instance):
                    # What one attribute is told is none of what another one is.
                    self.context = (*context, id(node), id(values))
                    self.ask_object(value, "__set_name__", ((made,), (Constant(name),)), node)
        self.context = context

    def tell_bases(self, made: Class, node: cst.ClassDef) -> None:
        """Call ``__init_subclass__`` of the bases, which may note down what is derived."""
        for base in islice(made.ancestry(), 1, None):
            own = base.scope.names.get("__init_subclass__", ()) if isinstance(base, Class) else ()
            if own:
                given = tuple(
                    Argument(self.evaluate(each.value), each, each.keyword.value)
                    for each in node.keywords
                    if each.keyword is not None and each.keyword.value != "metaclass"
                )
                self.invoke(self.bind(own, None, made, node), Arguments(given), node)
                return

    def hand_to_decorators(
        self, made: Value, nodes: SequenceOf[cst.Decorator], decorators: tuple[Values, ...]
    ) -> Values:
        """Call the project's own decorators, which may note down what they are given.

        Functions of the project that they give back stand for what they were given, unless others
        decorate it, too; whatever else they give is taken for it.
        """
        found: Values = (made,)
        alone = True
        for node, values in zip(reversed(nodes), reversed(decorators), strict=True):
            if self.splits(node):
                continue
            own = tuple(value for value in values if self.is_own_callable(value))
            if own:
                given = self.invoke(own, Arguments((Argument(found, None),)), node)
                found = given if given and all(map(self.stands_for_functions, given)) else found
            else:
                alone = False
        return found if alone else (made,)

    def is_own_callable(self, value: Value) -> bool:
        """Whether calling a value runs code of the project that can be followed."""
        if isinstance(value, Partial):
            return bool(value.callee) and all(map(self.is_own_callable, value.callee))
        if isinstance(value, Instance):
            return any(
                isinstance(each, Class) and "__call__" in each.scope.names
                for each in value.cls.ancestry()
            )
        return isinstance(value, (Function, BoundMethod, Class))

    def stands_for_functions(self, value: Value) -> bool:
        """Whether what a decorator gives is called where the function was.

        In a class functions alone become methods: an object there is handed no ``self``, unless it
        sees to that in a way of its own.
        """
        if isinstance(value, Function):
            return True
        return (
            not self.activation.scope.is_class
            and not isinstance(value, Class)
            and self.is_own_callable(value)
        )

    def splits(self, decorator: cst.Decorator) -> bool:
        """Whether processes share out the calls of what is decorated."""
        made = decorator.decorator
        values = self.values.get(id(made.func), ()) if isinstance(made, cst.Call) else ()
        return any(isinstance(one, Function) and self.dialect.splits(one) for one in values)


def groups_of(decorators: tuple[Values, ...]) -> list[Value]:
    """The groups of commands that decorators make a function a command of.

    That is the base of ``@group.command()``: a function that ``click.group()`` decorates, or a
    ``typer.Typer()``.
    """
    found: list[Value] = []
    for value in join(*decorators):
        for callee in value.callee if isinstance(value, Opaque) and value.kind == "call" else ():
            if isinstance(callee, Opaque) and callee.kind == "attribute":
                if callee.name in {"command", "group"}:
                    found.extend(base for base in callee.operands[0] if is_group(base))
    return found


def is_group(value: Value) -> bool:
    """Whether calling a value runs the commands that were added to it."""
    if isinstance(value, Function):
        makers: Values = join(*value.decorators)
        makers = join(makers, *(m.callee for m in makers if isinstance(m, Opaque)))
        return any(
            (isinstance(maker, External) and maker.name == "click.group")
            or (isinstance(maker, Opaque) and maker.kind == "attribute" and maker.name == "group")
            for maker in makers
        )
    return isinstance(value, Opaque) and any(
        isinstance(maker, External) and maker.name in {"typer.Typer", "click.Group"}
        for maker in value.callee
    )


def is_dataclass_decorator(values: Values) -> bool:
    """Whether a decorator is ``dataclasses.dataclass``, called or not."""
    for value in values:
        if isinstance(value, External) and value.name == "dataclasses.dataclass":
            return True
        if isinstance(value, Opaque) and value.kind == "call":
            return is_dataclass_decorator(value.callee)
    return False


def generators_of(source: Source) -> set[int]:
    """The functions with a ``yield`` of their own, by the identity of their node."""
    found: set[int] = set()
    for node in source.nodes_of(cst.Yield):
        for outer in source.parents(node):
            if type(outer) in (cst.FunctionDef, cst.Lambda, cst.ClassDef):
                found.add(id(outer))
                break
    return found
