"""Builtins that ask an object of the project what it stands for, or for its class."""

from __future__ import annotations

import libcst as cst

from transpile.facts.calls.named_attributes import NamedAttributes
from transpile.facts.expressions.descriptors import ACCESSORS, TRUTH
from transpile.facts.state import external
from transpile.facts.values import Argument, Arguments, Instance, Values, join

#: Builtins that ask objects by methods, and those methods.
CONVERSIONS = {
    "float": ("__float__", "__index__"),
    "int": ("__int__", "__index__", "__trunc__"),
    "complex": ("__complex__", "__float__", "__index__"),
    "bool": TRUTH,
    "abs": ("__abs__",),
    "round": ("__round__",),
    "hash": ("__hash__",),
}
#: Builtins that ask objects for the numbers that they stand for.
INDEXED = frozenset({"range", "slice", "bin", "oct", "hex", "chr"})


class Conversions(NamedAttributes):
    """The part of the interpreter that knows what objects are converted to."""

    def stood_for(self, word: str, arguments: Arguments, node: cst.CSTNode) -> Values | None:
        """What a builtin gives for objects that say it themselves; None for what else it is given.

        Args:
            word: the builtin.
            arguments: what it is given.
            node: the call.
        """
        methods = CONVERSIONS.get(word)
        ordered = arguments.positional()
        if methods is None or not ordered:
            return None
        first = ordered[0].values
        answered = [self.ask_first(value, methods, (), node) for value in first]
        told = join(*(answer for answer in answered if answer is not None))
        others = tuple(
            value for value, answer in zip(first, answered, strict=True) if answer is None
        )
        if not others or others == first:
            return told if not others else None
        given = Arguments((Argument(others, ordered[0].node), *arguments.items[1:]))
        made = self.opaque("call", node, callee=external(f"builtins.{word}"), arguments=given)
        return join(told, (made,))

    def with_indexes(self, arguments: Arguments, node: cst.CSTNode) -> Arguments:
        """Arguments with the numbers that objects stand for in place of the objects."""
        items = [
            Argument(
                self.as_index((), item.values, node),
                item.node,
                item.keyword,
                item.mapping,
                item.maybe,
            )
            for item in arguments.items
        ]
        return Arguments(tuple(items), arguments.unknown_because, arguments.rest)

    def builtin_type(self, arguments: Arguments, node: cst.CSTNode) -> Values:
        """``type(object)``: the class of an object of the project."""
        given = arguments.items[0].values if len(arguments.items) == 1 else ()
        classes = join(value.cls for value in given if isinstance(value, Instance))
        if given and all(isinstance(value, Instance) for value in given):
            return classes
        made = self.opaque("call", node, callee=external("builtins.type"), arguments=arguments)
        return join(classes, (made,))

    def builtin_property(self, arguments: Arguments, node: cst.CSTNode) -> Values:
        """``property(get, set)``: a function that is called where its name is read."""
        words = enumerate(ACCESSORS.values())
        given = {word: item.values for at, word in words if (item := arguments.get(word, at))}
        made = self.make_property(given, node)
        if made is not None:
            return (made,)
        callee = external("builtins.property")
        return (self.opaque("call", node, callee=callee, arguments=arguments),)
