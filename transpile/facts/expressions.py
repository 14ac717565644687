"""Evaluation of expressions."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import libcst as cst

from transpile.facts.comprehensions import Comprehensions
from transpile.facts.events import Branch
from transpile.facts.folding import compare, fold
from transpile.facts.state import external, truth, unknown
from transpile.facts.values import (
    Argument,
    Arguments,
    Class,
    Constant,
    Function,
    Instance,
    Mapping,
    Scope,
    Sequence,
    Value,
    Values,
    join,
    only_constant,
)

BUILTINS = frozenset(dir(builtins))
#: What a notebook knows without an import.
NOTEBOOK = {"display": "IPython.display.display", "get_ipython": "IPython.get_ipython"}
SINGLETONS: dict[str, Values] = {
    "True": (Constant(True),),
    "False": (Constant(False),),
    "None": (Constant(None),),
}


class Expressions(Comprehensions):
    """The part of the interpreter that knows expressions."""

    def evaluate(self, node: cst.CSTNode) -> Values:
        """The values of an expression, in the current scope."""
        self.step()
        handler = HANDLERS.get(type(node))
        if handler is None:
            return unknown(f"{type(node).__name__} is not followed")
        values = handler(self, node)
        key = id(node)
        before = self.values.get(key)
        self.values[key] = values if before is None or before == values else join(before, values)
        return values

    # Names.

    def lookup(self, name: str) -> Values | None:
        """What a name is bound to where the code runs now; None where it is nowhere."""
        scope: Scope | None = self.activation.scope
        first = True
        while scope is not None:
            if (first or not scope.is_class) and name in scope.names:
                return scope.names[name]
            scope = scope.parent
            first = False
        return None

    def name(self, node: cst.Name) -> Values:
        """A name: bound in the script, a builtin, or unknown."""
        if node.value in SINGLETONS:
            return SINGLETONS[node.value]
        found = self.lookup(node.value)
        if found is not None:
            return self.buffers.read(found, self.stack)
        if node.value == "__name__":
            return (Constant(self.module.name),)
        if node.value == "__file__":
            return (self.opaque("attribute", node, "__file__", operands=((),)),)
        if node.value in BUILTINS:
            return external(f"builtins.{node.value}")
        if node.value in NOTEBOOK:
            return external(NOTEBOOK[node.value])
        stars = self.module.star_externals
        if stars and node.value in self.dialect.packages:
            # A module that cannot be found hands on what it has imported itself.
            return external(node.value)
        if stars:
            return unknown(f"'{node.value}' may come from 'import *' of {', '.join(stars)}")
        return unknown(f"'{node.value}' is not bound anywhere in the script")

    # Literals.

    def string(self, node: cst.SimpleString) -> Values:
        """A string or bytes literal."""
        try:
            return (Constant(literal(node.value)),)
        except (ValueError, SyntaxError):
            return unknown("a string literal that cannot be read")

    def number(self, node: Any) -> Values:
        """An integer, float or imaginary literal."""
        try:
            return (Constant(literal(node.value)),)
        except (ValueError, SyntaxError):
            return unknown("a number that cannot be read")

    def concatenated(self, node: cst.ConcatenatedString) -> Values:
        """Adjacent string literals."""
        left, right = self.evaluate(node.left), self.evaluate(node.right)
        first, second = only_constant(left), only_constant(right)
        if first is not None and second is not None:
            try:
                return (Constant(first.value + second.value),)  # type: ignore[operator]
            except TypeError:
                pass
        return (self.opaque("operation", node, "concatenate", (left, right)),)

    def formatted(self, node: cst.FormattedString) -> Values:
        """An f-string."""
        operands = []
        for part in node.parts:
            if isinstance(part, cst.FormattedStringExpression):
                operands.append(self.evaluate(part.expression))
                for inner in part.format_spec or ():
                    if isinstance(inner, cst.FormattedStringExpression):
                        operands.append(self.evaluate(inner.expression))
        return (self.opaque("operation", node, "format", tuple(operands)),)

    def sequence(self, node: Any) -> Values:
        """A list, tuple or set display."""
        kind = type(node).__name__.lower()
        key = ("sequence", id(node), self.context)
        made = self.nodes.get(key)
        if not isinstance(made, Sequence):
            made = Sequence(kind, node, [])
            self.nodes[key] = made
        elements: list[Values] = []
        rest: Values = ()
        for element in node.elements:
            values = self.evaluate(element.value)
            if isinstance(element, cst.StarredElement):
                spread = self.known_elements(values)
                if spread is not None:
                    elements.extend(spread)
                else:
                    rest = join(rest, self.elements(values, element))
            elif rest:
                rest = join(rest, values)
            else:
                elements.append(values)
        if len(made.elements) == len(elements) and made.elements:
            made.elements = [
                join(new, old) for old, new in zip(made.elements, elements, strict=True)
            ]
        elif not made.elements:
            made.elements = elements
        made.rest = join(made.rest, rest)
        return (made,)

    def dictionary(self, node: cst.Dict) -> Values:
        """A dict display."""
        made = self.new_mapping(node)
        for element in node.elements:
            if isinstance(element, cst.DictElement):
                keys = self.evaluate(element.key)
                values = self.evaluate(element.value)
                self.store_item(made, keys, values, element.value)
            else:
                self.update_mapping(made, self.evaluate(element.value))
        return (made,)

    # Operators.

    def binary(self, node: cst.BinaryOperation) -> Values:
        """An arithmetic operator."""
        # A long chain leans to the left: walk it without recursion.
        chain: list[cst.BinaryOperation] = [node]
        while isinstance(chain[-1].left, cst.BinaryOperation):
            chain.append(chain[-1].left)
        left = self.evaluate(chain[-1].left)
        for link in reversed(chain):
            left = self.binary_values(link, left, self.evaluate(link.right))
        return left

    def binary_values(self, node: cst.BinaryOperation, left: Values, right: Values) -> Values:
        """The operator of `node` on values."""
        word = type(node.operator).__name__
        first, second = only_constant(left), only_constant(right)
        if first is not None and second is not None:
            folded = fold(word, first.value, second.value)
            if folded is not None:
                return (folded,)
        if word == "Add":
            merged = self.concatenate(node, left, right)
            if merged is not None:
                return merged
        return (self.opaque("operation", node, word, (left, right)),)

    def unary(self, node: cst.UnaryOperation) -> Values:
        """Minus, plus, invert, not."""
        values = self.evaluate(node.expression)
        word = type(node.operator).__name__
        constant = only_constant(values)
        if constant is not None:
            if word == "Not":
                return (Constant(not constant.value),)
            if word == "Minus" and isinstance(constant.value, (int, float)):
                return (Constant(-constant.value),)
        return (self.opaque("operation", node, word, (values,)),)

    def boolean(self, node: cst.BooleanOperation) -> Values:
        """``and`` and ``or``: the right side runs on one arm only."""
        left = self.evaluate(node.left)
        known = truth(left)
        is_and = isinstance(node.operator, cst.And)
        if known is not None and known is not is_and:
            return left
        before = self.stack
        if known is None:
            self.stack = self.pushed(Branch(node, "right"))
        right = self.evaluate(node.right)
        self.stack = before
        if known is not None:
            return right
        if not is_and and all(isinstance(v, (Instance, Function, Class)) for v in left):
            return left
        return (self.opaque("operation", node, "And" if is_and else "Or", (left, right)),)

    def comparison(self, node: cst.Comparison) -> Values:
        """A chain of comparisons."""
        operands = [self.evaluate(node.left)]
        operands.extend(self.evaluate(target.comparator) for target in node.comparisons)
        words = [type(target.operator).__name__ for target in node.comparisons]
        if len(operands) == 2:
            first, second = only_constant(operands[0]), only_constant(operands[1])
            if first is not None and second is not None:
                folded = compare(words[0], first.value, second.value)
                if folded is not None:
                    return (Constant(folded),)
            if words[0] in ("Is", "IsNot") and second is not None and second.value is None:
                # Objects that are certainly there are not None.
                if operands[0] and all(
                    isinstance(value, (Instance, Function, Class, Sequence, Mapping))
                    for value in operands[0]
                ):
                    return (Constant(words[0] == "IsNot"),)
        return (self.opaque("operation", node, " ".join(words), tuple(operands)),)

    def conditional(self, node: cst.IfExp) -> Values:
        """``a if test else b``."""
        test = self.evaluate(node.test)
        known = truth(test)
        if known is not None:
            return self.evaluate(node.body if known else node.orelse)
        before = self.stack
        self.stack = self.pushed(Branch(node, "then"))
        body = self.evaluate(node.body)
        self.stack = (*before, Branch(node, "else"))
        orelse = self.evaluate(node.orelse)
        self.stack = before
        return join(body, orelse)

    # Access.

    def attribute_node(self, node: cst.Attribute) -> Values:
        """``base.name``."""
        return self.attribute(self.evaluate(node.value), node.attr.value, node)

    def subscript(self, node: cst.Subscript) -> Values:
        """``base[index]``."""
        base = self.evaluate(node.value)
        indices: list[Values] = []
        is_slice = is_moving = False
        for element in node.slice:
            part = element.slice
            if isinstance(part, cst.Index):
                indices.append(self.evaluate(part.value))
            elif isinstance(part, cst.Slice):
                is_slice = True
                for bound in (part.lower, part.upper, part.step):
                    if bound is not None:
                        self.evaluate(bound)
                        is_moving = is_moving or not is_literal(bound)
        if is_moving and len(node.slice) == 1:
            parts = self.parts_of_sequences(base, node)
            others = tuple(value for value in base if not isinstance(value, Sequence))
            return join(parts, self.item(others, (), node))
        return self.item(base, indices[0] if len(indices) == 1 and not is_slice else (), node)

    def parts_of_sequences(self, base: Values, node: cst.Subscript) -> Values:
        """The parts of lists that a slice takes whose bounds are not written there."""
        found: list[Value] = []
        for value in base:
            if isinstance(value, Sequence):
                key = ("slice", id(node), id(value), self.context)
                made = self.nodes.get(key)
                if not isinstance(made, Sequence):
                    made = Sequence(value.kind, node, [])
                    self.nodes[key] = made
                made.rest = join(made.rest, value.every())
                found.append(made)
        return tuple(found)

    # Functions.

    def lambda_node(self, node: cst.Lambda) -> Values:
        """A lambda: a function whose body is one expression."""
        key = ("lambda", id(node), self.context)
        made = self.nodes.get(key)
        if not isinstance(made, Function):
            defaults = self.parameter_defaults(node.params)
            made = Function(node, self.module, "<lambda>", self.activation.scope, defaults)
            self.nodes[key] = made
            self.functions[id(node)] = made
        return (made,)

    def parameter_defaults(self, parameters: cst.Parameters) -> dict[str, Values]:
        """Default values, evaluated where the function is defined."""
        defaults = {}
        for parameter in (
            *parameters.params,
            *parameters.kwonly_params,
            *parameters.posonly_params,
        ):
            if parameter.default is not None:
                defaults[parameter.name.value] = self.evaluate(parameter.default)
        return defaults

    def call_node(self, node: cst.Call) -> Values:
        """A call: callee, then arguments, then what comes of it."""
        callee = self.evaluate(node.func)
        return self.invoke(callee, self.arguments(node), node)

    def arguments(self, node: cst.Call) -> Arguments:
        """The arguments of a call expression, unpacked where they are known."""
        items: list[Argument] = []
        unknown_because: str | None = None
        rest: Values = ()
        for arg in node.args:
            values = self.evaluate(arg.value)
            if arg.star == "*":
                spread = self.known_elements(values)
                if spread is None:
                    unknown_because = "its positional arguments are unpacked from something unknown"
                    rest = join(rest, self.elements(values, arg))
                else:
                    items.extend(Argument(element, arg.value) for element in spread)
            elif arg.star == "**":
                mapping = values[0] if len(values) == 1 else None
                if not isinstance(mapping, Mapping):
                    mappings = [value for value in values if isinstance(value, Mapping)]
                    if len(mappings) == len(values) and mappings:
                        items.extend(alternative_entries(mappings))
                        continue
                    unknown_because = "its keyword arguments are unpacked from something unknown"
                    rest = join(rest, self.item(values, (), arg))
                    continue
                mapping.uses.append(node)
                if mapping.open_because:
                    unknown_because = (
                        f"the dict that it unpacks is not known whole: {mapping.open_because}"
                    )
                    rest = join(rest, mapping.rest)
                for key, entry in mapping.entries.items():
                    items.append(Argument(entry.values, entry.node, str(key), mapping, entry.maybe))
            else:
                keyword = arg.keyword.value if arg.keyword is not None else None
                items.append(Argument(values, arg.value, keyword))
        return Arguments(tuple(items), unknown_because, rest)

    def named(self, node: cst.NamedExpr) -> Values:
        """``name := value``."""
        values = self.evaluate(node.value)
        self.bind_target(node.target, values)
        return values

    def awaited(self, node: cst.Await) -> Values:
        """``await value``."""
        return self.evaluate(node.expression)

    def yielded(self, node: cst.Yield) -> Values:
        """``yield``: what the generator gives."""
        if node.value is None:
            self.activation.yields = join(self.activation.yields, (Constant(None),))
        elif isinstance(node.value, cst.From):
            values = self.evaluate(node.value.item)
            self.activation.yields = join(self.activation.yields, self.elements(values, node))
        else:
            values = self.evaluate(node.value)
            self.activation.yields = join(self.activation.yields, values)
        return (self.opaque("operation", node, "yield"),)


def is_literal(node: cst.BaseExpression) -> bool:
    """Whether a bound of a slice is a number that is written there."""
    if isinstance(node, cst.UnaryOperation):
        node = node.expression
    return isinstance(node, cst.Integer)


@lru_cache(maxsize=4096)
def literal(text: str) -> object:
    """What a literal stands for; those of a loop or a function are evaluated many times.

    Raises:
        ValueError, SyntaxError: Python cannot read it.
    """
    found: object = ast.literal_eval(text)
    return found


def alternative_entries(mappings: list[Mapping]) -> list[Argument]:
    """The entries of one of several mappings: those of all are certain, others may be absent."""
    keys: list[object] = []
    for mapping in mappings:
        keys.extend(key for key in mapping.entries if key not in keys)
    found = []
    for key in keys:
        entries = [mapping.entries[key] for mapping in mappings if key in mapping.entries]
        found.append(
            Argument(
                join(*(entry.values for entry in entries)),
                entries[0].node,
                str(key),
                mappings[0],
                maybe=len(entries) < len(mappings) or any(entry.maybe for entry in entries),
            )
        )
    return found


HANDLERS: dict[type[cst.CSTNode], Callable[[Any, Any], Values]] = {
    cst.Name: Expressions.name,
    cst.SimpleString: Expressions.string,
    cst.ConcatenatedString: Expressions.concatenated,
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
    cst.DictComp: Expressions.comprehension,
    cst.GeneratorExp: Expressions.comprehension,
    cst.Lambda: Expressions.lambda_node,
    cst.Call: Expressions.call_node,
    cst.NamedExpr: Expressions.named,
    cst.Await: Expressions.awaited,
    cst.Yield: Expressions.yielded,
    cst.Ellipsis: lambda run, node: (Constant("..."),),
}
