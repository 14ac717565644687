"""The abstract run of a script as one process of several."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import libcst as cst

from transpile.audit.keeping import Keeping, is_parsed
from transpile.audit.vocabulary import SHARED, Position, Vocabulary
from transpile.audit.wraps import makers
from transpile.facts.events import Branch
from transpile.facts.interpreter import Facts
from transpile.facts.module import Module
from transpile.facts.state import MOST_STEPS, Dialect, truth
from transpile.facts.values import (
    Argument,
    Arguments,
    BoundMethod,
    Class,
    Constant,
    External,
    Function,
    Opaque,
    Sequence,
    Settled,
    Value,
    Values,
    WorldSize,
    only_constant,
)

#: Rounds of a loop over the process's own number that are followed one by one.
MOST_ROUNDS = 4
CONVERSIONS: dict[str, Callable[[Any], object]] = {
    "builtins.int": int,
    "builtins.bool": bool,
    "builtins.str": str,
    "builtins.float": float,
}
#: What is asked for by who has not joined the others in what was seen so far.
WHETHER_JOINED = "whether joined"
ENDINGS = frozenset({"sys.exit", "builtins.exit", "builtins.quit", "os._exit"})


class ProcessRun(Keeping):
    """Runs a script as a process whose position in the job may be known.

    Args:
        dialect: what is known of the framework.
        find_module: see :func:`transpile.facts.interpreter.interpret`.
        vocabulary: what tells processes apart.
        position: which process it is; None for any of several.
        shows_wraps: a wrapped model is another object than the model.
    """

    def __init__(
        self,
        dialect: Dialect,
        find_module: Callable[[str, Module], Module | None],
        vocabulary: Vocabulary,
        position: Position | None,
        shows_wraps: bool,
    ) -> None:
        super().__init__(dialect, find_module, vocabulary, shows_wraps)
        self.position = position
        self.joined = False
        #: What is called ``Process`` in each statement, by its identity.
        self.process_calls: dict[int, list[cst.Name | cst.Attribute]] = {}
        self.asked: set[str] = set()
        #: The open arms on which each attribute of an object was set, for each time.
        self.set_on: dict[tuple[int, str], list[set[tuple[int, str]]]] = {}
        #: What of the process's position was put into dicts that are not known, by their key.
        #: The arguments of the command line that cannot be switched.
        self.switches: dict[str, Constant] = {}
        self.put: dict[tuple[int | str, object], Values] = {}

    # What the process knows of itself.

    def told(self, word: str) -> Values | None:
        """A property of the position; None where it is not known."""
        if self.position is not None:
            self.asked.add(word)
            return (Settled(getattr(self.position, word)),)
        if word == "world_size":
            return (WorldSize(ANY.world_size),)
        return (Settled(getattr(ANY, word)),) if word in SHARED else None

    def variable(self, names: Values) -> Values | None:
        """An environment variable in which the launcher tells something; None for others."""
        name = only_constant(names)
        word = self.vocabulary.variables.get(str(name.value)) if name is not None else None
        told = self.told(word) if word is not None else None
        return (type(told[0])(str(told[0].value)),) if told is not None else None  # type: ignore[union-attr,call-arg,arg-type]

    def call_external(self, callee: External, arguments: Arguments, node: cst.CSTNode) -> Values:
        """Calls that tell the process who it is, wrap a model, or start other processes."""
        vocabulary, name = self.vocabulary, callee.name
        if name in vocabulary.joins and not self.joined:
            self.joined = True
            self.heap_version += 1
        elif name in vocabulary.asks_joined:
            if not self.joined:
                self.asked.add(WHETHER_JOINED)
            return (Settled(self.joined),)
        elif name in vocabulary.constants:
            return (Settled(vocabulary.constants[name]),)
        elif name in vocabulary.calls:
            told = self.told(vocabulary.calls[name])
            if told is not None:
                return told
        elif name in ("os.environ.get", "os.getenv") and arguments.items:
            told = self.variable(arguments.items[0].values)
            if told is not None:
                return told
        elif name in CONVERSIONS and len(arguments.items) == 1:
            converted = self.converted(name, arguments.items[0].values)
            if converted is not None:
                return converted
        elif name in vocabulary.spawns and arguments.items:
            return self.spawned(arguments, node)
        elif name in vocabulary.processes:
            return self.process(callee, arguments, node)
        elif name in vocabulary.wraps and arguments.items and self.shows_wraps:
            return (self.opaque("call", node, callee=(callee,), arguments=arguments),)
        elif name in vocabulary.wraps and arguments.items:
            return arguments.items[0].values
        result = super().call_external(callee, arguments, node)
        if name in vocabulary.fills and arguments.items:
            self.fill(arguments.items[0].values, result)
        return result

    def fill(self, lists: Values, received: Values) -> None:
        """Forget what was in lists that a collective has filled with what others have."""
        for value in lists:
            if isinstance(value, Sequence):
                value.elements = [received] * len(value.elements)
                value.rest = received if value.rest else ()
                self.heap_version += 1

    def converted(self, name: str, values: Values) -> Values | None:
        """``int(os.environ["RANK"])`` and the like."""
        constant = only_constant(values)
        if not isinstance(constant, Settled):
            return None
        try:
            return (type(constant)(CONVERSIONS[name](constant.value)),)
        except (TypeError, ValueError):
            return None

    def item(self, base: Values, index: Values, node: cst.CSTNode) -> Values:
        """``os.environ["RANK"]``."""
        if any(value == External("os.environ") for value in base):
            told = self.variable(index)
            if told is not None:
                return told
        return super().item(base, index, node)

    def attribute_of(self, value: Value, name: str, node: cst.CSTNode) -> Values:
        """Attributes that tell a position, lead out of a wrap, or were set by the script."""
        if isinstance(value, External) and (value.name, name) in self.put:
            return self.put[value.name, name]
        if isinstance(value, Opaque):
            if self.wrap_of(value) == name:
                return self.wrapped(value)
            stored = value.attributes.get(name)
            if stored is not None and not self.is_perhaps(value, name, stored):
                return stored
            for maker in makers(value):
                word = self.vocabulary.attributes.get((maker, name))
                told = self.told(word) if word is not None else None
                if told is not None:
                    return told
            if name in self.switches and is_parsed(value):
                return (self.switches[name],)
            if name in self.vocabulary.launch_arguments and is_parsed(value):
                told = self.told(self.vocabulary.launch_arguments[name])
                if told is not None:
                    return told
        return super().attribute_of(value, name, node)

    def store_attribute(self, target: cst.Attribute, values: Values) -> None:
        """Remember on which open conditions an attribute is set."""
        super().store_attribute(target, values)
        outside = [v for v in self.values.get(id(target.value), ()) if isinstance(v, Opaque)]
        if not outside:
            return
        arms = {
            (id(frame.node), frame.arm)
            for frame in self.stack
            # By its exact kind: to ask for subclasses costs ten times as much.
            if type(frame) is Branch and type(frame.node) is cst.If
            if truth(self.values.get(id(frame.node.test), ())) is None
        }
        for value in outside:
            self.set_on.setdefault((id(value), target.attr.value), []).append(arms)

    def is_perhaps(self, value: Opaque, name: str, stored: Values) -> bool:
        """Whether an attribute is a literal that was set on open conditions alone.

        It may be what it was before, unless both sides of a condition set it.
        """
        if not all(type(one) is Constant for one in stored):
            return False
        places = self.set_on.get((id(value), name), [])
        arms = {arm for place in places for arm in place}
        whole = any((node, "then") in arms and (node, "else") in arms for node, _ in arms)
        return bool(places) and all(places) and not whole

    # Other processes.

    def spawned(self, arguments: Arguments, node: cst.CSTNode) -> Values:
        """``spawn(function, args=(...), nprocs=n)``: the function gets its number first."""
        function = arguments.get("fn", 0)
        given = arguments.get("args", 1)
        number = self.told("local_rank") or (self.any_number(node),)
        items = [Argument(number, None)]
        for values in self.known_elements(given.values) or () if given is not None else ():
            items.append(Argument(values, None))
        if function is not None:
            self.invoke(function.values, Arguments(tuple(items)), node)
        return (Constant(None),)

    def process(self, callee: External, arguments: Arguments, node: cst.CSTNode) -> Values:
        """``Process(target=function, args=(rank, ...))``, started in a loop over numbers."""
        target = arguments.get("target", 1)
        given = arguments.get("args", 3)
        functions = target.values if target is not None else ()
        if any(isinstance(value, (Function, BoundMethod)) for value in functions):
            items = []
            for values in self.known_elements(given.values) or () if given is not None else ():
                if any(is_count(value) for value in values):
                    values = self.told("local_rank") or (self.any_number(node),)
                items.append(Argument(values, None))
            outside, self.in_starting = self.in_starting, False
            self.invoke(functions, Arguments(tuple(items)), node)
            self.in_starting = outside
        return (self.opaque("call", node, callee=(callee,), arguments=arguments),)

    def any_number(self, node: cst.CSTNode) -> Opaque:
        """The number of a process that may be any."""
        return self.opaque("call", node, "number", callee=(External(self.vocabulary.main_rank),))

    # Functions of some processes.

    def call_function(
        self,
        function: Function,
        arguments: Arguments,
        node: cst.CSTNode | None,
        receiver: Value | None,
    ) -> Values:
        """A function that a decorator keeps for other processes does nothing in this one."""
        if self.position is not None:
            for values in function.decorators:
                for value in values:
                    word = self.vocabulary.main_only.get(getattr(value, "name", ""))
                    if word is not None and not getattr(self.position, word):
                        return (Constant(None),)
        return super().call_function(function, arguments, node, receiver)

    # Statements.

    def execute(self, statement: cst.CSTNode) -> bool:
        """Run one statement: decorators of the project count, and so do calls that end it all."""
        kind = type(statement)
        if kind is cst.For:
            assert isinstance(statement, cst.For)
            if is_range(statement.iter) and self.rounds(self.evaluate(statement.iter)) == []:
                return self.execute_else(statement.orelse)
        if kind in (cst.For, cst.SimpleStatementLine) and self.makes_processes(statement):
            outside, self.in_starting = self.in_starting, True
            goes_on = super().execute(statement)
            self.in_starting = outside
            return goes_on
        if kind is cst.If:
            assert isinstance(statement, cst.If)
            arm = self.starting_arm(statement)
            if arm is not None:
                return self.execute_body(arm)
        goes_on = super().execute(statement)
        if kind is cst.FunctionDef:
            assert isinstance(statement, cst.FunctionDef)
            if statement.decorators:
                self.decorate(statement)
        elif goes_on and kind is cst.SimpleStatementLine:
            assert isinstance(statement, cst.SimpleStatementLine)
            last = statement.body[-1]
            if isinstance(last, cst.Expr) and isinstance(last.value, cst.Call):
                callees = self.values.get(id(last.value.func), ())
                if any(isinstance(v, External) and v.name in ENDINGS for v in callees):
                    return False
        return goes_on

    def splits(self, decorator: cst.Decorator) -> bool:
        """Whether processes share out the calls of what is decorated, which the run notes."""
        found = super().splits(decorator)
        if found and isinstance(decorator.decorator, cst.Call):
            makers = self.values.get(id(decorator.decorator.func), ())
            self.own_wraps.extend(one for one in makers if isinstance(one, Function))
        return found

    def decorate(self, statement: cst.FunctionDef) -> None:
        """Apply the project's own decorators, the innermost first, where they are not so far.

        They are where no others decorate the function.
        """
        values = self.lookup(statement.name.value) or ()
        if any(isinstance(one, Function) and one.node is not statement for one in values):
            return
        for decorator in reversed(statement.decorators):
            callees = self.values.get(id(decorator.decorator), ())
            if not callees or not all(isinstance(value, Function) for value in callees):
                continue
            if self.splits(decorator):
                continue
            made = self.invoke(callees, Arguments((Argument(values, None),)), decorator)
            if made and all(isinstance(value, Function) for value in made):
                values = made
        self.bind_name(statement.name.value, values)

    def few_elements(self, iterated: Values) -> list[Values] | None:
        """A loop that runs as often as the process's number says runs that often."""
        rounds = self.rounds(iterated)
        return rounds if rounds is not None else super().few_elements(iterated)

    def rounds(self, iterated: Values) -> list[Values] | None:
        """The elements of ``range(rank)``; None for anything else."""
        value = iterated[0] if len(iterated) == 1 else None
        if self.in_starting:
            # Each process is one of those that the loop starts.
            return None
        if not isinstance(value, Opaque) or value.callee != (External("builtins.range"),):
            return None
        bounds = [only_constant(item.values) for item in value.arguments.items]
        if not bounds or not any(isinstance(bound, Settled) for bound in bounds):
            return None
        try:
            limits: list[Any] = [bound.value for bound in bounds if bound is not None]
            numbers = range(*limits)
        except (TypeError, ValueError):
            return None
        if None in bounds or len(numbers) > MOST_ROUNDS:
            return None
        return [(Settled(number),) for number in numbers]


#: What every process of a job agrees on.
ANY = Position(rank=0, local_rank=0, world_size=2, local_world_size=2)


def is_range(node: cst.CSTNode) -> bool:
    """Whether an expression is written as ``range(...)`` or held by a name."""
    if isinstance(node, cst.Call):
        return isinstance(node.func, cst.Name) and node.func.value == "range"
    return isinstance(node, cst.Name)


def is_count(value: Value) -> bool:
    """Whether a value is what a loop over ``range`` counts."""
    return (
        isinstance(value, Opaque)
        and value.kind == "element"
        and any(
            isinstance(source, Opaque) and source.callee == (External("builtins.range"),)
            for source in value.operands[0]
        )
    )


def run_as(
    entry: Module,
    dialect: Dialect,
    find_module: Callable[[str, Module], Module | None],
    vocabulary: Vocabulary,
    position: Position | None,
    shows_wraps: bool,
    most_steps: int = MOST_STEPS,
    *,
    joined: bool = False,
) -> tuple[Facts, frozenset[str], tuple[Class | Function, ...]]:
    """What a script does as one process of several; no code of it is executed.

    What this process never comes to is not looked at. Something that is not to be read may have
    `joined` it to the others before.

    Returns:
        what the run saw, what of its position the script asked for, and the wraps of its own that
        it makes.

    Raises:
        TooComplex: it needs more steps than the analysis allows.
    """
    run = ProcessRun(dialect, find_module, vocabulary, position, shows_wraps)
    run.most_steps = most_steps
    run.joined = joined
    run.import_module(entry)
    return run.facts(entry), frozenset(run.asked), tuple(dict.fromkeys(run.own_wraps))
