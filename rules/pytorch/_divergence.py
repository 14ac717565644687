"""Which values may differ between processes, and why.

A value differs by what it was computed from, or because of the branch on which it was set: a
counter that is raised where a loss got worse depends on that loss, though no number flows from the
one into the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum

import libcst as cst

from transpile.facts.events import Call, Event, Loop
from transpile.facts.module import Module
from transpile.facts.values import (
    BoundMethod,
    Constant,
    External,
    Function,
    Instance,
    Opaque,
    Value,
    Values,
    only_constant,
)
from transpile.plan.graph import called_names, is_instance_of, origin, parents
from transpile.plan.model import Plan
from transpile.plan.places import function_of
from transpile.rules.pytorch._conditions import (
    Bindings,
    assigned,
    choices,
    controls,
    controls_of,
    tests_in_call,
)
from transpile.rules.pytorch._once import VOCABULARY
from transpile.rules.pytorch._reported import Change, reported
from transpile.rules.pytorch._together import agreed_values, agreeing_calls, schedules
from transpile.rules.pytorch._written_paths import writes_into


class Cause(Enum):
    """Why a value may differ between processes, the worst first."""

    BATCH = "this process's own part of the batch"
    RESULTS = "what the model computes"
    TIME = "the clock"
    SIGNAL = "a signal that this process gets"
    MACHINE = "this process or its machine"
    RANDOM = "this process's random numbers"
    FILES = "files that are written meanwhile"
    PRESENCE = "files that this machine has or lacks"


ON_DISK = frozenset({Cause.FILES, Cause.PRESENCE})
CLOCKS = (
    "time.", "datetime.datetime.now", "datetime.datetime.utcnow", "datetime.datetime.today",
    "timeit.default_timer",
)  # fmt: skip
MACHINE = (
    "psutil.", "torch.cuda.mem", "torch.cuda.max_mem", "resource.", "GPUtil.", "os.getpid",
    "socket.", "platform.node", "os.uname", "os.cpu_count", "multiprocessing.cpu_count",
    "torch.cuda.get_device_properties", "shutil.disk_usage",
)  # fmt: skip
RANDOM = (
    "random.", "numpy.random.", "torch.rand", "torch.bernoulli", "torch.multinomial",
    "torch.normal", "uuid.uuid4", "os.urandom", "secrets.",
)  # fmt: skip
NOT_DRAWN = (".seed", "manual_seed", "default_rng", "RandomState", "Generator", "_state")
CHECKS = frozenset(
    {
        "os.path.exists", "os.path.isfile", "os.path.isdir", "os.path.getsize",
        "os.path.getmtime", "os.listdir", "os.scandir", "glob.glob", "glob.iglob", "os.access",
    }
)  # fmt: skip
CHECK_METHODS = frozenset({"exists", "is_file", "is_dir", "stat", "glob", "rglob", "iterdir"})
#: What gives the same number for every process's part of the batch.
SIZES = frozenset({"len", "dim", "numel", "ndimension", "isinstance"})
NUMBER_CHECKS = frozenset({"isnan", "isinf", "isneginf", "isposinf", "isfinite"})
#: Methods that put what they are given into their object; others end with an underscore.
FEEDING = frozenset(
    {
        "update", "add", "append", "extend", "appendleft", "insert", "put", "push", "record",
        "accumulate", "subtract", "step", "log",
    }
)  # fmt: skip
#: Objects that stay equal whatever they are given.
KEPT_EQUAL = ("torch.amp.GradScaler", "torch.utils.data.DataLoader", "torch.utils.tensorboard.")
COMPOSITE = (
    cst.BooleanOperation, cst.Comparison, cst.UnaryOperation, cst.BinaryOperation, cst.IfExp,
    cst.Tuple, cst.List, cst.NamedExpr, cst.FormattedString,
)  # fmt: skip


Place = tuple[Module, cst.CSTNode]


@dataclass(eq=False)
class Look:
    """What one expression tells by itself.

    Args:
        causes: why what it is computed from may differ.
        tests: the conditions on which it was set, with their modules.
    """

    causes: set[Cause] = field(default_factory=set)
    tests: list[Place] = field(default_factory=list)

    def add(self, other: Look) -> None:
        """Take in what a part of the expression tells."""
        self.causes |= other.causes
        self.tests.extend(other.tests)


@dataclass(eq=False)
class Divergence:
    """Answers whether expressions of a plan may differ between processes.

    Args:
        plan: the plan.
        varied_from: position of the first event at which random numbers differ.
        agreed: the conditions that are taken as equal on all processes.
    """

    plan: Plan
    varied_from: int
    agreed: set[int] = field(default_factory=set)
    looks: dict[int, Look] = field(default_factory=dict)

    def __post_init__(self) -> None:
        plan = self.plan
        self.equal = agreed_values(plan)
        self.reduced = reductions(plan)
        self.agreeing = agreeing_calls(plan)
        self.training = {id(loader.value) for loader in plan.training_loaders}
        self.models = {id(model.value) for model in plan.models}
        self.optimizers = {id(optimizer.value) for optimizer in plan.optimizers}
        self.fed = fed_values(plan)
        self.bindings = Bindings()
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
            # What is read from one file or made anew is the same, whichever happened.
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
        if isinstance(node, COMPOSITE):
            if asks_for_none(node):
                return self.absence(module, node)  # type: ignore[arg-type]
            for part in operands(node):
                found.add(self.look(module, part))
            return found
        if id(node) in self.agreeing or self.from_agreement(module, node) or self.is_size(node):
            return found
        if id(node) in self.reduced.nodes:
            return Look(self.reduced.causes(node))
        found.add(self.of_values(self.plan.facts.values_of(node), checks_numbers(node)))
        found.tests.extend(self.setting_tests(module, node))
        if self.set_by_signal(module, node):
            found.causes.add(Cause.SIGNAL)
        for value in self.bindings.carried(module, node):
            found.add(self.look(module, value))
        if isinstance(node, cst.Call):
            found.tests.extend(self.returning_tests(module, node))
        elif isinstance(node, (cst.Attribute, cst.Subscript)):
            found.tests.extend(self.setting_tests(module, node.value))
        return found

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

    def is_size(self, node: cst.CSTNode) -> bool:
        """Whether an expression is a call of ``len``."""
        return isinstance(node, cst.Call) and External("builtins.len") in self.plan.facts.values_of(
            node.func
        )

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
            for statement, value in self.bindings.of(module, node):
                for test in (*controls(module, statement), *choices(value)):
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

    # Values.

    def of_values(self, values: Values, strict: bool = False) -> Look:
        """Why values may differ by what they were computed from.

        Args:
            values: the values.
            strict: what is reduced elsewhere in the script is not reduced here.
        """
        found = Look()
        seen: set[int] = set()
        pending = list(values)
        while pending:
            value = pending.pop()
            if id(value) in seen or id(value) in self.equal:
                continue
            seen.add(id(value))
            if not strict and id(value) in self.reduced.values:
                continue
            if not isinstance(value, Opaque):
                if not isinstance(value, (Instance, Constant, External)):
                    for group in parents(value):
                        pending.extend(group)
                continue
            if id(value.node) in self.reduced.nodes:
                found.causes |= self.reduced.causes(value.node)
                continue
            if value.kind == "operation" and isinstance(value.node, cst.AugAssign):
                for event in self.happening.get(id(value.node), ()):
                    found.tests.extend(controls_of(event))
            own = self.own_cause(value)
            if own is not None:
                found.causes.add(own)
            if own in (None, Cause.RESULTS):
                pending.extend(self.behind(value))
        return found

    def own_cause(self, value: Opaque) -> Cause | None:
        """Why a value itself, whatever it is computed from, may differ."""
        if value.kind == "element":
            if any(self.is_training_data(source) for source in value.operands[0]):
                return Cause.BATCH
            return None
        if value.kind != "call":
            return None
        for name in called_names(value):
            if name.startswith(CLOCKS) and name != "time.sleep":
                return Cause.TIME
            if name.startswith(MACHINE):
                return Cause.MACHINE
            if name.startswith(RANDOM) and not any(word in name for word in NOT_DRAWN):
                return Cause.RANDOM if self.is_late(value) else None
            if name in CHECKS:
                written = self.is_written(value.arguments.items[:1])
                return Cause.FILES if written else Cause.PRESENCE
        for callee in value.callee:
            if id(origin(callee)) in self.models or is_layer(callee, self.plan):
                return Cause.RESULTS
            if isinstance(callee, Opaque) and callee.kind == "attribute":
                if callee.name in CHECK_METHODS:
                    written = writes_into(self.plan, callee.operands[0])
                    return Cause.FILES if written else Cause.PRESENCE
        return None

    def behind(self, value: Opaque) -> Iterator[Value]:
        """What a value was computed from, as far as it may pass differences on."""
        if value.kind == "operation" and value.name in SIZES:
            return
        if value.kind == "call":
            if any(name.rpartition(".")[2] in SIZES for name in called_names(value)):
                return
            for callee in value.callee:
                if isinstance(callee, Opaque) and callee.kind == "attribute":
                    if callee.name in SIZES or (callee.name == "size" and is_first(value)):
                        return
        if value.kind == "item" and is_shape(value) and only_constant(value.index) == Constant(0):
            return
        if id(value) in self.models or id(value) in self.optimizers:
            return
        if schedules(value, self.optimizers):
            return
        for group in parents(value):
            yield from group
        yield from self.fed.get(id(value), ())

    def is_training_data(self, source: Value) -> bool:
        """Whether iterating over a value gives batches of a training loader."""
        pending, seen = [source], set()
        while pending:
            value = pending.pop()
            if id(value) in self.training:
                return True
            if id(value) in seen or not isinstance(value, Opaque):
                continue
            seen.add(id(value))
            if value.kind in ("call", "operation") and value.name not in SIZES:
                for group in (*value.operands, *(a.values for a in value.arguments.items)):
                    pending.extend(group)
        return False

    def is_late(self, value: Opaque) -> bool:
        """Whether a value is drawn where the processes have random numbers of their own."""
        return any(
            event.order >= self.varied_from for event in self.happening.get(id(value.node), ())
        )

    def is_written(self, arguments: tuple[object, ...]) -> bool:
        """Whether the script itself writes what a call looks for."""
        return any(writes_into(self.plan, a.values) for a in arguments)  # type: ignore[attr-defined]


@dataclass(frozen=True, eq=False)
class Reduced:
    """What becomes that of the global batch before anything depends on it.

    Args:
        nodes: expressions, by their identity, methods on the way to a plain number included.
        shared: those among them that stay each process's own in evaluations.
        values: what is given to others after it was reduced.
    """

    nodes: frozenset[int]
    shared: frozenset[int]
    values: frozenset[int]

    def causes(self, node: cst.CSTNode) -> set[Cause]:
        """Why a reduced expression may differ all the same."""
        return {Cause.RESULTS} if id(node) in self.shared else set()


def reductions(plan: Plan) -> Reduced:
    """The numbers that the rule on reported numbers takes over all processes."""
    nodes: set[int] = set()
    shared: set[int] = set()
    values: set[int] = set()
    found = reported(plan, VOCABULARY)
    together = found.together()
    for leaf in found.leaves.values():
        if id(leaf.node) not in together:
            continue
        kept = {id(leaf.node)}
        node: cst.CSTNode = leaf.node
        outer = leaf.module.source.parent(node)
        if isinstance(outer, cst.Arg):
            values.update(id(value) for value in plan.facts.values_of(node))
        while isinstance(outer, cst.Attribute) or (
            isinstance(outer, cst.Call) and outer.func is node
        ):
            node = outer
            kept.add(id(node))
            outer = leaf.module.source.parent(node)
        nodes |= kept
        if leaf.change is Change.SHARED_SUM:
            shared |= kept
    return Reduced(frozenset(nodes), frozenset(shared), frozenset(values))


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
    for event in plan.facts.events:
        if event.kind == "call" and External("signal.signal") in event.callee:
            for item in event.arguments.items:
                for value in item.values:
                    function = value.function if isinstance(value, BoundMethod) else value
                    if isinstance(function, Function):
                        found.add(id(function.node))
    return found


def worst(causes: Iterator[Cause | None] | list[Cause | None] | set[Cause]) -> Cause | None:
    """The first cause in the order of the enumeration."""
    found = {cause for cause in causes if cause is not None}
    return next((cause for cause in Cause if cause in found), None)


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


def is_layer(callee: Value, plan: Plan) -> bool:
    """Whether calling a value computes with layers."""
    behind = origin(callee)
    if is_instance_of(behind, plan.table.module_bases):
        return True
    return any(name.startswith(plan.table.layer_packages) for name in called_names(behind))


def is_first(value: Opaque) -> bool:
    """Whether ``size()`` is asked for the first dimension."""
    items = value.arguments.items
    return len(items) == 1 and only_constant(items[0].values) == Constant(0)


def is_shape(value: Opaque) -> bool:
    """Whether an item is one of a shape."""
    for base in value.operands[0]:
        if isinstance(base, Opaque):
            if base.kind == "attribute" and base.name == "shape":
                return True
            if base.kind == "call" and any(
                isinstance(c, Opaque) and c.name == "size" for c in base.callee
            ):
                return True
    return False


def fed_values(plan: Plan) -> dict[int, list[Value]]:
    """What methods and item assignments put into objects that cannot be looked into."""
    optimizers = {id(optimizer.value) for optimizer in plan.optimizers}
    models = {id(model.value) for model in plan.models}
    found: dict[int, list[Value]] = {}
    for event in plan.facts.events:
        if event.kind == "store" and event.name == "[]":
            for value in event.callee:
                if isinstance(value, Opaque):
                    found.setdefault(id(value), []).extend(event.result)
        if event.kind != "call":
            continue
        for callee in event.callee:
            if not isinstance(callee, Opaque) or callee.kind != "attribute":
                continue
            if callee.name not in FEEDING and not callee.name.endswith("_"):
                continue
            for receiver in callee.operands[0]:
                if not isinstance(receiver, Opaque) or receiver.kind != "call":
                    continue
                if id(receiver) in optimizers or id(origin(receiver)) in models:
                    continue
                if schedules(receiver, optimizers):
                    continue
                names = called_names(receiver)
                if any(name.startswith(KEPT_EQUAL) for name in names):
                    continue
                if any(name.startswith(plan.table.layer_packages) for name in names):
                    continue
                for argument in event.arguments.items:
                    found.setdefault(id(receiver), []).extend(argument.values)
    return found


def loop_position(plan: Plan, loop: Loop | None) -> int:
    """The position of the first event inside a loop."""
    if loop is not None:
        for event in plan.facts.events:
            for frame in event.stack:
                if isinstance(frame, Loop) and frame.node is loop.node:
                    return event.order
    return len(plan.facts.events)
