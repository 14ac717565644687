"""What expressions of a model give."""

from __future__ import annotations

import itertools
from ast import literal_eval
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import libcst as cst

from transpile.facts.values import Constant, External, Scope

from .decisions import decide
from .domain import (
    NONE,
    PLAIN,
    Choice,
    Coupled,
    Group,
    Held,
    Known,
    Local,
    Record,
    Tensor,
    Unknown,
    choice,
    options,
    problem_of,
)
from .items import picked_of_input
from .operators import Operators
from .shapes import Impossible, Mixed, Unclear
from .state import Given

#: Combinations of alternatives that are looked at for one operation.
MOST_COMBINATIONS = 16
SINGLETONS = {"True": Constant(True), "False": Constant(False), "None": NONE}


class Expressions(Operators):
    """The part of a run that knows expressions."""

    def evaluate(self, node: cst.CSTNode) -> Known:
        """What an expression gives."""
        self.step()
        handler = HANDLERS.get(type(node))
        if handler is None:
            return Unknown(f"{type(node).__name__} is not followed", self.module, node)
        self.sites.append((self.module, node))
        try:
            return handler(self, node)
        finally:
            self.sites.pop()

    def apply(self, operation: Callable[..., Known], *operands: Known) -> Known:
        """An operation on each combination of alternatives."""
        if not any(isinstance(one, Choice) for one in operands):
            return choice(self.apply_once(operation, tuple(map(self.settle, operands))))
        found: list[Known] = []
        combinations = itertools.product(*(tuple(self.attempt(one)) for one in operands))
        for number, chosen in enumerate(combinations):
            if number >= MOST_COMBINATIONS:
                return self.unknown("too many different values meet here", "layout")
            try:
                found.append(self.apply_once(operation, chosen))
            except Impossible:
                continue
        if not found:
            raise Impossible
        return choice(*found)

    def apply_once(self, operation: Callable[..., Known], chosen: tuple[Known, ...]) -> Known:
        """An operation on one combination of alternatives."""
        problem = problem_of(chosen)
        if problem is not None:
            return problem
        try:
            return operation(*chosen)
        except Mixed as mixed:
            return self.coupled(mixed.reason, mixed.cause)
        except Unclear as unclear:
            return self.unknown(unclear.reason, unclear.cause)

    # Names and literals.

    def name(self, node: cst.Name) -> Known:
        """A name."""
        if node.value in SINGLETONS:
            return SINGLETONS[node.value]
        found = self.lookup(node.value)
        return found if found is not None else self.unknown(f"'{node.value}' is not known")

    def lookup(self, name: str) -> Known | None:
        """What a name is bound to."""
        for names in (self.frame.names, *self.frame.outer):
            if name in names:
                return names[name]
        scope: Scope | None = self.frame.function.closure
        while scope is not None:
            if not scope.is_class and name in scope.names:
                return self.lift(scope.names[name])
            scope = scope.parent
        import builtins

        if hasattr(builtins, name):
            return Held((External(f"builtins.{name}"),))
        return None

    def number(self, node: cst.Integer | cst.Float | cst.Imaginary) -> Known:
        """A number."""
        return Constant(literal(node.value))

    def string(self, node: cst.SimpleString) -> Known:
        """A text."""
        return Constant(literal(node.value))

    def formatted(self, node: cst.FormattedString) -> Known:
        """A formatted text, folded where all parts are constants."""
        text = ""
        for part in node.parts:
            if isinstance(part, cst.FormattedStringText):
                text += part.value
                continue
            value = self.evaluate(part.expression)  # type: ignore[attr-defined]
            if self.sampled(value):
                return self.coupled("the samples are made a text")
            if not isinstance(value, Constant):
                return PLAIN
            text += str(value.value)
        return Constant(text)

    def sequence(self, node: cst.Tuple | cst.List | cst.Set) -> Known:
        """A tuple or list."""
        elements: list[Known] = []
        rest: Known | None = None
        for element in node.elements:
            value = self.evaluate(element.value)
            if isinstance(element, cst.StarredElement):
                more, other = self.elements_of(value)
                if rest is None:
                    elements.extend(more)
                else:
                    rest = choice(rest, *more)
                if other is not None:
                    rest = other if rest is None else choice(rest, other)
            elif rest is not None:
                rest = choice(rest, value)
            else:
                elements.append(value)
        made = Group(tuple(elements), rest)
        return made if isinstance(node, cst.Tuple) else self.cell(node, made)

    def dictionary(self, node: cst.Dict) -> Known:
        """A dict."""
        entries: dict[object, Known] = {}
        rest: list[Known] = []
        for element in node.elements:
            value = self.evaluate(element.value)
            if isinstance(element, cst.StarredDictElement):
                held = self.held(value)
                if isinstance(held, Record) and held.rest is None:
                    entries.update(held.entries)
                else:
                    rest.append(self.unknown("a dict that is not known is put into another"))
                continue
            key = self.evaluate(element.key)  # type: ignore[attr-defined]
            if isinstance(key, Constant):
                entries[key.value] = value
            else:
                rest.append(value)
        made = Record(tuple(entries.items()), choice(*rest) if rest else None)
        return self.cell(node, made)

    # Access.

    def attribute_node(self, node: cst.Attribute) -> Known:
        """``base.name``."""
        return self.attribute(self.evaluate(node.value), node.attr.value)

    def subscript(self, node: cst.Subscript) -> Known:
        """``base[index]``."""
        base = self.evaluate(node.value)
        return self.item(base, self.index(node))

    def index(self, node: cst.Subscript) -> tuple[Known, ...]:
        """The entries of an index; slices as records of their bounds."""
        found: list[Known] = []
        for element in node.slice:
            part = element.slice
            if isinstance(part, cst.Slice):
                bounds = {
                    name: self.evaluate(bound)
                    for name, bound in (
                        ("lower", part.lower),
                        ("upper", part.upper),
                        ("step", part.step),
                    )
                    if bound is not None
                }
                found.append(Record((("slice", NONE), *bounds.items())))
            else:
                found.append(self.evaluate(part.value))  # type: ignore[attr-defined]
        if len(found) == 1 and isinstance(found[0], Group) and found[0].rest is None:
            return found[0].elements
        return tuple(found)

    def item(self, base: Known, index: tuple[Known, ...]) -> Known:
        """``base[index]`` for each alternative."""
        for option in options(base):
            if isinstance(option, Coupled) and option.rank is not None:
                if sum(entry != NONE for entry in index) > option.rank:
                    raise Impossible

        part = picked_of_input(self, base, index)
        if part is not None:
            return part

        def one(first: Known, *entries: Known) -> Known:
            return self.library.item(self, first, entries)

        return self.apply(one, base, *index)

    # Functions.

    def lambda_node(self, node: cst.Lambda) -> Known:
        """A lambda."""
        return self.local(node)

    def local(self, node: cst.FunctionDef | cst.Lambda) -> Local:
        """A function that is defined here."""
        return Local(node, self.frame.names, self.frame.function, self.frame.receiver)

    def call_node(self, node: cst.Call) -> Known:
        """A call."""
        callee = self.evaluate(node.func)
        given = self.arguments(node)
        context = self.context
        self.context = (*context, id(node))
        try:
            found = self.call(callee, given)
        finally:
            self.context = context
        self.written_in_place(node, found)
        return found

    def arguments(self, node: cst.Call) -> Given:
        """The arguments of a call."""
        items: list[Known] = []
        keywords: dict[str, Known] = {}
        more = False
        for arg in node.args:
            value = self.evaluate(arg.value)
            if arg.star == "*":
                elements, rest = self.elements_of(value)
                items.extend(elements)
                more = more or rest is not None
                if rest is not None:
                    items.append(rest)
            elif arg.star == "**":
                held = self.held(value)
                if isinstance(held, Record):
                    keywords.update({str(key): entry for key, entry in held.entries})
                    more = more or held.rest is not None
                else:
                    more = True
                    keywords["**"] = value
            elif arg.keyword is not None:
                keywords[arg.keyword.value] = value
            else:
                items.append(value)
        return Given(tuple(items), keywords, more)

    def written_in_place(self, node: cst.Call, found: Known) -> None:
        """Bind a name anew whose tensor a method has changed in place: ``x.squeeze_(1)``."""
        func = node.func
        if not isinstance(func, cst.Attribute) or not isinstance(func.value, cst.Name):
            return
        word = func.attr.value
        if not word.endswith("_") or word.endswith("__") or word == "requires_grad_":
            return
        if isinstance(found, (Tensor, Coupled, Unknown)) and func.value.value in self.frame.names:
            self.frame.names[func.value.value] = found

    def named(self, node: cst.NamedExpr) -> Known:
        """``name := value``."""
        value = self.evaluate(node.value)
        self.bind(node.target, value)
        return value

    def comprehension(self, node: Any) -> Known:
        """A list, set or generator comprehension."""
        names = dict(self.frame.names)
        elements: list[Known] = []
        rest: list[Known] = []
        for sure, _ in self.rounds(node.for_in, 0):
            value = self.evaluate(node.elt)
            (elements if sure and not rest else rest).append(value)
        self.frame.names = names
        made = Group(tuple(elements), choice(*rest) if rest else None)
        return made if isinstance(node, cst.GeneratorExp) else self.cell(node, made)

    def dict_comprehension(self, node: cst.DictComp) -> Known:
        """A dict comprehension."""
        names = dict(self.frame.names)
        entries: dict[object, Known] = {}
        rest: list[Known] = []
        for _ in self.rounds(node.for_in, 0):
            key, value = self.evaluate(node.key), self.evaluate(node.value)
            if isinstance(key, Constant):
                entries[key.value] = value
            else:
                rest.append(value)
        self.frame.names = names
        return self.cell(node, Record(tuple(entries.items()), choice(*rest) if rest else None))

    def rounds(self, loop: cst.CompFor, depth: int) -> Iterator[tuple[bool, int]]:
        """The rounds of a comprehension: whether each happens once for certain."""
        elements, rest = self.elements_of(self.evaluate(loop.iter))
        rounds = [(value, True) for value in elements]
        if rest is not None:
            rounds.append((rest, False))
        for number, (value, certain) in enumerate(rounds):
            outer, self.context = self.context, (*self.context, number)
            self.bind(loop.target, value)
            sure = certain
            skip = False
            for condition in loop.ifs:
                test = self.evaluate(condition.test)
                known, cause = decide(self, test)
                if cause:
                    self.problems.append(self.branching(test, cause))
                skip = skip or known is False
                sure = sure and known is True
            if not skip:
                if loop.inner_for_in is not None:
                    for inner, _ in self.rounds(loop.inner_for_in, depth + 1):
                        yield sure and inner, depth
                else:
                    yield sure, depth
            self.context = outer

    def yielded(self, node: cst.Yield) -> Known:
        """``yield``."""
        if isinstance(node.value, cst.BaseExpression):
            self.frame.yields.append(self.evaluate(node.value))
        elif isinstance(node.value, cst.From):
            elements, rest = self.elements_of(self.evaluate(node.value.item))
            self.frame.yields.extend([*elements, *([rest] if rest is not None else [])])
        return NONE


@lru_cache(maxsize=4096)
def literal(text: str) -> Any:
    """The value of a literal: a model is followed often, and to parse each anew costs most."""
    return literal_eval(text)


HANDLERS: dict[type[cst.CSTNode], Callable[[Any, Any], Known]] = {
    cst.Name: Expressions.name,
    cst.SimpleString: Expressions.string,
    cst.ConcatenatedString: lambda run, node: PLAIN,
    cst.FormattedString: Expressions.formatted,
    cst.Integer: Expressions.number,
    cst.Float: Expressions.number,
    cst.Imaginary: Expressions.number,
    cst.Tuple: Expressions.sequence,
    cst.List: Expressions.sequence,
    cst.Set: Expressions.sequence,
    cst.Dict: Expressions.dictionary,
    cst.BinaryOperation: Expressions.binary,
    cst.UnaryOperation: Expressions.unary,
    cst.BooleanOperation: Expressions.boolean,
    cst.Comparison: Expressions.comparison,
    cst.IfExp: Expressions.conditional,
    cst.Attribute: Expressions.attribute_node,
    cst.Subscript: Expressions.subscript,
    cst.ListComp: Expressions.comprehension,
    cst.SetComp: Expressions.comprehension,
    cst.GeneratorExp: Expressions.comprehension,
    cst.DictComp: Expressions.dict_comprehension,
    cst.Lambda: Expressions.lambda_node,
    cst.Call: Expressions.call_node,
    cst.NamedExpr: Expressions.named,
    cst.Yield: Expressions.yielded,
    cst.Ellipsis: lambda run, node: Constant("..."),
}
