"""Evaluation of expressions."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable
from typing import Any

import libcst as cst

from transpile.facts.events import Branch, Loop
from transpile.facts.state import State, external, truth, unknown
from transpile.facts.values import (
    Argument,
    Arguments,
    BoundMethod,
    Class,
    Constant,
    Entry,
    External,
    Function,
    Generator,
    Instance,
    Mapping,
    ModuleValue,
    Opaque,
    Partial,
    Scope,
    Sequence,
    Super,
    Unknown,
    Value,
    Values,
    join,
    only_constant,
)

#: Loops over literal sequences of up to so many elements are followed element by element.
MOST_UNROLLED = 4
BUILTINS = frozenset(dir(builtins))
SINGLETONS: dict[str, Values] = {
    "True": (Constant(True),),
    "False": (Constant(False),),
    "None": (Constant(None),),
}


class Expressions(State):
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
            return found
        if node.value == "__name__":
            return (Constant(self.module.name),)
        if node.value == "__file__":
            return (self.opaque("attribute", node, "__file__", operands=((),)),)
        if node.value in BUILTINS:
            return external(f"builtins.{node.value}")
        stars = self.module.star_externals
        if stars:
            return unknown(f"'{node.value}' may come from 'import *' of {', '.join(stars)}")
        return unknown(f"'{node.value}' is not bound anywhere in the script")

    # Literals.

    def string(self, node: cst.SimpleString) -> Values:
        """A string or bytes literal."""
        try:
            return (Constant(ast.literal_eval(node.value)),)
        except (ValueError, SyntaxError):
            return unknown("a string literal that cannot be read")

    def number(self, node: Any) -> Values:
        """An integer, float or imaginary literal."""
        try:
            return (Constant(ast.literal_eval(node.value)),)
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

    def new_mapping(self, node: cst.CSTNode) -> Mapping:
        """The mapping made at this place."""
        key = ("mapping", id(node), self.context)
        made = self.nodes.get(key)
        if not isinstance(made, Mapping):
            made = Mapping(node, self.module, self.branches())
            self.nodes[key] = made
        return made

    def store_item(
        self, mapping: Mapping, keys: Values, values: Values, node: cst.CSTNode | None
    ) -> None:
        """``mapping[key] = value``: certain, or only on some branch."""
        constant = only_constant(keys)
        if constant is None:
            if mapping.open_because is None:
                mapping.open_because = "a key that is computed is set"
                self.heap_version += 1
            mapping.rest = join(mapping.rest, values)
            return
        branches = self.branches()
        definite = branches == mapping.branches[: len(branches)]
        old = mapping.entries.get(constant.value)
        if definite or old is None:
            made = Entry(values, node, self.module, maybe=not definite)
        else:
            made = Entry(join(old.values, values), old.node, old.module, old.maybe)
        if old is None or old.values != made.values or old.maybe != made.maybe:
            self.heap_version += 1
        mapping.entries[constant.value] = made

    def update_mapping(self, mapping: Mapping, values: Values) -> None:
        """``mapping.update(values)`` or ``**values`` in a display."""
        for value in values:
            if isinstance(value, Mapping):
                for key, entry in list(value.entries.items()):
                    branches = self.branches()
                    definite = (
                        branches == mapping.branches[: len(branches)]
                        and not entry.maybe
                        and len(values) == 1
                    )
                    old = mapping.entries.get(key)
                    joined = (
                        entry.values if old is None or definite else join(old.values, entry.values)
                    )
                    maybe = not definite and (old is None or old.maybe)
                    if old is None or old.values != joined or old.maybe != maybe:
                        self.heap_version += 1
                    mapping.entries[key] = Entry(joined, entry.node, entry.module, maybe)
                if value.open_because and not mapping.open_because:
                    mapping.open_because = value.open_because
                mapping.rest = join(mapping.rest, value.rest)
            elif not mapping.open_because:
                mapping.open_because = "it is updated from something that is not known here"
                self.heap_version += 1

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

    def concatenate(self, node: cst.CSTNode, left: Values, right: Values) -> Values | None:
        """The sum of two known lists or tuples."""
        if len(left) == 1 and len(right) == 1:
            first, second = left[0], right[0]
            if isinstance(first, Sequence) and isinstance(second, Sequence):
                key = ("sequence", id(node), self.context)
                made = self.nodes.get(key)
                if not isinstance(made, Sequence):
                    made = Sequence(first.kind, node, [])
                    self.nodes[key] = made
                if first.rest:
                    made.elements = list(first.elements)
                    made.rest = join(first.rest, second.every())
                else:
                    made.elements = [*first.elements, *second.elements]
                    made.rest = second.rest
                return (made,)
        return None

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

    def attribute(self, base: Values, name: str, node: cst.CSTNode) -> Values:
        """The values of ``base.name``."""
        found: list[Value] = []
        for value in base:
            found.extend(self.attribute_of(value, name, node))
        return join(found)

    def attribute_of(self, value: Value, name: str, node: cst.CSTNode) -> Values:
        """The attribute of one alternative."""
        if isinstance(value, External):
            return external(self.dialect.canonical(f"{value.name}.{name}"))
        if isinstance(value, Unknown):
            return (value,)
        if isinstance(value, Instance):
            return self.instance_attribute(value, name, node)
        if isinstance(value, Class):
            if name == "__name__":
                return (Constant(value.name),)
            return self.class_attribute(value, name, None, value) or (
                self.opaque("attribute", node, name, ((value,),)),
            )
        if isinstance(value, Super):
            return self.super_attribute(value, name, node)
        if isinstance(value, ModuleValue):
            return self.module_attribute(value, name)
        if isinstance(value, Opaque):
            if name in self.wrapper_attributes and value.kind == "call":
                return (value,)
            stored = value.attributes.get(name)
            key = ("attribute", id(value), name)
            made = self.nodes.get(key)
            if not isinstance(made, Opaque):
                made = Opaque("attribute", node, self.module, name, operands=((value,),))
                self.nodes[key] = made
            return (made,) if stored is None else join(stored, (made,))
        if isinstance(value, Partial) and name == "func":
            return value.callee
        key = ("attribute", id(value) if not isinstance(value, Constant) else id(node), name)
        made = self.nodes.get(key)
        if not isinstance(made, Opaque):
            made = Opaque("attribute", node, self.module, name, operands=((value,),))
            self.nodes[key] = made
        return (made,)

    def instance_attribute(self, value: Instance, name: str, node: cst.CSTNode) -> Values:
        """An attribute of an object of a project class: its own, its class's, or opaque."""
        own = value.attributes.get(name)
        if own is not None:
            return own
        if name == "__class__":
            return (value.cls,)
        found = self.class_attribute(value.cls, name, value, value.cls)
        if found is not None:
            return found
        if name in self.wrapper_attributes:
            return (value,)
        key = ("attribute", id(value), name)
        made = self.nodes.get(key)
        if not isinstance(made, Opaque):
            made = Opaque("attribute", node, self.module, name, operands=((value,),))
            self.nodes[key] = made
        return (made,)

    def class_attribute(
        self, cls: Class, name: str, receiver: Instance | None, start: Class
    ) -> Values | None:
        """A name in the class or its bases, bound to the receiver; None where absent."""
        for ancestor in start.ancestry():
            if isinstance(ancestor, Class) and name in ancestor.scope.names:
                return self.bind(ancestor.scope.names[name], receiver, cls)
        return None

    def bind(self, values: Values, receiver: Instance | None, cls: Class) -> Values:
        """Functions found on a class become methods; properties are called."""
        bound: list[Value] = []
        for value in values:
            if not isinstance(value, Function):
                bound.append(value)
                continue
            words = {
                decorator.name
                for decorators in value.decorators
                for decorator in decorators
                if isinstance(decorator, External)
            }
            if "builtins.staticmethod" in words:
                bound.append(value)
            elif "builtins.classmethod" in words:
                bound.append(BoundMethod(cls, value))
            elif receiver is None:
                bound.append(value)
            elif words & {"builtins.property", "functools.cached_property"}:
                bound.extend(self.invoke((BoundMethod(receiver, value),), Arguments(), value.node))
            else:
                bound.append(BoundMethod(receiver, value))
        return tuple(bound)

    def super_attribute(self, value: Super, name: str, node: cst.CSTNode) -> Values:
        """``super().name``: the next definition behind the class."""
        receivers = value.receiver
        receiver = receivers if isinstance(receivers, Instance) else None
        ancestry = list((receiver.cls if receiver is not None else value.behind).ancestry())
        if value.behind in ancestry:
            ancestry = ancestry[ancestry.index(value.behind) + 1 :]
        for ancestor in ancestry:
            if isinstance(ancestor, Class) and name in ancestor.scope.names:
                return self.bind(ancestor.scope.names[name], receiver, ancestor)
        for ancestor in ancestry:
            if isinstance(ancestor, External):
                return external(f"{ancestor.name}.{name}")
        return external(f"builtins.object.{name}")

    def module_attribute(self, value: ModuleValue, name: str) -> Values:
        """A name of a project module, or one of its submodules."""
        self.import_module(value.module)
        scope = value.module.scope
        if scope is not None and name in scope.names:
            return scope.names[name]
        child = self.find_module(f"{value.module.name}.{name}", value.module)
        if child is not None:
            return (ModuleValue(child),)
        return unknown(f"'{name}' is not bound in module {value.module.name}")

    def subscript(self, node: cst.Subscript) -> Values:
        """``base[index]``."""
        base = self.evaluate(node.value)
        indices: list[Values] = []
        is_slice = False
        for element in node.slice:
            part = element.slice
            if isinstance(part, cst.Index):
                indices.append(self.evaluate(part.value))
            elif isinstance(part, cst.Slice):
                is_slice = True
                for bound in (part.lower, part.upper, part.step):
                    if bound is not None:
                        self.evaluate(bound)
        return self.item(base, indices[0] if len(indices) == 1 and not is_slice else (), node)

    def item(self, base: Values, index: Values, node: cst.CSTNode) -> Values:
        """An element of each alternative of `base`."""
        constant = only_constant(index)
        found: list[Value] = []
        for value in base:
            if isinstance(value, Unknown):
                found.append(value)
            elif isinstance(value, Mapping):
                if constant is not None and constant.value in value.entries:
                    found.extend(value.entries[constant.value].values)
                elif constant is None and index:
                    found.extend(value.every() or unknown("an entry of a dict"))
                else:
                    found.append(self.opaque("item", node, "", ((value,),), index=index))
            elif isinstance(value, Sequence):
                found.extend(self.sequence_item(value, constant, node))
            elif isinstance(value, Instance):
                method = self.class_attribute(value.cls, "__getitem__", value, value.cls)
                if method is not None:
                    found.extend(self.invoke(method, Arguments((Argument(index, None),)), node))
                else:
                    found.append(self.opaque("item", node, "", ((value,),), index=index))
            else:
                found.append(self.opaque("item", node, "", ((value,),), index=index))
        return join(found)

    def sequence_item(
        self, value: Sequence, constant: Constant | None, node: cst.CSTNode
    ) -> Values:
        """An element of a list or tuple."""
        if constant is not None and isinstance(constant.value, int):
            position = constant.value
            if not value.rest and -len(value.elements) <= position < len(value.elements):
                return value.elements[position]
            if 0 <= position < len(value.elements):
                return value.elements[position]
            return value.every()
        return value.every() or (self.opaque("item", node, "", ((value,),)),)

    # Iteration.

    def known_elements(self, values: Values) -> list[Values] | None:
        """The elements of a single sequence of known length."""
        if len(values) == 1 and isinstance(values[0], Sequence) and not values[0].rest:
            return list(values[0].elements)
        return None

    def elements(self, values: Values, node: cst.CSTNode) -> Values:
        """What iterating over `values` gives."""
        found: list[Value] = []
        for value in values:
            found.extend(self.elements_of(value, node))
        return join(found)

    def elements_of(self, value: Value, node: cst.CSTNode) -> Values:
        """What iterating over one alternative gives."""
        if isinstance(value, Unknown):
            return (value,)
        if isinstance(value, Sequence):
            return value.every()
        if isinstance(value, Mapping):
            keys: tuple[Value, ...] = tuple(Constant(key) for key in value.entries)
            return keys if not value.open_because else join(keys, unknown("a key of a dict"))
        if isinstance(value, Generator):
            return value.yields
        if isinstance(value, Constant):
            return (self.opaque("element", node, "", ((value,),)),)
        if isinstance(value, Instance):
            method = self.class_attribute(value.cls, "__iter__", value, value.cls)
            if method is not None:
                iterated = self.invoke(method, Arguments(), node)
                if any(inner is value for inner in iterated):
                    step = self.class_attribute(value.cls, "__next__", value, value.cls)
                    return self.invoke(step, Arguments(), node) if step is not None else ()
                return self.elements(iterated, node)
        key = ("element", id(value), self.context, id(node))
        made = self.nodes.get(key)
        if not isinstance(made, Opaque):
            made = Opaque("element", node, self.module, operands=((value,),))
            self.nodes[key] = made
        return (made,)

    def comprehension(self, node: Any) -> Values:
        """A list, set, dict or generator comprehension."""
        scope = Scope({}, self.activation.scope, self.module)
        before_scope, before_stack = self.activation.scope, self.stack
        self.activation.scope = scope
        if node.for_in.inner_for_in is None:
            iterated = self.evaluate(node.for_in.iter)
            few = self.few_elements(iterated)
            if few is not None:
                try:
                    return self.unrolled_comprehension(node, iterated, few)
                finally:
                    self.activation.scope, self.stack = before_scope, before_stack
        try:
            part: cst.CompFor | None = node.for_in
            while part is not None:
                iterated = self.evaluate(part.iter)
                self.record("iterate", part, iterated)
                self.stack = self.pushed(Loop(node, self.module))
                self.bind_target(part.target, self.elements(iterated, part))
                for condition in part.ifs:
                    self.evaluate(condition.test)
                    self.stack = self.pushed(Branch(condition, "then"))
                part = part.inner_for_in
            if isinstance(node, cst.DictComp):
                keys, values = self.evaluate(node.key), self.evaluate(node.value)
                made = self.new_mapping(node)
                self.store_item(made, keys, values, node.value)
                made.open_because = made.open_because or "it is built by a comprehension"
                return (made,)
            values = self.evaluate(node.elt)
        finally:
            self.activation.scope, self.stack = before_scope, before_stack
        key = ("sequence", id(node), self.context)
        found = self.nodes.get(key)
        if not isinstance(found, Sequence):
            found = Sequence(
                "generator" if isinstance(node, cst.GeneratorExp) else "list", node, []
            )
            self.nodes[key] = found
        found.rest = join(found.rest, values)
        return (found,)

    def few_elements(self, iterated: Values) -> list[Values] | None:
        """The elements of a short literal sequence that tells its elements apart by constants.

        ``for phase in ("train", "eval")``: what happens depends on the phase, so each element is
        followed on its own.
        """
        known = self.known_elements(iterated)
        if known is None or not 0 < len(known) <= MOST_UNROLLED:
            return None
        for values in known:
            value = values[0] if len(values) == 1 else None
            if isinstance(value, Sequence) and value.kind == "tuple":
                continue
            if not (isinstance(value, Constant) and isinstance(value.value, (str, bool))):
                return None
        return known

    def unrolled_comprehension(self, node: Any, iterated: Values, few: list[Values]) -> Values:
        """A comprehension over a short literal sequence, element by element."""
        self.record("iterate", node.for_in, iterated)
        made_mapping = self.new_mapping(node) if isinstance(node, cst.DictComp) else None
        context, stack = self.context, self.stack
        elements: list[Values] = []
        try:
            for position, values in enumerate(few):
                self.context = (*context, id(node), position)
                self.stack = (*stack, Loop(node, self.module))
                self.bind_target(node.for_in.target, values)
                for condition in node.for_in.ifs:
                    self.evaluate(condition.test)
                if made_mapping is not None:
                    self.store_item(
                        made_mapping, self.evaluate(node.key), self.evaluate(node.value), node.value
                    )
                else:
                    elements.append(self.evaluate(node.elt))
        finally:
            self.context, self.stack = context, stack
        if made_mapping is not None:
            return (made_mapping,)
        key = ("sequence", id(node), self.context)
        found = self.nodes.get(key)
        if not isinstance(found, Sequence):
            found = Sequence("list", node, elements)
            self.nodes[key] = found
        found.elements = elements
        return (found,)

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


def fold(word: str, left: Any, right: Any) -> Constant | None:
    """Arithmetic on small constants."""
    if isinstance(left, str) and isinstance(right, str) and word == "Add":
        return Constant(left + right)
    if not isinstance(left, (int, float)) or not isinstance(right, (int, float)):
        return None
    if abs(left) > 1e12 or abs(right) > 1e12:
        return None
    try:
        if word == "Add":
            return Constant(left + right)
        if word == "Subtract":
            return Constant(left - right)
        if word == "Multiply":
            return Constant(left * right)
        if word == "Divide":
            return Constant(left / right)
        if word == "FloorDivide":
            return Constant(left // right)
        if word == "Modulo":
            return Constant(left % right)
        if word == "Power" and abs(right) <= 32 and abs(left) <= 1000:
            return Constant(left**right)
    except (ArithmeticError, ValueError):
        return None
    return None


def compare(word: str, left: Any, right: Any) -> bool | None:
    """A comparison of constants; None where it is not decided here."""
    try:
        if word == "Equal":
            return bool(left == right)
        if word == "NotEqual":
            return bool(left != right)
        if word == "Is" and (left is None or right is None):
            return left is right
        if word == "IsNot" and (left is None or right is None):
            return left is not right
        if word == "LessThan":
            return bool(left < right)
        if word == "GreaterThan":
            return bool(left > right)
        if word == "LessThanEqual":
            return bool(left <= right)
        if word == "GreaterThanEqual":
            return bool(left >= right)
    except TypeError:
        return None
    return None


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
