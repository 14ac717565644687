"""What the wraps of models do in the abstract run of a process."""

from __future__ import annotations

from collections.abc import Callable

import libcst as cst

from transpile.audit.handing import Handing
from transpile.audit.vocabulary import Vocabulary
from transpile.facts.module import Module
from transpile.facts.state import Dialect
from transpile.facts.values import (
    Arguments,
    Class,
    Constant,
    External,
    Function,
    Opaque,
    Settled,
    Value,
    Values,
    join,
    only_constant,
)


class Wraps(Handing):
    """The part of the run that knows wraps.

    Args:
        dialect: what is known of the framework.
        find_module: see :func:`transpile.facts.interpreter.interpret`.
        vocabulary: what wraps models, and the attribute that leads out of each wrap.
        shows_wraps: a wrapped model is another object than the model.
    """

    def __init__(
        self,
        dialect: Dialect,
        find_module: Callable[[str, Module], Module | None],
        vocabulary: Vocabulary,
        shows_wraps: bool,
    ) -> None:
        super().__init__(dialect, find_module)
        self.vocabulary = vocabulary
        self.shows_wraps = shows_wraps
        self.own_wraps: list[Class | Function] = []
        self.wrapper_attributes |= frozenset(filter(None, vocabulary.wraps.values()))

    def call_class(self, callee: Class, arguments: Arguments, node: cst.CSTNode) -> Values:
        """A wrap that the project derives from the framework's is one of that kind."""
        if arguments.items:
            known = [name for name in callee.external_bases() if name in self.vocabulary.wraps]
            if known:
                self.own_wraps.append(callee)
                wrap = External(known[0])
                self.record("call", node, (wrap,), arguments)
                return self.call_external(wrap, arguments, node)
        return super().call_class(callee, arguments, node)

    def wrap_of(self, value: Value) -> str | None:
        """The attribute that leads out of a wrap; None for anything else."""
        if not self.shows_wraps or not isinstance(value, Opaque) or value.kind != "call":
            return None
        for callee in value.callee:
            if isinstance(callee, External) and callee.name in self.vocabulary.wraps:
                return self.vocabulary.wraps[callee.name]
        return None

    def wrapped(self, value: Opaque) -> Values:
        """The model in a wrap."""
        return value.arguments.items[0].values

    def call_opaque(self, callee: Opaque, arguments: Arguments, node: cst.CSTNode) -> Values:
        """Call a wrapped model, which calls the model; its methods give itself back."""
        if self.wrap_of(callee) is not None:
            made = self.opaque("call", node, callee=(callee,), arguments=arguments)
            results: list[Value] = [made]
            for value in self.wrapped(callee):
                results.extend(self.invoke_one(value, arguments, node))
            return join(results)
        if callee.kind == "attribute" and callee.operands:
            receivers = callee.operands[0]
            if receivers and all(self.wrap_of(receiver) is not None for receiver in receivers):
                if any(callee.name in words for words in self.dialect.returns_receiver.values()):
                    return receivers
        return super().call_opaque(callee, arguments, node)

    def builtin_isinstance(self, arguments: Arguments, node: cst.CSTNode) -> Values:
        """``isinstance(model, DistributedDataParallel)``: decided where wraps are shown."""
        given = [item.values for item in arguments.items]
        if self.shows_wraps and len(given) == 2:
            classes = join(given[1], *(self.known_elements(given[1]) or ()))
            wraps = {v.name for v in classes if isinstance(v, External)}
            wraps &= set(self.vocabulary.wraps)
            if wraps:
                return (Settled(any(self.is_wrapped(v, wraps) for v in given[0])),)
        return super().builtin_isinstance(arguments, node)

    def is_wrapped(self, value: Value, names: set[str]) -> bool:
        """Whether a value is a wrap of one of these classes."""
        return self.wrap_of(value) is not None and not names.isdisjoint(makers(value))  # type: ignore[arg-type]

    def builtin_getattr(self, arguments: Arguments, node: cst.CSTNode) -> Values:
        """``getattr(model, "module", model)``: a wrap has what leads out of it."""
        given = [item.values for item in arguments.items]
        if len(given) == 3:
            name = only_constant(given[1])
            if name is not None and given[0]:
                if all(self.wrap_of(value) == name.value for value in given[0]):
                    return self.attribute(given[0], str(name.value), node)
        return super().builtin_getattr(arguments, node)

    def builtin_hasattr(self, arguments: Arguments, node: cst.CSTNode) -> Values:
        """``hasattr(model, "module")``: a wrap has what leads out of it."""
        given = [item.values for item in arguments.items]
        if len(given) == 2:
            name = only_constant(given[1])
            if name is not None and any(self.wrap_of(value) == name.value for value in given[0]):
                return (Settled(True),)
            if given[0] and all(isinstance(value, External) for value in given[0]):
                # What a script asks a library for is there in its newer versions.
                return (Constant(True),)
        return (self.opaque("operation", node, "hasattr", tuple(given)),)


def makers(value: Opaque) -> list[str]:
    """The names of the calls outside the project that made an object."""
    return [callee.name for callee in value.callee if isinstance(callee, External)]
