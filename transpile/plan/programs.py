"""Which static program a value stands for: a default one, the script's own, a copy for tests."""

from __future__ import annotations

from transpile.facts.events import Event, Stack, Within
from transpile.facts.values import Argument, Constant, Opaque, Value, Values
from transpile.plan.graph import called_names, method_calls
from transpile.plan.model import Plan
from transpile.records import dataclass, replace

MAIN = ("main",)
STARTUP = ("startup",)


@dataclass(frozen=True)
class Words:
    """What a framework calls what makes programs, by dotted names.

    Args:
        main, startup: give the default programs.
        made: makes a new one.
        compiled: makes one that runs on several devices.
        guard: the manager in which other programs are the default ones.
    """

    main: str
    startup: str
    made: str
    compiled: str
    guard: str


@dataclass(frozen=True)
class Program:
    """A program of the script.

    Args:
        key: what tells it apart: one of the two defaults, or the place that makes it.
        testing: it is a copy for tests, ``clone(for_test=True)``.
        compiled: it stands in a ``CompiledProgram``.
        foreign: it was read from files.
    """

    key: tuple[object, ...]
    testing: bool = False
    compiled: bool = False
    foreign: bool = False


class Programs:
    """Answers which program values stand for.

    Args:
        plan: the plan.
        words: what the framework calls what makes programs.
    """

    def __init__(self, plan: Plan, words: Words) -> None:
        self.plan = plan
        self.words = words
        self.made: dict[int, Event] = {}
        for event in plan.facts.calls:
            for value in event.result:
                if isinstance(value, Opaque) and value.node is event.node:
                    self.made.setdefault(id(value), event)

    def of(self, values: Values) -> Program | None:
        """The one program that values stand for; None where it is not known."""
        found = {self.of_value(value, 0) for value in values}
        return found.pop() if len(found) == 1 else None

    def several(self, values: Values) -> set[Program | None]:
        """Every program that values may stand for."""
        return {self.of_value(value, 0) for value in values}

    def of_value(self, value: Value, depth: int) -> Program | None:
        """The program that one value stands for."""
        if depth > 20 or not isinstance(value, Opaque):
            return None
        if value.kind == "item" and is_for_server(value):
            return Program(("server", id(value.node)), testing=True, foreign=True)
        if value.kind == "item" and comes_from_files(value):
            return Program(("read", id(value.node)), testing=True, foreign=True)
        event = self.made.get(id(value))
        for name in called_names(value):
            if name == self.words.main:
                return self.current(event.stack if event else (), 0)
            if name == self.words.startup:
                return self.current(event.stack if event else (), 1)
            if name == self.words.made:
                return Program(("made", id(value.node)))
            if name == self.words.compiled:
                argument = value.arguments.get("program_or_graph", 0)
                inner = self.of_argument(argument, depth)
                return replace(inner, compiled=True) if inner is not None else None
        for method, receivers in method_calls(value):
            if method in ("get_pserver_program", "get_startup_program", "get_pserver_programs"):
                return Program(("server", id(value.node)), testing=True, foreign=True)
            if len(receivers) != 1:
                return None
            inner = self.of_value(receivers[0], depth + 1)
            if inner is None:
                return None
            if method in ("with_data_parallel", "with_inference_optimize"):
                return inner
            if method == "clone":
                testing = value.arguments.get("for_test", 0)
                if testing is not None and testing.values == (Constant(True),):
                    return replace(inner, testing=True)
                return Program(("copy", id(value.node)), inner.testing)
        return None

    def of_argument(self, argument: Argument | None, depth: int) -> Program | None:
        """The program that an argument stands for."""
        if argument is None or len(argument.values) != 1:
            return None
        return self.of_value(argument.values[0], depth + 1)

    def current(self, stack: Stack, which: int) -> Program | None:
        """The program that is the default at a place: 0 is the main one, 1 the startup program."""
        for frame in reversed(stack):
            if not isinstance(frame, Within):
                continue
            for manager in reversed(frame.managers):
                guards = self.words.guard in called_names(manager)
                if not guards or not isinstance(manager, Opaque):
                    continue
                name = ("main_program", "startup_program")[which]
                argument = manager.arguments.get(name, which)
                if argument is None or argument.values == (Constant(None),):
                    continue
                return self.of(argument.values)
        return Program((MAIN, STARTUP)[which])


def is_for_server(value: Opaque) -> bool:
    """Whether an element is one of what ``get_pserver_programs`` gives."""
    return any(
        method == "get_pserver_programs"
        for operands in value.operands
        for operand in operands
        for method, _ in method_calls(operand)
    )


def comes_from_files(value: Opaque) -> bool:
    """Whether an element is one of what ``load_inference_model`` gives."""
    return any(
        name.endswith(".load_inference_model")
        for operands in value.operands
        for operand in operands
        for name in called_names(operand)
    )
