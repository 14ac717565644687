"""Calls into the functions and classes of the project."""

from __future__ import annotations

from itertools import islice

import libcst as cst

from transpile.facts.events import Call, Event
from transpile.facts.fields import Fields, has_fields
from transpile.facts.state import DEEPEST_CALLS, Activation, call_frames, unknown
from transpile.facts.values import (
    Argument,
    Arguments,
    BoundMethod,
    Class,
    Constant,
    External,
    Function,
    Generator,
    Instance,
    Mapping,
    Opaque,
    Scope,
    Sequence,
    Unknown,
    Value,
    Values,
    join,
)


class ProjectCalls(Fields):
    """The part of the interpreter that binds parameters, runs bodies and makes instances."""

    def call_function(
        self,
        function: Function,
        arguments: Arguments,
        node: cst.CSTNode | None,
        receiver: Value | None,
    ) -> Values:
        """Run a project function with arguments."""
        frames = call_frames(self.stack)
        if sum(frame.function is function for frame in frames) >= 2:
            return unknown(f"'{function.name}' calls itself")
        if len(frames) >= DEEPEST_CALLS:
            self.cut_short = True
            return unknown(f"'{function.name}' is called too deep inside other calls")
        self.entered.add(id(function.node))
        bound = self.bind_parameters(function, arguments, node)
        place = node if node is not None else function.node
        shape = (
            id(function),
            tuple(tuple(map(identity, values)) for values in bound.values()),
            self.detached,
        )
        key = (self.context, id(place), shape)
        memo = self.call_memo.get(key) or self.shared_memo.get(shape)
        if memo is not None and memo[1] == self.heap_version:
            return memo[0]
        self.runs[function] = self.runs.get(function, 0) + 1
        version, recorded = self.heap_version, len(self.events)
        saved = (self.stack, self.context, getattr(self, "activation", None))
        self.stack = self.pushed(
            Call(
                node,
                function,
                saved[2].module if saved[2] else function.module,
                (receiver,) if receiver is not None else (),
            )
        )
        self.context = (*self.context, id(place))
        scope = Scope(bound, function.closure, function.module)
        self.activation = Activation(scope, function.module)
        try:
            if isinstance(function.node, cst.Lambda):
                result = self.evaluate(function.node.body)
                yields: Values = self.activation.yields
            else:
                falls = self.execute_body(function.node.body)
                result = self.activation.returns
                yields = self.activation.yields
                if falls:
                    result = join(result, (Constant(None),))
        finally:
            self.stack, self.context = saved[0], saved[1]
            if saved[2] is not None:
                self.activation = saved[2]
        if function.is_generator:
            generator_key = ("generator", id(place), self.context, id(function))
            made = self.nodes.get(generator_key)
            if not isinstance(made, Generator):
                made = Generator(function, place)
                self.nodes[generator_key] = made
            made.yields = join(made.yields, yields)
            result = (made,)
        # A call that changed something may take another way when it comes round again.
        if self.heap_version == version:
            self.call_memo[key] = (result, version)
            if not function.is_generator and is_plain(result, bound):
                if all(map(is_quiet, islice(self.events, recorded, None))):
                    self.shared_memo[shape] = (result, version)
        return result

    def bind_parameters(
        self, function: Function, arguments: Arguments, node: cst.CSTNode | None
    ) -> dict[str, Values]:
        """Parameter names to values."""
        parameters = function.node.params
        positional = [p.name.value for p in (*parameters.posonly_params, *parameters.params)]
        keyword_only = [p.name.value for p in parameters.kwonly_params]
        bound: dict[str, Values] = {}
        given = list(arguments.positional())
        for name, argument in zip(positional, given, strict=False):
            bound[name] = argument.values
        extra = given[len(positional) :]
        known = set(positional) | set(keyword_only)
        others: list[Argument] = []
        for argument in arguments.items:
            if argument.keyword is None:
                continue
            if argument.keyword in known:
                values = argument.values
                if argument.maybe and argument.keyword in function.defaults:
                    values = join(values, function.defaults[argument.keyword])
                bound.setdefault(argument.keyword, values)
            else:
                others.append(argument)
        for name in (*positional, *keyword_only):
            if name in bound:
                continue
            if arguments.unknown_because:
                spread = arguments.rest or unknown(arguments.unknown_because)
                bound[name] = join(spread, function.defaults.get(name, ()))
            elif name in function.defaults:
                bound[name] = function.defaults[name]
            else:
                bound[name] = (self.parameter(function, name),)
        star = parameters.star_arg
        if isinstance(star, cst.Param):
            rest: Values = ()
            if arguments.unknown_because:
                rest = arguments.rest or unknown(arguments.unknown_because)
            bound[star.name.value] = (
                self.made_sequence(star, "tuple", [argument.values for argument in extra], rest),
            )
        if parameters.star_kwarg is not None:
            mapping = self.new_keyword_mapping(parameters.star_kwarg, others, arguments)
            bound[parameters.star_kwarg.name.value] = (mapping,)
        return bound

    def parameter(self, function: Function, name: str) -> Opaque:
        """A parameter that no call in sight gives a value to."""
        key = ("parameter", id(function.node), name)
        made = self.nodes.get(key)
        if not isinstance(made, Opaque):
            made = Opaque("parameter", function.node, function.module, name)
            self.nodes[key] = made
        return made

    def made_sequence(
        self, node: cst.CSTNode, kind: str, elements: list[Values], rest: Values
    ) -> Sequence:
        """A sequence made at this place by the interpreter itself."""
        key = ("sequence", id(node), self.context)
        made = self.nodes.get(key)
        if not isinstance(made, Sequence):
            made = Sequence(kind, node, elements, rest)
            self.nodes[key] = made
        else:
            made.elements, made.rest = elements, rest
        return made

    def new_keyword_mapping(
        self, node: cst.CSTNode, given: list[Argument], arguments: Arguments
    ) -> Mapping:
        """The dict behind a ``**kwargs`` parameter."""
        mapping = self.new_mapping(node)
        for argument in given:
            self.store_item(mapping, (Constant(argument.keyword),), argument.values, argument.node)
            mapping.entries[argument.keyword].maybe |= argument.maybe
        if arguments.unknown_because:
            mapping.open_because = arguments.unknown_because
        return mapping

    def instantiate(self, cls: Class, arguments: Arguments, node: cst.CSTNode) -> Values:
        """Make an object of a project class and run its initialiser."""
        key = ("instance", id(node), self.context, id(cls))
        made = self.nodes.get(key)
        if not isinstance(made, Instance):
            made = Instance(cls, node, self.module)
            self.nodes[key] = made
        made.arguments = arguments
        self.give_items(made, arguments, node)
        if self.holds_parts(made) and not self.has_own(made, "__init__"):
            self.put_parts(made, join(*(item.values for item in arguments.items), arguments.rest))
        initialiser = self.class_attribute(cls, "__init__", made, cls, node)
        if initialiser is not None:
            self.invoke(initialiser, arguments, node)
        elif has_fields(cls):
            self.fill_fields(made, arguments, node)
        elif not cls.external_bases() and not cls.bases:
            pass
        else:
            self.escape(arguments, node)
        return (made,)

    def call_instance(self, instance: Instance, arguments: Arguments, node: cst.CSTNode) -> Values:
        """Call an object: its ``__call__``, or what the framework dispatches to."""
        self.called.add(id(instance))
        own = self.class_attribute(instance.cls, "__call__", instance, instance.cls, node)
        if own is not None:
            return self.invoke(own, arguments, node)
        way = self.dispatch(instance)
        inner: Values = ()
        if way is not None:
            target = self.instance_attribute(instance, way.method, node)
            followed = tuple(v for v in target if isinstance(v, (BoundMethod, Function)))
            if followed:
                given = with_package(way.package, followed, instance, arguments)
                self.dispatching.append(instance)
                inner = self.invoke(followed, given, node)
                self.dispatching.pop()
        made = self.opaque("call", node, callee=(instance,), arguments=arguments, inner=inner)
        if len(inner) == 1 and isinstance(inner[0], Sequence) and not inner[0].rest:
            return (self.outputs(made, inner[0], node),)
        return (made,)

    def is_direct_dispatch(self, callee: BoundMethod) -> bool:
        """Whether a method is what a call of its object runs, called from outside the object."""
        receiver = callee.receiver
        if not isinstance(receiver, Instance) or receiver in self.dispatching:
            return False
        way = self.dispatch(receiver)
        if way is None or way.method != callee.function.name or way.package:
            return False
        if way.method == "__call__":
            return False  # a call of the object is a call of this method and no more
        return not any(receiver in frame.receiver for frame in call_frames(self.stack))

    def outputs(self, made: Opaque, inner: Sequence, node: cst.CSTNode) -> Sequence:
        """The several outputs of a model call, each a node that remembers the call."""
        key = ("outputs", id(node), self.context)
        found = self.nodes.get(key)
        if isinstance(found, Sequence) and len(found.elements) == len(inner.elements):
            for values, held in zip(inner.elements, found.elements, strict=True):
                # What the script has stored among the outputs since is none of them.
                for element in held:
                    if isinstance(element, Opaque) and element.node is node:
                        element.inner = join(element.inner, values)
            return found
        elements: list[Values] = []
        for position, values in enumerate(inner.elements):
            elements.append(
                (
                    Opaque(
                        "item", node, self.module, str(position), operands=((made,),), inner=values
                    ),
                )
            )
        sequence = Sequence(inner.kind, node, elements, names=inner.names)
        self.nodes[key] = sequence
        return sequence


def with_package(
    package: str, methods: Values, instance: Instance, arguments: Arguments
) -> Arguments:
    """What a framework gives the method of an object, beside what the call gives."""
    if not package:
        return arguments
    named = {
        parameter.name.value
        for method in methods
        if isinstance(method, BoundMethod)
        for parameter in method.function.node.params.params
    }
    held = [
        Argument(values, None, name)
        for name, values in instance.attributes.items()
        if name in named and arguments.keyword(name) is None
    ]
    items = (Argument((External(package),), None), *arguments.items, *held)
    return Arguments(items, arguments.unknown_because, arguments.rest)


def is_plain(result: Values, bound: dict[str, Values]) -> bool:
    """Whether a call gives what any other call with the same arguments may give, too.

    What it has made itself, such as a list, is another one for each call.
    """
    given = {id(value) for values in bound.values() for value in values}
    return all(
        isinstance(value, (Constant, External, Unknown))
        or (isinstance(value, Opaque) and value.kind == "operation")
        or id(value) in given
        for value in result
    )


def is_quiet(event: Event) -> bool:
    """Whether an event means nothing beyond the value that it has a part in."""
    if event.kind == "exit":
        return event.name == "return"
    return event.kind == "call" and all(
        isinstance(callee, (Function, BoundMethod)) for callee in event.callee
    )


def identity(value: Value) -> object:
    """A hashable stand-in for a value in a memo key."""
    if isinstance(value, (Constant, External, Unknown)):
        return value
    if isinstance(value, BoundMethod):
        return (id(value.receiver), id(value.function))
    return id(value)
