"""The state of one abstract run, and what every part of the interpreter uses."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import cached_property, lru_cache

import libcst as cst

from transpile.facts.buffers import Buffers, BufferWords
from transpile.facts.events import Branch, Call, Event, Frame, Stack, merge_arguments
from transpile.facts.module import Module
from transpile.facts.values import (
    Arguments,
    BoundMethod,
    Class,
    External,
    Function,
    Instance,
    ModuleValue,
    Opaque,
    Scope,
    Unknown,
    Value,
    Values,
    join,
    only_constant,
)
from transpile.records import dataclass, field

#: Evaluations after which the script counts as too complex to follow.
MOST_STEPS = 400_000
#: Calls of project functions within each other.
DEEPEST_CALLS = 40
#: What is recorded before a script counts as too complex: all that follows looks at each of it.
MOST_EVENTS = 30_000


class TooComplex(Exception):
    """The script needs more work than the analysis allows.

    Args:
        function: the function that most of it went to; None where it is no function's.
        times: how often that was followed.
    """

    def __init__(self, function: Function | None = None, times: int = 0) -> None:
        super().__init__()
        self.function = function
        self.times = times


@dataclass(frozen=True)
class Dispatch:
    """What the call of an object runs, where a framework's class decides that.

    Args:
        method: the name of the method.
        package: what the framework gives the method before the call's own arguments, a dotted
            name; empty for nothing. Then parameters that the call leaves open are given the
            attributes of their names, too.
    """

    method: str
    package: str = ""


@dataclass(frozen=True)
class Dialect:
    """What the interpreter must know of a framework and of well-known libraries.

    Args:
        canonical: a dotted name to its canonical spelling, so that re-exports compare equal.
        instance_call: base class to what calling an instance runs: the first that it has.
        returns_receiver: base class to methods that give back their receiver.
        iterates_argument: callables whose result iterates over their first argument.
        hands_back: callables that give back the arguments of these names, changed in place: one by
            itself, several as a tuple.
        returns_argument: callables that give back their first argument, wrapped or changed in
            place, to the attribute of the wrapper that leads back to it.
        derived_wraps: classes among those that give back their first argument, of which classes of
            the project that derive from them do so, too.
        keeps_argument: callables and attributes of what they give that are an argument of the
            same name, to its position.
        keeps_by_name: base class to methods that keep their second argument as the attribute that
            their first names.
        holds_parts: classes whose objects hold the parts of models that they are given, and give
            them where they are iterated over or indexed.
        gives_parts: methods and attributes of models and of such containers that give their parts.
        keeps_parts: methods of models that make what they are given a part of them.
        runs_each: whether what calls of an object run is run by itself where only others call it.
        base_of: the class outside the project that an outside class derives from, as far as it
            matters; empty for others.
        loads_class: class methods of libraries that make an object of the class they are called on,
            to the argument that becomes the first of the constructor's; their own first argument
            says where its state is.
        called_iterables: classes whose objects, called without arguments, give what iterates
            over them: ``for batch in loader():``.
        buffers: how tensors are made once and filled anew.
        packages: packages that go by their own name where a module that cannot be found hands
            them on: ``from common import *``.
        runs_commands: callables that run the function that the command line names, one of a dict
            or of the module that calls them.
        forms: methods and attributes that give another form of what they belong to.
        splits: whether a function of the project makes decorators by which processes share out the
            calls of a function, all of which receive what it gives for the whole: it is followed
            as if it had none.
    """

    canonical: Callable[[str], str] = lambda name: name
    instance_call: Mapping[str, tuple[Dispatch, ...]] = field(default_factory=dict)
    returns_receiver: Mapping[str, frozenset[str]] = field(default_factory=dict)
    iterates_argument: frozenset[str] = frozenset()
    returns_argument: Mapping[str, str] = field(default_factory=dict)
    derived_wraps: frozenset[str] = frozenset()
    hands_back: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    keeps_argument: Mapping[tuple[str, str], int] = field(default_factory=dict)
    keeps_by_name: Mapping[str, frozenset[str]] = field(default_factory=dict)
    holds_parts: frozenset[str] = frozenset()
    gives_parts: frozenset[str] = frozenset()
    keeps_parts: frozenset[str] = frozenset()
    runs_each: bool = False
    base_of: Callable[[str], str] = lambda name: ""
    loads_class: Mapping[str, str] = field(default_factory=dict)
    called_iterables: frozenset[str] = frozenset()
    buffers: BufferWords = BufferWords()
    packages: frozenset[str] = frozenset()
    runs_commands: frozenset[str] = frozenset({"fire.Fire", "fire.core.Fire"})
    forms: frozenset[str] = frozenset({"item", "tolist", "numpy", "cpu", "detach", "clone", "data"})
    splits: Callable[[Function], bool] = lambda function: False

    @cached_property
    def dispatched(self) -> frozenset[str]:
        """The names of methods that calling an object runs."""
        return frozenset(one.method for ways in self.instance_call.values() for one in ways)


@dataclass(eq=False)
class Activation:
    """One call of a project function, or the run of a module."""

    scope: Scope
    module: Module
    returns: Values = ()
    yields: Values = ()
    loop_exits: list[list[dict[str, Values]]] = field(default_factory=list)


class State(ABC):
    """Scopes, stack, events and the table of value-graph nodes."""

    def __init__(self, dialect: Dialect, find_module: Callable[[str, Module], Module | None]):
        self.dialect = dialect
        self.find_module = find_module
        self.wrapper_attributes = frozenset(filter(None, dialect.returns_argument.values()))
        self.events: list[Event] = []
        self.dispatching: list[Instance] = []
        self.buffers = Buffers(dialect.buffers)
        self.event_table: dict[tuple[object, ...], Event] = {}
        self.nodes: dict[tuple[object, ...], Value] = {}
        #: By their scopes, the functions in whose place decorators put others.
        self.replaced: dict[int, list[Function]] = {}
        self.made_items: dict[tuple[object, ...], Values] = {}
        #: What the script puts into the environment of its process, or sets in modules outside.
        self.environment: dict[str, Values] = {}
        self.values: dict[int, Values] = {}
        #: By the identity of a framework's container of parts, what methods put into it.
        self.parts: dict[int, Values] = {}
        #: By place and context, the computed indexes by which an expression picks from containers.
        self.picks: dict[tuple[int, tuple[int, ...]], Values] = {}
        #: The functions of the project that pick so.
        self.picking: set[int] = set()
        #: By scope and name, what the value of the name was picked by.
        self.picked_names: dict[tuple[int, str], Values] = {}
        #: By the identity of an expression, the parts of it that may pick something.
        self.places_to_pick: dict[int, list[cst.Name | cst.Subscript | cst.Call]] = {}
        #: By scope and name, what a loop goes over whose elements the name is bound to.
        self.gone_over: dict[tuple[int, str], Values] = {}
        self.context: tuple[int, ...] = ()
        self.stack: Stack = ()
        self.activation: Activation
        self.heap_version = 0
        self.steps = 0
        self.most_steps, self.most_events = MOST_STEPS, MOST_EVENTS
        self.runs: dict[Function, int] = {}
        self.entered: set[int] = set()
        #: The identities of the objects that calls dispatch to.
        self.called: set[int] = set()
        #: The methods that calls dispatch to and that were run with unknown arguments.
        self.alone: set[int] = set()
        self.executed: set[int] = set()
        self.passed_over: list[tuple[cst.CSTNode, Scope]] = []
        self.functions: dict[int, object] = {}
        self.commands: dict[int, list[Function]] = {}
        self.detached = False
        self.modules: dict[str, Module] = {}
        self.call_memo: dict[tuple[object, ...], tuple[Values, int]] = {}
        self.shared_memo: dict[tuple[object, ...], tuple[Values, int]] = {}
        self.generators_by_module: dict[str, set[int]] = {}
        self.cut_short = False
        self.left_out: list[Function] = []
        self.unfollowed: list[tuple[Module, cst.CSTNode, str]] = []

    # What the parts of the interpreter offer to each other.

    @abstractmethod
    def evaluate(self, node: cst.CSTNode) -> Values:
        """The values of an expression, in the current scope."""

    @abstractmethod
    def execute_body(self, body: cst.CSTNode) -> bool:
        """Run a suite; whether control may leave it at its end."""

    @abstractmethod
    def invoke(self, callees: Values, arguments: Arguments, node: cst.CSTNode) -> Values:
        """Call any of the callees at `node`."""

    @abstractmethod
    def attribute(self, base: Values, name: str, node: cst.CSTNode) -> Values:
        """The values of ``base.name``."""

    @abstractmethod
    def elements(self, values: Values, node: cst.CSTNode) -> Values:
        """What iterating over `values` gives."""

    @abstractmethod
    def bind_target(self, target: cst.CSTNode, values: Values) -> None:
        """Assign `values` to a target."""

    @abstractmethod
    def import_module(self, module: Module) -> None:
        """Run a project module once."""

    # Helpers.

    @property
    def module(self) -> Module:
        """The module whose code is running."""
        return self.activation.module

    def step(self) -> None:
        """Count one evaluation.

        Raises:
            TooComplex: the allowance is used up.
        """
        self.steps += 1
        if self.steps > self.most_steps or len(self.events) > self.most_events:
            raise self.too_complex()

    def too_complex(self) -> TooComplex:
        """The error that says where most of the work went."""
        if not self.runs:
            return TooComplex()
        function, times = max(self.runs.items(), key=lambda item: item[1])
        return TooComplex(function, times)

    def branches(self) -> tuple[Branch, ...]:
        """The branch arms that lead here."""
        return tuple(frame for frame in self.stack if isinstance(frame, Branch))

    def pushed(self, *frames: Frame) -> Stack:
        """The current stack with frames on top."""
        return (*self.stack, *frames)

    def opaque(
        self,
        kind: str,
        node: cst.CSTNode,
        name: str = "",
        operands: tuple[Values, ...] = (),
        callee: Values = (),
        arguments: Arguments | None = None,
        inner: Values = (),
        index: Values = (),
    ) -> Opaque:
        """The node of the value graph for this place and calling context."""
        key = (kind, id(node), self.context, name)
        found = self.nodes.get(key)
        if isinstance(found, Opaque):
            if len(found.operands) == len(operands):
                found.operands = tuple(
                    join(old, new) for old, new in zip(found.operands, operands, strict=True)
                )
            # Most often what is there comes again.
            if found.callee is not callee or len(callee) > 1:
                found.callee = join(found.callee, callee)
            if found.inner is not inner or len(inner) > 1:
                found.inner = join(found.inner, inner)
            if found.index is not index or len(index) > 1:
                found.index = join(found.index, index)
            if arguments is not None:
                found.arguments = merge_arguments(found.arguments, arguments)
            return found
        made = Opaque(
            kind,
            node,
            self.module,
            name,
            callee,
            arguments or Arguments(),
            operands,
            inner,
            index=index,
        )
        self.nodes[key] = made
        return made

    def record(
        self,
        kind: str,
        node: cst.CSTNode,
        callee: Values,
        arguments: Arguments | None = None,
        result: Values = (),
        name: str = "",
    ) -> Event:
        """Note that something happens here; the same place in the same context is one event."""
        key = (kind, id(node), self.context, name)
        found = self.event_table.get(key)
        if found is not None:
            found.callee = join(found.callee, callee)
            found.result = join(found.result, result)
            if arguments is not None:
                found.arguments = merge_arguments(found.arguments, arguments)
            return found
        event = Event(
            kind,
            node,
            self.module,
            self.stack,
            callee,
            arguments or Arguments(),
            result,
            name,
            len(self.events),
            self.detached,
        )
        self.events.append(event)
        self.event_table[key] = event
        return event

    def set_attribute(
        self, holder: dict[str, Values], name: str, values: Values, definite: bool
    ) -> None:
        """Store an attribute: replaced where certain, joined where not."""
        old = holder.get(name)
        new = values if old is None or definite else join(old, values)
        if old != new:
            holder[name] = new
            self.heap_version += 1

    def is_subclass(self, cls: Class, base: str) -> bool:
        """Whether a class of the project derives from an external base."""
        return any(self.dialect.canonical(name) == base for name in cls.external_bases())

    def dispatch(self, instance: Instance) -> Dispatch | None:
        """What calling an instance of a framework's class runs."""
        for base, ways in self.dialect.instance_call.items():
            if self.is_subclass(instance.cls, base):
                own = (way for way in ways if has_method(instance, way.method))
                return next(own, None)
        return None


def has_method(instance: Instance, name: str) -> bool:
    """Whether an object has a method of the project by this name."""
    return name in instance.attributes or any(
        isinstance(ancestor, Class) and name in ancestor.scope.names
        for ancestor in instance.cls.ancestry()
    )


#: Kinds of values that are true whatever is in them.
ALWAYS_TRUE = (Function, Class, BoundMethod, ModuleValue)


def truth(values: Values) -> bool | None:
    """Whether the values are certainly true, certainly false, or neither (None)."""
    constant = only_constant(values)
    if constant is not None:
        return bool(constant.value)
    return True if values and all(isinstance(value, ALWAYS_TRUE) for value in values) else None


def unknown(reason: str) -> Values:
    """A single unknown value."""
    return (Unknown(reason),)


@lru_cache(maxsize=16384)
def external(name: str) -> Values:
    """A single external name: always the same object, which is found among others at once."""
    return (External(name),)


def call_frames(stack: Stack) -> tuple[Call, ...]:
    """The project calls in a stack."""
    return tuple(frame for frame in stack if isinstance(frame, Call))
