"""What runs on some ranks only: places behind a test of the process's rank."""

from __future__ import annotations

from collections.abc import Iterable

import libcst as cst

from transpile.facts.events import Branch, Call, Event, Stack, Within
from transpile.facts.module import Module
from transpile.facts.values import (
    Constant,
    External,
    Generator,
    Opaque,
    Value,
    Values,
)
from transpile.plan.graph import called_names
from transpile.plan.model import Plan

#: Environment variables in which launchers say a process's rank in the whole job.
RANK_VARIABLES = frozenset(
    {"RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PADDLE_TRAINER_ID"}
)
CONVERSIONS = frozenset({"builtins.int", "builtins.bool", "builtins.str"})
#: Operators whose result still says which rank this is.
COMPARING = frozenset(
    {
        "Equal", "NotEqual", "LessThan", "LessThanEqual", "GreaterThan", "GreaterThanEqual", "Is",
        "IsNot", "In", "NotIn", "And", "Or", "Not",
    }
)  # fmt: skip
LEAVING = (cst.Return, cst.Raise, cst.Continue, cst.Break)


class Ranks:
    """Answers which places of a plan run on some ranks only.

    Args:
        plan: the plan.
        barriers: calls in which every process waits for the others.
    """

    def __init__(self, plan: Plan, barriers: frozenset[str]) -> None:
        self.plan = plan
        self.barriers = barriers
        self.tests: dict[int, bool] = {}
        self.after_exit: dict[int, bool] = {}
        self.managers: dict[int, bool] = {}

    def is_rank(self, values: Values) -> bool:
        """Whether values are a rank or the result of comparing one.

        Only operators, conversions and the project's own functions are looked through: what was
        computed on a rank's device, say, is no rank.
        """
        seen: set[int] = set()
        stack: list[Value] = list(values)
        while stack:
            value = stack.pop()
            if id(value) in seen or not isinstance(value, Opaque):
                continue
            seen.add(id(value))
            names = called_names(value)
            if any(name in self.plan.table.rank_calls for name in names):
                return True
            if reads_rank_variable(value) or self.reads_rank_attribute(value):
                return True
            if value.kind == "operation" and COMPARING.issuperset(value.name.split()):
                for operands in value.operands:
                    stack.extend(operands)
            elif any(name in CONVERSIONS for name in names):
                for argument in value.arguments.items:
                    stack.extend(argument.values)
        return False

    def reads_rank_attribute(self, value: Opaque) -> bool:
        """Whether a value is the rank as an attribute of what a call of the framework gives."""
        return value.kind == "attribute" and any(
            (name, value.name) in self.plan.table.rank_attributes
            for base in value.operands[0]
            for name in called_names(base)
        )

    def tests_rank(self, test: cst.CSTNode) -> bool:
        """Whether a condition depends on the rank."""
        known = self.tests.get(id(test))
        if known is None:
            known = self.is_rank(self.plan.facts.values_of(test))
            self.tests[id(test)] = known
        return known

    def branch_on_rank(self, frame: Branch) -> bool:
        """Whether a branch is taken by some ranks only."""
        node = frame.node
        if isinstance(node, (cst.If, cst.IfExp)):
            return self.tests_rank(node.test)
        if isinstance(node, cst.BooleanOperation):
            return self.tests_rank(node.left)
        return False

    def some_ranks(self, event: Event) -> bool:
        """Whether an event happens on some ranks only, in its context."""
        if any(isinstance(frame, Branch) and self.branch_on_rank(frame) for frame in event.stack):
            return True
        places = [(event.module, event.node)]
        places.extend(
            (frame.module, frame.node)
            for frame in event.stack
            if isinstance(frame, Call) and frame.node is not None
        )
        return any(self.behind_exit(module, node) for module, node in places)

    def behind_exit(self, module: Module, node: cst.CSTNode) -> bool:
        """Whether other ranks have left the block before: ``if rank != 0: return`` above."""
        known = self.after_exit.get(id(node))
        if known is None:
            known = self.find_exit(module, node)
            self.after_exit[id(node)] = known
        return known

    def find_exit(self, module: Module, node: cst.CSTNode) -> bool:
        """See :meth:`behind_exit`."""
        inner = node
        for outer in module.source.parents(node):
            if isinstance(outer, (cst.IndentedBlock, cst.Module)):
                for statement in outer.body:
                    if statement is inner:
                        break
                    if leaves(statement) and self.tests_rank(statement.test):  # type: ignore[attr-defined]
                        return True
            if isinstance(outer, (cst.FunctionDef, cst.Lambda)):
                return False
            inner = outer
        return False

    def in_turn(self, stack: Stack) -> bool:
        """Whether a ``with`` around a place lets the processes in one after the other."""
        for frame in stack:
            if isinstance(frame, Within):
                for value in frame.managers:
                    if isinstance(value, Generator) and self.waits(value):
                        return True
        return False

    def waits(self, manager: Generator) -> bool:
        """Whether a generator of the project waits for other ranks before or after it yields."""
        known = self.managers.get(id(manager))
        if known is None:
            known = self.waits_by_rank(manager)
            self.managers[id(manager)] = known
        return known

    def waits_by_rank(self, manager: Generator) -> bool:
        """See :meth:`waits`."""
        for event in self.plan.facts.calls:
            if not any(frame.function is manager.function for frame in event.calls()):
                continue
            if self.is_barrier(event):
                return True
        return False

    def is_barrier(self, event: Event) -> bool:
        """Whether every process waits for the others in a call."""
        for callee in event.callee:
            if isinstance(callee, External) and callee.name in self.barriers:
                return True
            if isinstance(callee, Opaque) and callee.kind == "attribute":
                for maker in (name for value in callee.operands[0] for name in called_names(value)):
                    if f"{maker}.{callee.name}" in self.barriers:
                        return True
        return False


def leaves(statement: cst.CSTNode) -> bool:
    """Whether a statement is an ``if`` whose body always leaves the block that it stands in."""
    if not isinstance(statement, cst.If) or statement.orelse is not None:
        return False
    last: cst.CSTNode = statement.body
    while isinstance(last, (cst.IndentedBlock, cst.SimpleStatementLine, cst.SimpleStatementSuite)):
        last = last.body[-1]
    return isinstance(last, LEAVING)


def reads_rank_variable(value: Opaque) -> bool:
    """Whether a value is read from the environment variable that holds the rank."""
    if value.kind == "item":
        environment = any(v == External("os.environ") for group in value.operands for v in group)
        return environment and names_rank(value.index)
    if any(name in ("os.environ.get", "os.getenv") for name in called_names(value)):
        first = value.arguments.get("key", 0)
        return first is not None and names_rank(first.values)
    return False


def names_rank(values: Iterable[Value]) -> bool:
    """Whether some value is the name of a variable that holds the rank."""
    return any(isinstance(v, Constant) and v.value in RANK_VARIABLES for v in values)
