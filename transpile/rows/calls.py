"""Calls within a model: of the project's functions and layers, and of a library's."""

from __future__ import annotations

import libcst as cst

from transpile.facts.fields import Field, fields_of, has_fields, tuple_fields
from transpile.facts.values import (
    BoundMethod,
    Class,
    Constant,
    External,
    Function,
    Instance,
    Opaque,
    Partial,
    Super,
    Value,
)
from transpile.facts.values import Unknown as UnknownFact
from transpile.plan.graph import called_names, origin

from .again import once
from .domain import (
    NONE,
    PLAIN,
    Cell,
    Coupled,
    Group,
    Held,
    Input,
    Known,
    Local,
    Method,
    Number,
    Record,
    Unknown,
    choice,
    options,
    problem_of,
)
from .elements import Elements
from .shapes import Impossible, Mixed, Unclear
from .state import DEEPEST_CALLS, Frame, Given

#: What is called, where the facts have no name for it.
UNNAMED = "what is called"


class Calls(Elements):
    """The part of a run that knows calls."""

    def call(self, callee: Known, given: Given) -> Known:
        """What a call gives, over all that may be called."""
        found: list[Known] = []
        called: list[Known] = [
            one for one in options(callee) if not isinstance(one, (Constant, Number))
        ] or list(options(callee))
        impossible = False
        for option in called:
            alternatives = option.values if isinstance(option, Held) else (None,)
            for value in alternatives:
                try:
                    found.append(
                        self.call_object(value, given)
                        if value is not None
                        else self.call_known(option, given)
                    )
                except Impossible:
                    impossible = True
        if impossible and not found:
            raise Impossible
        return choice(*found)

    def guarded(self, made: Known | None, given: Given, what: str) -> Known:
        """What a call gave, or what is said where nothing is known of it."""
        if made is not None:
            return made
        if what == UNNAMED:
            module, node = self.site
            called = node.func if isinstance(node, cst.Call) else node
            what = module.source.code(called)
        return self.nothing_known(given, given.every(), f"nothing is known of '{what}'")

    def nothing_known(self, given: Given, every: tuple[Known, ...], reason: str) -> Known:
        """What something gives that cannot be analysed, and what it may do with samples."""
        problem = self.given_problem(given)
        if problem is None and any(self.sampled(one) for one in every):
            problem = self.unknown(reason)
        if problem is None:
            return PLAIN
        # It may keep them, whatever becomes of what it gives.
        self.problems.append(problem)
        return problem

    def given_problem(self, given: Given) -> Coupled | Unknown | None:
        """The first problem among arguments."""
        every = [part for one in given.every() for part in self.deep(one)]
        for kind in (Coupled, Unknown):
            for one in every:
                if isinstance(one, kind):
                    return one
        return None

    def call_known(self, callee: Known, given: Given) -> Known:
        """A call of something that is no object of the facts."""
        if isinstance(callee, (Coupled, Unknown)):
            return callee
        if isinstance(callee, Local):
            return self.call_local(callee, given)
        if isinstance(callee, Method):
            return self.call_method(callee, given)
        if isinstance(callee, Constant) and callee.value is None:
            raise Impossible
        return self.guarded(None, given, UNNAMED)

    def call_method(self, callee: Method, given: Given) -> Known:
        """A call of a method of a tensor, a container or a library's object."""
        base, word = callee.base, callee.word
        if isinstance(base, Held) and word in ("forward", "__call__"):
            return self.call(base, given)
        if word == f"super().{self.call_method_word}" and isinstance(base, Held):
            return choice(*(self.call_base(one, given) for one in base.values))

        def one(receiver: Known) -> Known:
            found = self.library.method(self, receiver, word, given)
            if found is not None:
                return found
            every = (receiver, *given.every())
            return self.nothing_known(given, every, f"nothing is known of '.{word}'")

        if isinstance(base, (Cell, Group, Record)):
            return one(base)
        found = self.apply(one, base)
        if writes_in_place(word):
            self.written_over(found)
        return found

    def written_over(self, found: Known) -> None:
        """Note what is written over a tensor, which other names may stand for, too."""
        problem = problem_of(options(found))
        if problem is not None:
            self.problems.append(problem)

    def call_object(self, value: Value, given: Given) -> Known:
        """A call of something that the facts know."""
        if isinstance(value, Function):
            return self.call_function(value, given, None)
        if isinstance(value, BoundMethod):
            with_receiver = Given(
                (Held((value.receiver,)), *given.items), given.keywords, given.more
            )
            return self.call_function(value.function, with_receiver, value.receiver)
        if isinstance(value, Partial):
            first = self.lifted_arguments(value.arguments)
            both = Given(
                (*first.items, *given.items), {**first.keywords, **given.keywords}, given.more
            )
            return self.call(Held(value.callee), both)
        if isinstance(value, External):
            if value.name == "builtins.super":
                return self.behind(given)
            if self.library.is_layer((value.name,)) and (layer := self.layer_made(value.name)):
                return layer
            made = self.guarded(self.call_library(value.name, given), given, value.name)
            if writes_in_place(value.name):
                self.written_over(made)
            if "out" in given.keywords and self.sampled(made):
                self.problems.append(self.unknown("samples are written into a tensor", "state"))
            return made
        if isinstance(value, Instance):
            return self.call_instance(value, given)
        if isinstance(value, Class):
            return self.instantiate(value, given)
        if isinstance(value, Opaque):
            return self.call_opaque(value, given)
        if isinstance(value, UnknownFact):
            return self.guarded(None, given, value.reason)
        return self.guarded(None, given, UNNAMED)

    def layer_made(self, name: str) -> Held | None:
        """The layer that the followed code makes here, with what it is told."""
        made = tuple(
            value
            for value in self.facts.values_of(self.site[1])
            if isinstance(value, Opaque) and origin(value) is value and name in called_names(value)
        )
        return Held(made) if made else None

    def call_library(self, name: str, given: Given) -> Known | None:
        """A call of a library's function."""
        try:
            return self.library.function(self, name, given)
        except Mixed as mixed:
            return self.coupled(mixed.reason, mixed.cause)
        except Unclear as unclear:
            return self.unknown(unclear.reason, unclear.cause)

    def behind(self, given: Given) -> Known:
        """``super()``."""
        function = self.frame.function
        if self.frame.receiver is None or function.owner is None:
            return self.unknown("'super()' is not known")
        return Held((Super(self.frame.receiver, function.owner),))

    def call_opaque(self, value: Opaque, given: Given) -> Known:
        """A call of an object that a library made, or of an attribute of one."""
        layer = origin(value)
        names = called_names(layer)
        if isinstance(layer, Opaque) and names and self.library.is_layer(names):
            return self.call_layer(names, layer, self.lifted_arguments(layer.arguments), given)
        if isinstance(layer, Instance):
            return self.call_instance(layer, given)
        if names and names[0] == "copy.deepcopy" and isinstance(layer, Opaque):
            first = layer.arguments.get("x", 0)
            if first is not None:
                return self.call(self.lift(first.values), given)
        fields = tuple_fields(layer) if not given.more else []
        if fields:
            return self.record_of(fields, given, ordered=True)
        what = names[0] if names else value.name or UNNAMED
        return self.guarded(None, given, what)

    def call_layer(self, names: tuple[str, ...], layer: Value, made: Given, given: Given) -> Known:
        """A call of a library's layer."""
        try:
            found = self.library.layer(self, names, layer, made, given)
        except Mixed as mixed:
            return self.coupled(mixed.reason, mixed.cause)
        except Unclear as unclear:
            return self.unknown(unclear.reason, unclear.cause)
        return self.guarded(found, given, names[0])

    def call_instance(self, value: Instance, given: Given) -> Known:
        """A call of an object of a project class."""
        for word in ("__call__", self.call_method_word):
            if word in value.attributes:
                return self.call(self.lift(value.attributes[word]), given)
            for ancestor in value.cls.ancestry():
                if isinstance(ancestor, Class) and word in ancestor.scope.names:
                    return self.call(self.bound(ancestor.scope.names[word], value), given)
        return self.call_base(value, given)

    def call_base(self, value: Value, given: Given) -> Known:
        """A call of an object whose library base decides what is done."""
        if not isinstance(value, Instance):
            return self.guarded(None, given, UNNAMED)
        bases = tuple(name for name in value.cls.external_bases() if self.library.is_layer((name,)))
        if not bases:
            return self.guarded(None, given, value.cls.name)
        made = Given()
        for event in self.facts.calls_to(*(f"{name}.__init__" for name in bases)):
            frames = list(event.calls())
            if frames and value in frames[-1].receiver:
                made = self.lifted_arguments(event.arguments)
        if not made.items and not made.keywords and value.arguments is not None:
            made = self.lifted_arguments(value.arguments)
        return self.call_layer(bases, value, made, given)

    def instantiate(self, cls: Class, given: Given) -> Known:
        """An object that is made on the way."""
        if has_fields(cls) or "builtins.tuple" in cls.external_bases():
            return self.record_of(fields_of(cls), given, ordered=not cls.is_dataclass)
        problem = self.given_problem(given)
        if problem is not None:
            return problem
        if any(self.sampled(one) for one in given.every()):
            return self.unknown(f"an object of '{cls.name}' is made of samples")
        return PLAIN

    def record_of(self, fields: list[Field], given: Given, *, ordered: bool) -> Record:
        """An object that holds what it is given under the names of its fields, in their order."""
        named: dict[object, Known] = dict(
            zip((field.name for field in fields), given.items, strict=False)
        )
        named.update(given.keywords)
        for field in fields:
            if field.name not in named and field.default:
                named[field.name] = self.lift(field.default)
        names = [field.name for field in fields if field.name in named]
        others = [name for name in named if name not in names]
        return Record(tuple((name, named[name]) for name in (*names, *others)), ordered=ordered)

    # Functions of the project.

    def call_function(self, function: Function, given: Given, receiver: Value | None) -> Known:
        """A call of a function of the project."""
        if isinstance(receiver, Class):
            receiver = None
        if self.is_autograd(function):
            return self.guarded(None, given, function.name)
        names = self.parameters(function.node.params, given, function)
        return once(self, function, names, lambda: self.enter(function, names, receiver, ()))

    def is_autograd(self, function: Function) -> bool:
        """Whether calls of a function do not simply run it."""
        return False

    def call_local(self, local: Local, given: Given) -> Known:
        """A call of a function that the followed code has defined."""
        outer = local.function
        made = Function(local.node, outer.module, "a function", outer.closure, {}, outer.owner)
        names = self.parameters(local.node.params, given, None)
        around = (local.names, *self.frame.outer)
        return self.enter(made, names, local.receiver, around)

    def enter(
        self,
        function: Function,
        names: dict[str, Known],
        receiver: Value | None,
        outer: tuple[dict[str, Known], ...],
    ) -> Known:
        """Run the body of a function."""
        if len(self.frames) >= DEEPEST_CALLS:
            return self.unknown("calls are too deep inside each other", "layout")
        if sum(frame.function.node is function.node for frame in self.frames) > 12:
            return self.unknown(f"'{function.name}' calls itself", "layout")
        self.functions.setdefault(id(function.node), function)
        frame = Frame(names, function, receiver, outer)
        before = getattr(self, "frame", None)
        self.frames.append(frame)
        self.frame = frame
        try:
            if isinstance(function.node, cst.Lambda):
                return self.evaluate(function.node.body)
            falls = self.execute_body(function.node.body)
            if frame.yields:
                return Group((), choice(*frame.yields))
            if not frame.returns and not falls:
                raise Impossible
            return choice(*frame.returns, *((NONE,) if falls else ()))
        finally:
            self.frames.pop()
            if before is not None:
                self.frame = before

    def parameters(
        self, parameters: cst.Parameters, given: Given, function: Function | None
    ) -> dict[str, Known]:
        """Parameter names to arguments."""
        positional = [one.name.value for one in (*parameters.posonly_params, *parameters.params)]
        known = {*positional, *(one.name.value for one in parameters.kwonly_params)}
        bound: dict[str, Known] = dict(zip(positional, given.items, strict=False))
        others: dict[object, Known] = {}
        for word, value in given.keywords.items():
            if word in known:
                bound.setdefault(word, value)
            elif word != "**":
                others[word] = value
        every = (*parameters.posonly_params, *parameters.params, *parameters.kwonly_params)
        for one in every:
            name = one.name.value
            if name in bound:
                continue
            if one.default is not None:
                default = (
                    self.lift(function.defaults.get(name, ()))
                    if function is not None
                    else self.evaluate(one.default)
                )
            elif not given.more:
                raise Impossible
            else:
                default = PLAIN
            if given.more and (given.keywords.get("**") is not None or one.default is None):
                rest = given.keywords.get("**", Number())
                if self.sampled(rest) or one.default is None:
                    others_known = (rest,) if isinstance(rest, Input) else ()
                    unknown = self.unknown("its arguments are unpacked", "arguments")
                    default = choice(default, unknown, *others_known)
            bound[name] = default
        if isinstance(parameters.star_arg, cst.Param):
            bound[parameters.star_arg.name.value] = Group(given.items[len(positional) :])
        elif len(given.items) > len(positional):
            raise Impossible
        if parameters.star_kwarg is not None:
            bound[parameters.star_kwarg.name.value] = self.cell(
                parameters.star_kwarg, Record(tuple(others.items()))
            )
        return bound


def writes_in_place(word: str) -> bool:
    """Whether an operation writes over its tensor, by its name."""
    return word.endswith("_") and not word.endswith("__")
