"""Functions that are handed to libraries, which keep or ask them and do not call them now."""

from __future__ import annotations

import libcst as cst

from transpile.audit.picking import Picking
from transpile.audit.vocabulary import Vocabulary
from transpile.facts.values import (
    Argument,
    Arguments,
    Class,
    External,
    Function,
    Opaque,
    Value,
    Values,
    join,
)

#: Functions that are given one to copy its name, and do not call it.
KEEPS_NAMES = frozenset({"functools.wraps", "functools.update_wrapper"})
#: Packages that ask how a function is written.
ASKING = ("inspect.",)


class Handing(Picking):
    """The part of a process's run that knows what does not call the function that it is given."""

    vocabulary: Vocabulary

    def call_external(self, callee: External, arguments: Arguments, node: cst.CSTNode) -> Values:
        """``inspect.signature(function)`` and the like run nothing."""
        if callee.name in KEEPS_NAMES or callee.name.startswith(ASKING):
            return (self.opaque("call", node, callee=(callee,), arguments=arguments),)
        return super().call_external(callee, arguments, node)

    def call_opaque(self, callee: Opaque, arguments: Arguments, node: cst.CSTNode) -> Values:
        """``no_grad()(function)`` gives back a function that does the same."""
        makers = [one.name for one in callee.callee if isinstance(one, External)]
        if makers and self.vocabulary.contexts.issuperset(makers) and len(arguments.items) == 1:
            given = arguments.items[0].values
            if given and all(isinstance(value, Function) for value in given):
                return given
        made = super().call_opaque(callee, arguments, node)
        return join(made, self.applied(callee, arguments, node))

    def may_meet(self, value: Value) -> bool:
        """Whether a function is one whose module names something that processes do together."""
        if not isinstance(value, Function):
            return False
        words = {name.rpartition(".")[2] for name in self.vocabulary.meets}
        text = value.module.source.text
        return any(word in text for word in words)

    def applied(self, callee: Opaque, arguments: Arguments, node: cst.CSTNode) -> Values:
        """``Gather.apply(x)`` runs the function of the class that computes."""
        if callee.kind != "attribute" or callee.name != "apply":
            return ()
        context = Argument((self.opaque("parameter", node, "context"),), None)
        passed = Arguments((context, *arguments.items), arguments.unknown_because)
        found: list[Value] = []
        for one in callee.operands[0]:
            bases = one.external_bases() if isinstance(one, Class) else ()
            for word in {self.vocabulary.applied[b] for b in bases if b in self.vocabulary.applied}:
                computes = self.attribute((one,), word, node)
                functions = tuple(value for value in computes if self.may_meet(value))
                found.extend(self.invoke(functions, passed, node) if functions else ())
        return tuple(found)
