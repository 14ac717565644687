"""The abstract run of a script and of the project modules that it imports."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property

import libcst as cst

from transpile.facts.calls.project import with_package
from transpile.facts.events import Event
from transpile.facts.extent import MOST_RUN, Extent
from transpile.facts.module import Module
from transpile.facts.state import MOST_STEPS, Activation, Dialect, TooComplex
from transpile.facts.statements.compound import Statements
from transpile.facts.values import (
    Argument,
    Arguments,
    BoundMethod,
    Class,
    External,
    Function,
    Instance,
    Partial,
    Scope,
    Values,
)
from transpile.records import dataclass


@dataclass(frozen=True)
class Facts:
    """Everything that the run saw.

    Args:
        entry: the script.
        modules: the script and the project modules it imports, by dotted name.
        events: what happens, in order; those of functions that nothing calls come last.
        functions: every function that is defined, by the identity of its node.
        values: what each expression may be, by the identity of its node, over all contexts.
        unfollowed: statements that the run passed over, with the reason.
        cut_short: calls were so deep inside each other that the innermost were not followed.
        left_out: functions that nothing calls and that were not followed to their end.
    """

    entry: Module
    modules: dict[str, Module]
    events: tuple[Event, ...]
    functions: dict[int, Function]
    values: dict[int, Values]
    unfollowed: tuple[tuple[Module, object, str], ...]
    cut_short: bool = False
    left_out: tuple[Function, ...] = ()

    @cached_property
    def answered(self) -> dict[tuple[object, ...], tuple[tuple[object, ...], object]]:
        """Answers to questions about what was seen alone, whichever plan asks them."""
        return {}

    @cached_property
    def calls(self) -> tuple[Event, ...]:
        """The calls, in order."""
        return self._of("call")

    @cached_property
    def called(self) -> frozenset[int]:
        """The identities of the nodes of all calls."""
        return frozenset(id(event.node) for event in self.calls)

    @cached_property
    def reached_calls(self) -> tuple[Event, ...]:
        """The calls that a run of the script comes to, in order."""
        return tuple(event for event in self.calls if not event.detached)

    @cached_property
    def places_called(self) -> tuple[Event, ...]:
        """The first of these calls at each place."""
        first: dict[int, Event] = {}
        for event in self.reached_calls:
            first.setdefault(id(event.node), event)
        return tuple(first.values())

    @cached_property
    def stores(self) -> tuple[Event, ...]:
        """What is stored in attributes and items of something opaque, in order."""
        return self._of("store")

    @cached_property
    def iterations(self) -> tuple[Event, ...]:
        """What loops go over, in order."""
        return self._of("iterate")

    @cached_property
    def tests(self) -> tuple[Event, ...]:
        """What branches and loops decide by, in order."""
        return self._of("test")

    @cached_property
    def exits(self) -> tuple[Event, ...]:
        """Where loops and functions are left, in order."""
        return self._of("exit")

    @cached_property
    def operations(self) -> tuple[Event, ...]:
        """The augmented assignments, in order."""
        return self._of("operate")

    def _of(self, kind: str) -> tuple[Event, ...]:
        return tuple(event for event in self.events if event.kind == kind)

    @cached_property
    def calls_by_name(self) -> dict[str, list[Event]]:
        """The calls of what is outside the project, in order, by its dotted name."""
        found: dict[str, list[Event]] = {}
        for event in self.calls:
            for callee in event.callee:
                if isinstance(callee, External):
                    found.setdefault(callee.name, []).append(event)
        return found

    def calls_to(self, *names: str) -> list[Event]:
        """The calls that may be of any of these names outside the project, in order."""
        found = {event.order: event for name in names for event in self.calls_by_name.get(name, ())}
        return [found[order] for order in sorted(found)]

    @cached_property
    def calls_by_word(self) -> dict[str, list[Event]]:
        """The calls of names and of attributes, in order, by the last word of what is called."""
        found: dict[str, list[Event]] = {}
        for event in self.calls:
            words = {str(getattr(callee, "name", "")).rpartition(".")[2] for callee in event.callee}
            for word in words:
                found.setdefault(word, []).append(event)
        return found

    @cached_property
    def calls_within(self) -> dict[int, list[Event]]:
        """The calls that happen within each call of a project function, by that call's node."""
        found: dict[int, list[Event]] = {}
        for event in self.calls:
            for node in {id(call.node) for call in event.calls()}:
                found.setdefault(node, []).append(event)
        return found

    @cached_property
    def first_within(self) -> dict[int, int]:
        """The order of the first event inside each loop, by the loop's node."""
        found: dict[int, int] = {}
        for event in self.events:
            for loop in event.loops():
                found.setdefault(id(loop.node), event.order)
        return found

    def values_of(self, node: object) -> Values:
        """What an expression may be, over all contexts; empty where it never ran."""
        return self.values.get(id(node), ())


#: Allowances for functions that nothing calls: all of them together, and each of them.
MOST_DETACHED_STEPS = 150_000
MOST_DETACHED_EVENTS = 20_000
MOST_STEPS_OF_ONE = 40_000
#: So many of them cost less than asking whether they matter.
FEW_DETACHED = 60


class Interpreter(Statements):
    """Runs modules abstractly; see :func:`interpret`."""

    @cached_property
    def extent(self) -> Extent:
        """How much of the project was run."""
        return Extent(MOST_RUN)

    def import_module(self, module: Module) -> None:
        """Run a project module once; a module that is running already is left alone."""
        if module.scope is not None:
            return
        if not module.is_entry:
            self.extent.add(module.source.path, len(module.source.text))
        module.scope = Scope({}, None, module)
        self.modules[module.name] = module
        saved = (self.stack, self.context)
        saved_activation = getattr(self, "activation", None)
        self.stack, self.context = (), (id(module),) if not module.is_entry else ()
        self.activation = Activation(module.scope, module)
        try:
            self.execute_body(module.source.tree)
        finally:
            self.stack, self.context = saved
            if saved_activation is not None:
                self.activation = saved_activation

    def run_later(self) -> None:
        """Run once more what runs at any time: threads, and what waits for the end or a signal.

        It may see whatever the script has stored in the meantime.
        """
        for function, handed, node in list(self.later.values()):
            self.stack, self.context = (), (id(node),)
            self.run_escaped(function, handed, node)

    def run_detached(self) -> None:
        """Run every function that nothing called, with unknown arguments.

        They are many in a large project; those beyond the allowance are left out.
        """
        self.detached = True
        given, end = self.most_steps, self.steps + MOST_DETACHED_STEPS
        self.most_events = len(self.events) + MOST_DETACHED_EVENTS
        for function in list(self.functions.values()):
            if not isinstance(function, Function) or id(function.node) in self.entered:
                continue
            if self.steps >= end or len(self.events) >= self.most_events:
                self.left_out.append(function)
                continue
            self.allow(given, end)
            try:
                self.run_one_detached(function)
            except TooComplex:
                if given < MOST_STEPS and self.steps > given:
                    raise
                self.left_out.append(function)
        for instance, function in self.uncalled() if self.dialect.runs_each else ():
            self.allow(given, end)
            try:
                self.run_one_detached(function, instance)
            except TooComplex:
                if given < MOST_STEPS and self.steps > given:
                    raise
                self.left_out.append(function)

    def allow(self, given: int, end: int) -> None:
        """Set how many steps the next function that nothing called may take."""
        self.most_steps = min(end, self.steps + MOST_STEPS_OF_ONE)
        if given < MOST_STEPS:
            self.most_steps = min(self.most_steps, given)

    def run_one_detached(self, function: Function, receiver: Instance | None = None) -> None:
        """Run a function with unknown arguments.

        Args:
            function: the function.
            receiver: the object whose method it is; None for some object of its class.

        Raises:
            TooComplex: it needs more than the allowance.
        """
        self.activation = Activation(
            function.module.scope or Scope({}, None, function.module), function.module
        )
        self.stack, self.context = (), () if receiver is None else (id(receiver),)
        arguments = Arguments()
        if function.owner is not None:
            receiver = receiver or self.representative(function.owner)
            way = self.dispatch(receiver)
            if way is not None and way.method == function.name:
                method = BoundMethod(receiver, function)
                arguments = with_package(way.package, (method,), receiver, arguments)
                self.called.add(id(receiver))
                self.alone.add(id(function.node))
            arguments = Arguments((Argument((receiver,), None), *arguments.items))
        self.call_function(function, arguments, None, receiver)

    def uncalled(self) -> Iterator[tuple[Instance, Function]]:
        """Objects that only a framework calls, and their methods, where those tell something new.

        They do where they were not run alone, or where the object holds what they may call.
        """
        for instance in list(self.nodes.values()):
            if not isinstance(instance, Instance) or id(instance) in self.called:
                continue
            way = self.dispatch(instance)
            if way is None:
                continue
            holds = any(map(is_callable, instance.attributes.values()))
            for ancestor in instance.cls.ancestry():
                methods = ancestor.scope.names.get(way.method) if type(ancestor) is Class else None
                for method in methods or ():
                    if isinstance(method, Function) and (
                        holds or id(method.node) not in self.alone
                    ):
                        yield instance, method
                if methods:
                    break

    @property
    def has_many_detached(self) -> bool:
        """Whether there is much that nothing has called so far."""
        count = sum(
            1
            for function in self.functions.values()
            if isinstance(function, Function) and id(function.node) not in self.entered
        )
        return count > FEW_DETACHED

    def run_passed_over(self) -> None:
        """Run what known tests have left out everywhere, as nobody can say that it never runs."""
        self.detached = True
        position = 0
        while position < len(self.passed_over):
            arm, scope = self.passed_over[position]
            position += 1
            body = arm.body if isinstance(arm, cst.Else | cst.If) else arm
            if id(body) in self.executed:
                continue
            self.activation = Activation(
                Scope(dict(scope.names), scope.parent, scope.module), scope.module
            )
            self.stack, self.context = (), (id(body),)
            if isinstance(arm, cst.If):
                self.if_statement(arm)
            else:
                self.execute_body(body)

    def facts(self, entry: Module) -> Facts:
        """What the run has seen."""
        functions = {
            key: value for key, value in self.functions.items() if isinstance(value, Function)
        }
        return Facts(
            entry,
            self.modules,
            tuple(self.events),
            functions,
            self.values,
            tuple(self.unfollowed),
            self.cut_short,
            tuple(self.left_out),
        )

    def representative(self, cls: Class) -> Instance:
        """Some object of a class, to run its methods on."""
        for value in self.nodes.values():
            if isinstance(value, Instance) and value.cls is cls:
                return value
        made = Instance(cls, cls.node, cls.module)
        self.nodes[("instance", id(cls.node))] = made
        return made


def is_callable(values: Values) -> bool:
    """Whether some alternative is a function or an object of the project, or holds one."""
    return any(isinstance(value, (Function, BoundMethod, Partial, Instance)) for value in values)


def interpret(
    entry: Module,
    dialect: Dialect,
    find_module: Callable[[str, Module], Module | None],
    most_steps: int = MOST_STEPS,
    goes_on: Callable[[Facts], bool] = lambda facts: True,
) -> Facts:
    """Run a script abstractly: no code of it is executed.

    Args:
        entry: the script, named ``__main__``.
        dialect: what is known of the frameworks.
        find_module: a module of the project by dotted name (relative ones with leading dots) as
            seen from another module; None where it is not part of the project.
        most_steps: evaluations that it may take.
        goes_on: whether the many functions that nothing calls are to be looked at, too, by what
            was seen without them; where they are few, they are.

    Raises:
        TooComplex: it needs more steps than the analysis allows.
    """
    run = Interpreter(dialect, find_module)
    run.most_steps = most_steps
    run.import_module(entry)
    run.run_later()
    run.run_passed_over()
    if not run.has_many_detached or goes_on(run.facts(entry)):
        run.run_detached()
    return run.facts(entry)
