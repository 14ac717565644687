"""Which expressions may differ between processes, and why."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Call, Event
from transpile.facts.module import Module
from transpile.facts.values import BoundMethod, External, Function, Sequence
from transpile.plan.flow.conditions import (
    Bindings,
    assigned,
    choices,
    controls,
    controls_of,
    tests_in_call,
)
from transpile.plan.flow.places import function_of
from transpile.plan.model import Plan
from transpile.quantity.asking import Kind, quantity
from transpile.quantity.objects import UNFOLLOWED
from transpile.records import dataclass, field
from transpile.rules.pytorch.agreement._together import agreeing_calls

from .causes import ON_DISK, Cause, Look, Place, worst
from .keys import keys_of
from .reduced import Reduced, reductions
from .values import ValueDifferences

NUMBER_CHECKS = frozenset({"isnan", "isinf", "isneginf", "isposinf", "isfinite"})
COMPOSITE = (
    cst.BooleanOperation, cst.Comparison, cst.UnaryOperation, cst.BinaryOperation, cst.IfExp,
    cst.Tuple, cst.List, cst.NamedExpr, cst.FormattedString,
)  # fmt: skip


@dataclass(eq=False)
class Divergence:
    """Answers whether expressions of a plan may differ between processes.

    Args:
        plan: the plan.
        varied_from: position of the first event at which random numbers differ.
        agreed: the conditions that are taken as equal on all processes.
        reduced: what becomes that of the global batch; found out where it is not given.
    """

    plan: Plan
    varied_from: int
    agreed: set[int] = field(default_factory=set)
    reduced: Reduced | None = None
    looks: dict[int, Look] = field(default_factory=dict)

    def __post_init__(self) -> None:
        plan = self.plan
        reduced = reductions(plan) if self.reduced is None else self.reduced
        self.reductions = reduced
        self.agreeing = agreeing_calls(plan)
        self.bindings = Bindings()
        self.taken_over_all = bool(plan.facts.calls_to("torch.distributed.all_reduce"))
        self.handlers = signal_handlers(plan)
        self.happening: dict[int, list[Event]] = {}
        self.stores: dict[str, list[Event]] = {}
        self.returns: dict[int, list[Event]] = {}
        for event in plan.facts.events:
            self.happening.setdefault(id(event.node), []).append(event)
            if event.kind == "store":
                self.stores.setdefault(event.name, []).append(event)
            elif event.kind == "exit" and event.name == "return":
                for frame in event.stack:
                    if isinstance(frame, Call) and frame.node is not None:
                        self.returns.setdefault(id(frame.node), []).append(event)

        self.values = ValueDifferences(plan, self.varied_from, self.happening, reduced)

    def agree(self, test: cst.CSTNode) -> None:
        """Take a condition as equal on all processes from now on."""
        self.agreed.add(id(test))

    def cause(self, module: Module, node: cst.CSTNode) -> Cause | None:
        """Why an expression may differ between processes; None where it does not.

        The causes of the conditions on which it was set are its own.
        """
        causes: set[Cause] = set()
        seen: set[int] = set()
        pending: list[Place] = [(module, node)]
        while pending:
            owner, expression = pending.pop()
            if id(expression) in seen or id(expression) in self.agreed:
                continue
            seen.add(id(expression))
            look = self.look(owner, expression)
            # What is read from one file or recreated is the same, whichever happened.
            causes |= look.causes if expression is node else look.causes - ON_DISK
            pending.extend(look.tests)
        return worst(causes)

    # Expressions.

    def look(self, module: Module, node: cst.CSTNode) -> Look:
        """What an expression tells, without following the conditions on which it was set."""
        if id(node) not in self.looks:
            self.looks[id(node)] = Look()
            self.looks[id(node)] = self.find(module, node)
        return self.looks[id(node)]

    def find(self, module: Module, node: cst.CSTNode) -> Look:
        """See :meth:`look`."""
        found = Look()
        if id(node) in self.reductions.nodes:
            return Look(self.reductions.causes(node))
        if isinstance(node, COMPOSITE):
            if asks_for_none(node):
                return self.absence(module, node)  # type: ignore[arg-type]
            keyed = self.asked_keys(module, node)
            if keyed is not None:
                return keyed
            for part in operands(node):
                found.add(self.look(module, part))
            if self.asks_objects(node):
                found.add(Look({Cause.BATCH}))
            return found
        if id(node) in self.agreeing or self.from_agreement(module, node) or self.is_size(node):
            return found
        if self.asks_for_class(node):
            return found
        if self.is_taken_over_all(node):
            return found
        absences = self.absences_named(module, node)
        for absence in absences:
            found.add(self.look(module, absence))
        if not absences:
            values, counted = self.plan.facts.values_of(node), self.bindings.counted(module, node)
            found.add(self.values.of(values, checks_numbers(node), counted))
        found.tests.extend(self.setting_tests(module, node))
        if self.set_by_signal(module, node):
            found.causes.add(Cause.SIGNAL)
        for value, place in self.bindings.carried(module, node):
            found.add(self.look_at_part(module, value, place))
        if isinstance(node, cst.Call):
            found.tests.extend(self.returning_tests(module, node))
        elif isinstance(node, (cst.Attribute, cst.Subscript)):
            found.tests.extend(self.setting_tests(module, node.value))
        return found

    def asked_keys(self, module: Module, node: cst.CSTNode) -> Look | None:
        """What the answer tells whether a dict has a key; None for other expressions."""
        if not isinstance(node, cst.Comparison) or len(node.comparisons) != 1:
            return None
        only = node.comparisons[0]
        if not isinstance(only.operator, (cst.In, cst.NotIn)):
            return None
        keys = keys_of(self.plan, self.plan.facts.values_of(only.comparator))
        if keys is None:
            return None
        found = Look(set(), [*keys.tests, *self.setting_tests(module, only.comparator)])
        found.add(self.look(module, node.left))
        found.add(self.values.of(keys.values))
        return found

    def absences_named(self, module: Module, node: cst.CSTNode) -> list[cst.CSTNode]:
        """The questions whether something is None whose answers a name stands for, if only those.

        What stands in a tensor has no part in the answer.
        """
        if not isinstance(node, cst.Name):
            return []
        values = [value for _, value in self.bindings.of(module, node)]
        asked = [value for value in values if value is not None and asks_for_none(value)]
        return asked if len(asked) == len(values) else []

    def look_at_part(self, module: Module, node: cst.BaseExpression, place: int | None) -> Look:
        """What one part of a tuple tells, where that is known, or else all of it."""
        values = self.plan.facts.values_of(node)
        parts = [
            value.elements[place]
            for value in values
            if place is not None and isinstance(value, Sequence) and not value.rest
            if place < len(value.elements)
        ]
        if not parts or len(parts) < len(values):
            return self.look(module, node)
        found = Look()
        for part in parts:
            found.add(self.values.of(part))
        if isinstance(node, cst.Call):
            found.tests.extend(self.returning_tests(module, node))
        return found

    def is_taken_over_all(self, node: cst.CSTNode) -> bool:
        """Whether the script itself takes a number over all processes.

        What does so gives back what it is given where there is one process alone.
        """
        if not self.taken_over_all:
            return False
        values = self.plan.facts.values_of(node)
        return bool(values) and quantity(self.plan, values).agreed

    def returning_tests(self, module: Module, node: cst.Call) -> Iterator[Place]:
        """The conditions on which a call returns what it returns, or gets what it gets."""
        callees = self.plan.facts.values_of(node.func)
        if any(isinstance(callee, (Function, BoundMethod)) for callee in callees):
            for event in self.returns.get(id(node), ()):
                for test in tests_in_call(event, node):
                    yield event.module, test
            return
        for arg in node.args:
            yield from self.setting_tests(module, arg.value)
        if isinstance(node.func, cst.Attribute):
            yield from self.setting_tests(module, node.func.value)

    def from_agreement(self, module: Module, node: cst.CSTNode) -> bool:
        """Whether a name only ever stands for something that was agreed on."""
        if not isinstance(node, cst.Name):
            return False
        values = [value for _, value in self.bindings.of(module, node) if not is_literal(value)]
        return bool(values) and all(id(value) in self.agreeing for value in values)

    def asks_objects(self, node: cst.BaseExpression) -> bool:
        """Whether objects that hold numbers of the batch say themselves what comes out."""
        values = self.plan.facts.values_of(node)
        return bool(values) and quantity(self.plan, values).reason == UNFOLLOWED

    def is_size(self, node: cst.CSTNode) -> bool:
        """Whether an expression is a call of ``len``, but for what picks some of the samples."""
        if not isinstance(node, cst.Call):
            return False
        if External("builtins.len") not in self.plan.facts.values_of(node.func):
            return False
        found = quantity(self.plan, self.plan.facts.values_of(node))
        return found.kind is not Kind.PART and not (found.kind is Kind.UNKNOWN and found.sampled)

    def asks_for_class(self, node: cst.CSTNode) -> bool:
        """Whether an expression is ``type(x)``, whatever the numbers in it are."""
        if not isinstance(node, cst.Call) or len(node.args) != 1:
            return False
        return External("builtins.type") in self.plan.facts.values_of(node.func)

    def absence(self, module: Module, node: cst.Comparison) -> Look:
        """Why something may be None on some processes only."""
        tests = list(self.setting_tests(module, node.left))
        if any(test is node for _, test in tests):
            # Set as soon as it is missed: on every process at once.
            return Look()
        return Look(set(), tests)

    def setting_tests(self, module: Module, node: cst.CSTNode) -> Iterator[Place]:
        """The conditions on which a variable, an attribute or an item is set."""
        if isinstance(node, cst.Name):
            local = self.bindings.is_local(module, node)
            for (statement, value), passed in self.bindings.live(module, node):
                # A test that whoever reads the name has passed, too, leaves nobody another value.
                tests = () if passed else controls(module, statement, returns=not local)
                for test in (*tests, *choices(value)):
                    yield module, test
        elif isinstance(node, (cst.Attribute, cst.Subscript)):
            name = node.attr.value if isinstance(node, cst.Attribute) else "[]"
            owners = {id(value) for value in self.plan.facts.values_of(node.value)}
            for event in self.stores.get(name, ()):
                if any(id(value) in owners for value in event.callee):
                    yield from controls_of(event)
                    for test in choices(assigned(event)):
                        yield event.module, test

    def set_by_signal(self, module: Module, node: cst.CSTNode) -> bool:
        """Whether a variable or an attribute is set by a function that handles signals."""
        if not self.handlers:
            return False
        if isinstance(node, cst.Name):
            return any(
                id(function_of(module, statement)) in self.handlers
                for statement, _ in self.bindings.of(module, node)
            )
        if isinstance(node, cst.Attribute):
            owners = {id(value) for value in self.plan.facts.values_of(node.value)}
            return any(
                id(value) in owners
                for event in self.stores.get(node.attr.value, ())
                if id(function_of(event.module, event.node)) in self.handlers
                for value in event.callee
            )
        return False


def checks_numbers(node: cst.CSTNode) -> bool:
    """Whether an expression is a check for NaN or infinite values."""
    if not isinstance(node, cst.Call):
        return False
    name = node.func.attr if isinstance(node.func, cst.Attribute) else node.func
    word = name.value if isinstance(name, cst.Name) else ""
    if word in NUMBER_CHECKS:
        return True
    return isinstance(node.func, cst.Attribute) and checks_numbers(node.func.value)


def signal_handlers(plan: Plan) -> set[int]:
    """The functions that signals call, by the identity of their nodes."""
    found: set[int] = set()
    for event in plan.facts.calls:
        if External("signal.signal") in event.callee:
            for item in event.arguments.items:
                for value in item.values:
                    function = value.function if isinstance(value, BoundMethod) else value
                    if isinstance(function, Function):
                        found.add(id(function.node))
    return found


def operands(node: cst.CSTNode) -> list[cst.CSTNode]:
    """The expressions that a composite one is made of."""
    if isinstance(node, (cst.BooleanOperation, cst.BinaryOperation)):
        return [node.left, node.right]
    if isinstance(node, cst.Comparison):
        return [node.left, *(target.comparator for target in node.comparisons)]
    if isinstance(node, cst.UnaryOperation):
        return [node.expression]
    if isinstance(node, cst.IfExp):
        return [node.test, node.body, node.orelse]
    if isinstance(node, (cst.Tuple, cst.List)):
        return [element.value for element in node.elements]
    if isinstance(node, cst.NamedExpr):
        return [node.value]
    if isinstance(node, cst.FormattedString):
        return [
            part.expression
            for part in node.parts
            if isinstance(part, cst.FormattedStringExpression)
        ]
    return []


def asks_for_none(node: cst.CSTNode) -> bool:
    """Whether an expression is ``x is None`` or ``x is not None``."""
    return (
        isinstance(node, cst.Comparison)
        and len(node.comparisons) == 1
        and isinstance(node.comparisons[0].operator, (cst.Is, cst.IsNot))
        and isinstance(node.comparisons[0].comparator, cst.Name)
        and node.comparisons[0].comparator.value == "None"
    )


def is_literal(node: cst.CSTNode | None) -> bool:
    """Whether an expression is a number, a string, True, False or None."""
    if isinstance(node, cst.Name):
        return node.value in ("True", "False", "None")
    return isinstance(node, (cst.BaseNumber, cst.SimpleString))
