"""Functions of which the kind of an argument chooses one: ``functools.singledispatch``."""

from __future__ import annotations

import libcst as cst

from transpile.facts.calls.project import ProjectCalls
from transpile.facts.events import Branch
from transpile.facts.expressions.descriptors import decorator_names
from transpile.facts.state import external
from transpile.facts.values import (
    Argument,
    Arguments,
    BoundMethod,
    Class,
    Constant,
    External,
    Function,
    Instance,
    Mapping,
    Opaque,
    Sequence,
    Value,
    Values,
    join,
)

CHOOSING = {"functools.singledispatch": False, "functools.singledispatchmethod": True}
#: The attributes under which such a function keeps the others, and each of those what it is for;
#: no script can write such names.
OTHERS = "functions for other kinds"
KIND = "the kind that it is for"
#: What gives a number of a kind that is known.
GIVEN_KINDS = {"len": "int", "index": "int", "format": "str", "isinstance": "bool"}


class ChosenByKind(ProjectCalls):
    """The part of the interpreter that knows functions for several kinds of arguments."""

    def register(self, made: Function, decorators: tuple[Values, ...]) -> None:
        """Note a function that decorators register for a kind: ``@show.register``."""
        for value in join(*decorators):
            kind: Values = ()
            if isinstance(value, Opaque) and value.kind == "call" and len(value.callee) == 1:
                kind = value.arguments.items[0].values if value.arguments.items else ()
                value = value.callee[0]
            if not isinstance(value, Opaque) or value.kind != "attribute":
                continue
            for chosen in value.operands[0] if value.name == "register" else ():
                if isinstance(chosen, Function) and self.is_choosing(chosen) is not None:
                    own = int(bool(self.is_choosing(chosen)))
                    self.register_for(chosen, made, kind or self.annotated(made, own))

    def register_for(self, chosen: Function, made: Function, kind: Values) -> None:
        """Let a function be one of those that a kind of arguments chooses."""
        made.attributes[KIND] = join(made.attributes.get(KIND, ()), kind)
        others = join(chosen.attributes.get(OTHERS, ()), (made,))
        if others != chosen.attributes.get(OTHERS, ()):
            chosen.attributes[OTHERS] = others
            self.heap_version += 1

    def is_choosing(self, function: Function) -> bool | None:
        """Whether such a function is one of objects; None for other functions."""
        found = [CHOOSING[name] for name in decorator_names(function) if name in CHOOSING]
        return found[0] if found else None

    def annotated(self, made: Function, position: int) -> Values:
        """The kind that the annotation of a parameter names."""
        parameters = (*made.node.params.posonly_params, *made.node.params.params)
        if position >= len(parameters) or parameters[position].annotation is None:
            return ()
        annotation = parameters[position].annotation
        assert annotation is not None
        return self.evaluate(annotation.annotation)

    def chosen_by_kind(
        self, callee: Function | BoundMethod, arguments: Arguments, node: cst.CSTNode
    ) -> Values | None:
        """What the functions give that may be chosen; None where the callee is the only one."""
        function = callee.function if isinstance(callee, BoundMethod) else callee
        others = [one for one in function.attributes.get(OTHERS, ()) if isinstance(one, Function)]
        if not others:
            return None
        ordered = arguments.positional()
        given = ordered[0].values if ordered else ()
        found = [one for value in given for one in fitting(value, others, function)]
        fit = list(dict.fromkeys(found or (*others, function)))
        before, results = self.stack, []
        for one in fit:
            if len(fit) > 1:
                # One of them runs, never one behind the other.
                self.stack = (*before, Branch(node, f"{one.name} {fit.index(one)}"))
            passed = arguments
            receiver = callee.receiver if isinstance(callee, BoundMethod) else None
            if receiver is not None:
                own = Argument((receiver,), None)
                passed = Arguments(
                    (own, *arguments.items), arguments.unknown_because, arguments.rest
                )
            results.append(self.call_function(one, passed, node, receiver))
            self.stack = before
        return join(*results)


def fitting(value: Value, others: list[Function], function: Function) -> list[Function]:
    """The functions that one argument may choose, `function` being that for all other kinds."""
    kinds = kinds_of(value)
    if kinds is None:
        return [*others, function]
    for kind in kinds:
        named = [one for one in others if kind in one.attributes[KIND]]
        if named:
            return named
    untold = [one for one in others if not all(map(is_kind, one.attributes[KIND] or (None,)))]
    return [*untold, function]


def is_kind(value: Value | None) -> bool:
    """Whether a value is a class, of the project or from outside."""
    return isinstance(value, (Class, External))


def kinds_of(value: Value) -> list[Value] | None:
    """The classes of a value, the nearest first; None where they are not known."""
    if isinstance(value, Instance):
        return list(value.cls.ancestry())
    word = ""
    if isinstance(value, Constant):
        return [External(f"builtins.{each.__name__}") for each in type(value.value).__mro__]
    if isinstance(value, Sequence) and value.kind in ("list", "tuple", "set"):
        word = value.kind
    elif isinstance(value, Mapping):
        word = "dict"
    elif isinstance(value, Opaque) and value.kind == "operation":
        word = GIVEN_KINDS.get(value.name, "")
    elif isinstance(value, Opaque) and value.kind == "call" and len(value.callee) == 1:
        name = getattr(value.callee[0], "name", "")
        word = name[len("builtins.") :] if name in NAMED_KINDS else ""
    return list(external(f"builtins.{word}")) if word else None


NAMED_KINDS = frozenset({"builtins.float", "builtins.int", "builtins.str", "builtins.bool"})
