"""Evaluation of expressions."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import libcst as cst

from transpile.facts.expressions.literals import written_slice
from transpile.facts.expressions.operators import Operators
from transpile.facts.state import external, unknown
from transpile.facts.values import (
    Argument,
    Arguments,
    Constant,
    Function,
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


class Expressions(Operators):
    """The part of the interpreter that knows expressions."""

    #: The kinds of expressions whose values :meth:`revise` looks at again.
    revised: frozenset[type[cst.CSTNode]] = frozenset()

    def evaluate(self, node: cst.CSTNode) -> Values:
        """The values of an expression, in the current scope.

        This runs more often than anything else, so that no call in it is one too many.
        """
        self.steps += 1
        if self.steps > self.most_steps or len(self.events) > self.most_events:
            raise self.too_complex()
        kind = type(node)
        handler = HANDLERS.get(kind)
        if handler is None:
            return unknown(f"{kind.__name__} is not followed")
        values = handler(self, node)
        known, key = self.values, id(node)
        before = known.get(key)
        if before is not values:
            known[key] = values if before is None or before == values else join(before, values)
        return self.revise(node, values) if kind in self.revised else values

    def revise(self, node: cst.CSTNode, values: Values) -> Values:
        """What an expression gives after all, where more is known than its parts tell."""
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

    # Operators.

    # Access.

    def attribute_node(self, node: cst.Attribute) -> Values:
        """``base.name``."""
        return self.attribute(self.evaluate(node.value), node.attr.value, node)

    def subscript(self, node: cst.Subscript) -> Values:
        """``base[index]``."""
        base = self.evaluate(node.value)
        indices: list[Values] = []
        is_slice = False
        for element in node.slice:
            part = element.slice
            if isinstance(part, cst.Index):
                indices.append(self.as_index(base, self.evaluate(part.value), node))
            elif isinstance(part, cst.Slice):
                is_slice = True
                for bound in (part.lower, part.upper, part.step):
                    if bound is not None:
                        self.as_index(base, self.evaluate(bound), bound)
        if is_slice and len(node.slice) == 1:
            parts = self.parts_of_sequences(base, node)
            others = tuple(value for value in base if not isinstance(value, Sequence))
            return join(parts, self.item(others, (), node))
        if len(indices) != 1 or is_slice:
            return self.item(base, (), node)
        found = self.item(base, indices[0], node)
        self.note_pick(base, indices[0], node)
        index = node.slice[0].slice
        counted = isinstance(self.module.source.parent(node), cst.AugAssign)
        if only_constant(indices[0]) is None and not counted and is_choice(base):
            assert isinstance(index, cst.Index)
            self.record("choose", index.value, indices[0], result=found)
        return found

    def parts_of_sequences(self, base: Values, node: cst.Subscript) -> Values:
        """The parts of lists that a slice takes: which elements, where its bounds are written."""
        found: list[Value] = []
        written = written_slice(node)
        for value in base:
            if isinstance(value, Sequence):
                key = ("slice", id(node), id(value), self.context)
                made = self.nodes.get(key)
                if not isinstance(made, Sequence):
                    made = Sequence(value.kind, node, [])
                    self.nodes[key] = made
                if written is None or value.rest or made.rest:
                    made.elements = []
                    made.rest = join(made.rest, value.every())
                else:
                    made.elements = value.elements[written]
                self.pick_into(made, value.picked)
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
        """``name := value``, which a comprehension binds around itself."""
        values = self.evaluate(node.value)
        inner = scope = self.activation.scope
        while scope.is_comprehension and scope.parent is not None:
            scope = scope.parent
        self.activation.scope = scope
        self.bind_target(node.target, values)
        self.activation.scope = inner
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


def is_choice(base: Values) -> bool:
    """Whether values are containers of constants, of which an index chooses one."""
    return bool(base) and all(
        isinstance(value, (Sequence, Mapping))
        and all(isinstance(one, Constant) for one in value.every())
        for value in base
    )
