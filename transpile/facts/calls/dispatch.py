"""Calls: into the project's functions and classes, and out of the project."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

import libcst as cst

from transpile.facts.calls.operator_functions import OperatorFunctions
from transpile.facts.calls.standing_in import PROXY, never_calls, referred_to, stood_in
from transpile.facts.calls.started import Later, run_later, starting_base
from transpile.facts.events import Branch
from transpile.facts.expressions.namespaces import ENVIRONMENT
from transpile.facts.fields import NAMESPACE, REPLACE
from transpile.facts.names import names_of
from transpile.facts.state import call_frames
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
    Partial,
    Sequence,
    Settled,
    Unknown,
    Value,
    Values,
    join,
)


class Calls(OperatorFunctions):
    """The part of the interpreter that knows calls."""

    @cached_property
    def later(self) -> dict[tuple[int, int], Later]:
        """What was handed to threads and handlers."""
        return {}

    def invoke(self, callees: Values, arguments: Arguments, node: cst.CSTNode) -> Values:
        """Call any of the callees at `node`, and record that it happens."""
        event = self.record("call", node, callees, arguments)
        results: list[Value] = []
        for callee in callees or (Unknown("nothing is known of what is called"),):
            results.extend(self.invoke_one(callee, arguments, node))
            if id(callee) in self.commands:
                self.run_each(self.commands[id(callee)], node)
        result = tuple(results) if len(results) < 2 else join(results)
        event.result = join(event.result, result)
        return result

    def invoke_one(self, callee: Value, arguments: Arguments, node: cst.CSTNode) -> Values:
        """Call one alternative."""
        if isinstance(callee, External):
            return self.call_external(callee, arguments, node)
        if isinstance(callee, Opaque):
            return self.call_opaque(callee, arguments, node)
        if isinstance(callee, (Function, BoundMethod)):
            chosen = self.chosen_by_kind(callee, arguments, node)
            if chosen is not None:
                return chosen
        if isinstance(callee, Function):
            return self.call_function(callee, arguments, node, None)
        if isinstance(callee, BoundMethod):
            if self.is_direct_dispatch(callee):
                assert isinstance(callee.receiver, Instance)
                return self.call_instance(callee.receiver, arguments, node)
            receiver = Argument((callee.receiver,), None)
            with_receiver = Arguments(
                (receiver, *arguments.items), arguments.unknown_because, arguments.rest
            )
            return self.call_function(callee.function, with_receiver, node, callee.receiver)
        if isinstance(callee, Class):
            return self.call_class(callee, arguments, node)
        if isinstance(callee, Instance):
            return self.call_instance(callee, arguments, node)
        if isinstance(callee, Partial):
            merged = Arguments(
                (*callee.arguments.items, *arguments.items),
                callee.arguments.unknown_because or arguments.unknown_because,
            )
            return self.invoke(callee.callee, override_keywords(merged), node)
        self.escape(arguments, node)
        reason = callee.reason if isinstance(callee, Unknown) else "it is not a function"
        unknown = self.opaque("call", node, callee=(callee,), arguments=arguments)
        unknown.cache.setdefault("unknown", reason)
        return (unknown,)

    def call_class(self, callee: Class, arguments: Arguments, node: cst.CSTNode) -> Values:
        """Call a class of the project: what its metaclass makes of that, or an object."""
        own = self.special_method(callee, "__call__", node)
        if own is not None:
            return self.invoke(own, arguments, node)
        return self.made_of(callee, arguments, node)

    def made_of(self, callee: Class, arguments: Arguments, node: cst.CSTNode) -> Values:
        """Make an object of a class of the project."""
        made = self.instantiate(callee, arguments, node)
        wraps = any(self.is_subclass(callee, base) for base in self.dialect.derived_wraps)
        return arguments.items[0].values if wraps and arguments.items else made

    # Out of the project.

    def call_external(self, callee: External, arguments: Arguments, node: cst.CSTNode) -> Values:
        """Call something outside the project."""
        name = callee.name
        modelled = self.builtin_call(callee, arguments, node)
        if modelled is None:
            modelled = self.operator_function(name, arguments, node)
        if modelled is not None:
            return modelled
        changed = self.changed_copy(arguments, node) if name in REPLACE else None
        if changed is not None:
            return changed
        if name in PARTIALS and arguments.items:
            first, *rest = arguments.items
            key = ("partial", id(node), self.context)
            made = self.nodes.get(key)
            if not isinstance(made, Partial):
                made = Partial(
                    first.values,
                    Arguments(tuple(rest), arguments.unknown_because),
                    node,
                    is_method=PARTIALS[name],
                )
                self.nodes[key] = made
            return (made,)
        if (name in self.dialect.returns_argument or name == PROXY) and arguments.items:
            return arguments.items[0].values
        stands = stood_in(callee, arguments)
        if stands:
            return stands
        asked = self.module_called_for(name, arguments)
        if asked:
            return asked
        if name in self.dialect.hands_back:
            given = [
                found.values
                for position, word in enumerate(self.dialect.hands_back[name])
                if (found := arguments.get(word, position)) is not None
                and found.values != (Constant(None),)
            ]
            if len(given) == 1:
                return given[0]
            if given and not arguments.unknown_because:
                return (Sequence("tuple", node, given),)
        if name in self.dialect.runs_commands:
            self.run_commands(arguments, node)
        if name == "builtins.print":
            self.print_into(arguments, node)
        later = list(run_later(name, arguments))
        for function, handed in later:
            self.run_escaped(function, handed, node)
            self.later[id(function), id(node)] = (function, handed, node)
        if not later and not never_calls(name):
            self.escape(arguments, node)
        made = self.opaque("call", node, callee=(callee,), arguments=arguments)
        if name == NAMESPACE:
            self.take_named(made, arguments)
        self.change_arguments(callee, arguments, node, (made,))
        owner, _, method = name.rpartition(".")
        if method == "__init__" and self.dialect.canonical(owner) in self.dialect.holds_parts:
            self.begin_parts(arguments)
        if method == "start" and arguments.items:
            self.run_started(arguments.items[0].values, node)
        self.change_named(External(ENVIRONMENT if owner == "os" else owner), method, arguments)
        return join((made,), self.read_environment(name, arguments))

    def print_into(self, arguments: Arguments, node: cst.CSTNode) -> None:
        """Let an object of the project have what is printed into it: its ``write`` is called."""
        target = arguments.keyword("file")
        for value in target.values if target is not None else ():
            method = (
                self.class_attribute(value.cls, "write", value, value.cls, node)
                if isinstance(value, Instance)
                else None
            )
            if method is not None:
                printed = tuple(item.values for item in arguments.positional())
                text = self.opaque("operation", node, "concatenate", printed)
                for one in method:
                    self.run_escaped(one, Arguments((Argument((text,), None),)), node)

    def begin_parts(self, arguments: Arguments) -> None:
        """Note what the object that is being made gives to the container it is derived from."""
        for frame in call_frames(self.stack)[-1:]:
            for receiver in frame.receiver:
                if self.holds_parts(receiver):
                    given = (item.values for item in arguments.items)
                    self.put_parts(receiver, join(*given, arguments.rest))

    def run_commands(self, arguments: Arguments, node: cst.CSTNode) -> None:
        """Run the functions that the command line may name: those of a dict, or of the module."""
        given = arguments.items[0].values if arguments.items else ()
        commands = [value for one in given if isinstance(one, Mapping) for value in one.every()]
        scope = self.activation.module.scope
        if not given and scope is not None:
            # What later functions call is no command of its own, most likely.
            commands = [value for values in reversed(scope.names.values()) for value in values]
        self.run_each(
            (
                value
                for value in commands
                if isinstance(value, Function) and value.module is self.activation.module
                if given or id(value.node) not in self.entered
            ),
            node,
        )

    def run_each(self, commands: Iterable[Function], node: cst.CSTNode) -> None:
        """Run functions of which the command line names one."""
        before = self.stack
        for function in commands:
            # One command of them runs in a process, never one behind the other.
            self.stack = (*before, Branch(node, function.name))
            self.call_function(function, Arguments(), node, None)
            self.run_each(self.commands.get(id(function), ()), node)
        self.stack = before

    def call_opaque(self, callee: Opaque, arguments: Arguments, node: cst.CSTNode) -> Values:
        """Call a method of something that cannot be analysed."""
        contained = self.called_by_name(callee, arguments, node)
        if contained is None:
            contained = self.called_past_class(callee, arguments, node)
        if contained is None:
            contained = self.call_container_method(callee, arguments, node)
        if contained is None:
            contained = self.named_tuple(callee, arguments, node)
        if contained is not None:
            return contained
        if callee.kind == "call" and not arguments.items:
            if any(
                isinstance(made, External) and made.name in self.dialect.called_iterables
                for made in callee.callee
            ):
                return (callee,)
        stands = stood_in(callee, arguments) or referred_to(callee)
        if stands:
            return stands
        loaded = self.load_class(callee, arguments, node)
        if loaded is not None:
            return loaded
        self.escape(arguments, node)
        if callee.kind == "attribute":
            returned = self.receiver_returned(callee)
            if returned is not None:
                return returned
            self.keep_by_name(callee, arguments)
            if callee.name == "start":
                self.run_started(callee.operands[0], node)
            for base in callee.operands[0]:
                self.change_named(base, callee.name, arguments)
        made = self.opaque("call", node, callee=(callee,), arguments=arguments)
        if callee.kind == "attribute" and self.buffers.concerns(callee.name):
            self.write_buffer(callee, arguments, node, made)
        return (made,)

    def called_past_class(
        self, callee: Opaque, arguments: Arguments, node: cst.CSTNode
    ) -> Values | None:
        """What a method of all objects, or of all classes, does; None for other methods."""
        if callee.kind != "attribute" or len(callee.operands) != 1:
            return None
        classes = [one for one in callee.operands[0] if isinstance(one, Class)]
        if callee.name == "__call__" and classes:
            return join(*(self.made_of(one, arguments, node) for one in classes))
        return self.object_method(callee.operands[0], callee.name, arguments, node)

    def run_started(self, receivers: Values, node: cst.CSTNode) -> None:
        """Run what the ``start`` of a thread or process of the project's own class runs."""
        for value in receivers:
            if isinstance(value, Instance) and starting_base(value):
                own = self.class_attribute(value.cls, "run", value, value.cls, node)
                for method in own or ():
                    if isinstance(method, (Function, BoundMethod)):
                        self.run_escaped(method, Arguments(), node)
                        self.later[id(method), id(node)] = (method, Arguments(), node)

    def load_class(self, callee: Opaque, arguments: Arguments, node: cst.CSTNode) -> Values | None:
        """What a library's class method makes of the project's classes: ``Net.from_pretrained``."""
        first = self.dialect.loads_class.get(callee.name) if callee.kind == "attribute" else None
        classes = [one for one in callee.operands[0] if isinstance(one, Class)] if first else []
        if not classes or len(classes) < len(callee.operands[0]):
            return None
        given = arguments.keyword(first or "")
        leading = Argument(given.values if given is not None else (), None)
        others = [item for item in arguments.items[1:] if item.keyword != first]
        passed = Arguments((leading, *others), arguments.unknown_because, arguments.rest)
        return join([value for one in classes for value in self.call_class(one, passed, node)])

    def write_buffer(
        self, callee: Opaque, arguments: Arguments, node: cst.CSTNode, made: Opaque
    ) -> None:
        """Note that a method writes over the whole of a tensor."""
        filling = made
        if callee.name in self.dialect.buffers.copies and arguments.items:
            operands = (arguments.items[0].values,)
            filling = self.opaque("filling", node, callee.name, operands=operands)
        if self.buffers.write(callee.operands[0], self.stack, filling):
            # A call with the same arguments may find something else there now.
            self.heap_version += 1

    def keep_by_name(self, callee: Opaque, arguments: Arguments) -> None:
        """Store what a method of an object of the project keeps as an attribute of it."""
        base = callee.operands[0]
        name, kept = arguments.get("name", 0), arguments.items[1:2]
        if len(base) != 1 or not isinstance(base[0], Instance) or name is None or not kept:
            return
        for cls, methods in self.dialect.keeps_by_name.items():
            if callee.name in methods and self.is_subclass(base[0].cls, cls):
                for word in names_of(name.values):
                    self.keep_under(base[0], word, kept[0].values)

    def receiver_returned(self, callee: Opaque) -> Values | None:
        """The receiver, where the method is known to give it back."""
        base = callee.operands[0]
        owner = base[0] if len(base) == 1 else None
        for name, methods in self.dialect.returns_receiver.items():
            if callee.name not in methods:
                continue
            if isinstance(owner, Instance) and self.is_subclass(owner.cls, name):
                return base
            if (
                isinstance(owner, Opaque)
                and owner.kind == "call"
                and External(name) in owner.callee
            ):
                return base
        return None

    def escape(self, arguments: Arguments, node: cst.CSTNode) -> None:
        """Run functions given to the outside, which may call them, with unknown arguments."""
        for argument in arguments.items:
            for value in argument.values:
                if type(value) in NEVER_CALLED:
                    continue
                given = Arguments()
                if isinstance(value, Partial):
                    given = value.arguments
                callees: Values | None = value.callee if isinstance(value, Partial) else (value,)
                if isinstance(value, Instance):
                    callees = self.class_attribute(value.cls, "__call__", value, value.cls, node)
                for callee in callees or ():
                    if isinstance(callee, (Function, BoundMethod)):
                        self.run_escaped(callee, given, node)

    def run_escaped(self, callee: Value, given: Arguments, node: cst.CSTNode) -> None:
        """Run one function given to the outside; `given` is what it gets for certain."""
        if isinstance(callee, BoundMethod):
            own = (Argument((callee.receiver,), None), *given.items)
            given = Arguments(own, given.unknown_because, given.rest)
            self.call_function(callee.function, given, node, callee.receiver)
            return
        if not isinstance(callee, Function):
            return
        if id(callee.node) in self.entered:
            if any(frame.function is callee for frame in call_frames(self.stack)):
                return
        self.call_function(callee, given, node, None)


#: What gives a function some of its arguments, and whether that becomes a method of objects.
PARTIALS = {"functools.partial": False, "functools.partialmethod": True}
#: Kinds of values that hold no function of the project to be called.
NEVER_CALLED = frozenset({Opaque, External, Constant, Settled, Unknown, Sequence, Mapping})


def override_keywords(arguments: Arguments) -> Arguments:
    """A later keyword replaces an earlier one, as in ``functools.partial``."""
    latest: dict[str, Argument] = {}
    for item in arguments.items:
        if item.keyword is not None:
            latest[item.keyword] = item
    items = [item for item in arguments.items if item.keyword is None]
    items.extend(latest.values())
    return Arguments(tuple(items), arguments.unknown_because)
