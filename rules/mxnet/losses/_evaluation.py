"""Loops that only evaluate, and whether the workers can shard their batches."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event, Loop
from transpile.facts.module import Module
from transpile.facts.values import Instance, Opaque, only_constant
from transpile.facts.walk import descendants
from transpile.plan.data.sources import constant_of
from transpile.plan.flow.places import function_of
from transpile.plan.graph import called_names
from transpile.plan.model import Loader, Plan
from transpile.plan.query import query
from transpile.records import dataclass
from transpile.rules.mxnet._roles import can_reduce, receivers_of, training_loaders, updates
from transpile.rules.mxnet.losses._metrics import is_metric, unusual
from transpile.rules.mxnet.losses._numbers import READING

#: Methods that read a metric.
METRIC_READING = frozenset({"get", "get_name_value", "get_global", "get_global_name_value"})
#: Methods that only compute, or only wait.
QUIET = frozenset(
    {"forward", "wait_to_read", "waitall", "update", "update_dict", "update_metric", "reset"}
)
SERVERS = "the servers update the parameters, and can add up nothing else"


@dataclass(frozen=True, eq=False)
class Shared:
    """A loop whose batches the workers shard.

    Args:
        module: where it is.
        loop: the loop.
        data: the expression in its head that delivers batches.
        numbers: the names that add numbers up in it.
        metrics: the metrics that it updates, by identity.
    """

    module: Module
    loop: cst.For
    data: cst.BaseExpression
    numbers: tuple[str, ...]
    metrics: frozenset[int]


@dataclass(frozen=True, eq=False)
class Whole:
    """A loop that every worker goes through, and why."""

    module: Module
    loop: cst.CSTNode
    why: str


@query
def evaluations(plan: Plan) -> list[Shared | Whole]:
    """The loops over data that nothing is trained on; found once for all rules."""
    found = list(find_evaluations(plan))
    return [mixed(plan, each, found) for each in found]


def find_evaluations(plan: Plan) -> Iterator[Shared | Whole]:
    """See :func:`evaluations`."""
    training = {id(loader) for loader in training_loaders(plan)}
    drawn: dict[int, list[Loader]] = {}
    nodes: dict[int, Event] = {}
    for loader in plan.loaders:
        for event in loader.iterations:
            if not event.detached and isinstance(event.node, cst.For):
                drawn.setdefault(id(event.node), []).append(loader)
                nodes.setdefault(id(event.node), event)
    for key, loaders in drawn.items():
        if all(id(loader) in training for loader in loaders):
            continue
        event = nodes[key]
        assert isinstance(event.node, cst.For)
        judged = judge(plan, event, event.node, loaders, training)
        yield Whole(event.module, event.node, judged) if isinstance(judged, str) else judged


def judge(
    plan: Plan, event: Event, loop: cst.For, loaders: list[Loader], training: set[int]
) -> Shared | str:
    """One loop: how the workers share it, or why they do not."""
    if not can_reduce(plan):
        return SERVERS
    if any(id(loader) in training for loader in loaders):
        return "the same loop goes through data that is trained on"
    if any(not has_order(loader) for loader in loaders):
        return "its batches are in another order in every worker"
    data = delivering(plan, loop.iter, {id(loader.value) for loader in loaders})
    if data is None:
        return "it cannot be seen what its head goes through"
    inside = [
        each
        for each in plan.facts.events
        if any(isinstance(frame, Loop) and frame.node is loop for frame in each.stack)
    ]
    steps = {id(update.event.node) for update in updates(plan)}
    if any(id(each.node) in steps for each in inside):
        return "it trains, too"
    return Body(plan, event.module, loop, inside).judge(data)


def has_order(loader: Loader) -> bool:
    """Whether all workers draw the same batches from some data."""
    if isinstance(loader.value, Instance):
        return False
    shuffle = constant_of(loader.argument("shuffle") or loader.event.arguments.keyword("shuffle"),
                          False)  # fmt: skip
    named = ("sampler", "batch_sampler")
    return shuffle in (False, None, 0) and all(loader.argument(name) is None for name in named)


def delivering(plan: Plan, node: cst.BaseExpression, made: set[int]) -> cst.BaseExpression | None:
    """The expression in the head of a loop that is the data itself."""
    values = plan.facts.values_of(node)
    if values and all(id(value) in made for value in values):
        return node
    first = node.args[0] if isinstance(node, cst.Call) and node.args else None
    if first is None or first.star or any(arg.star for arg in node.args):  # type: ignore[attr-defined]
        return None
    names = {name for value in values for name in called_names(value)}
    through = plan.table.dialect.iterates_argument | {"builtins.enumerate"}
    built_in = isinstance(node.func, cst.Name) and node.func.value == "enumerate"  # type: ignore[attr-defined]
    if names <= through and (names or built_in):
        return delivering(plan, first.value, made)
    return None


@dataclass(eq=False)
class Body:
    """Looks at what a loop does with its batches.

    Args:
        plan: the plan.
        module: where the loop is.
        loop: the loop.
        inside: what happens in it.
    """

    plan: Plan
    module: Module
    loop: cst.For
    inside: list[Event]

    def judge(self, data: cst.BaseExpression) -> Shared | str:
        """How the workers share the loop, or why they do not."""
        numbers: list[str] = []
        bound = names_in(self.loop.target)
        for node in descendants(self.loop.body):
            why = self.obstacle(node, numbers, bound)
            if why:
                return why
        if self.loop.orelse is not None:
            return "it has an else"
        why = self.kept(bound - set(numbers))
        if why:
            return why
        metrics = set()
        for event in self.inside:
            for value in updated(event):
                if unusual(self.plan, (value,)):
                    return "a metric of it is more than a sum over a count"
                metrics.add(id(value))
        for event in self.inside:
            if any(id(v) in metrics for name in METRIC_READING for v in receivers_of(event, name)):
                return "a metric is read in the middle of it"
        if not numbers and not metrics:
            return "nothing adds up in it"
        ordered = tuple(dict.fromkeys(numbers))
        return Shared(self.module, self.loop, data, ordered, frozenset(metrics))

    def obstacle(self, node: cst.CSTNode, numbers: list[str], bound: set[str]) -> str:
        """Why one node of the body keeps the workers from sharing the loop."""
        if isinstance(node, (cst.Break, cst.Return, cst.Raise, cst.Global, cst.Nonlocal)):
            return "it may end early, or changes what is outside"
        if isinstance(node, (cst.Yield, cst.Await, cst.Try, cst.FunctionDef, cst.Del)):
            return "it does more than evaluate"
        if isinstance(node, cst.AugAssign):
            if not self.adds_number(node):
                return "what it adds up cannot be told to be a number"
            assert isinstance(node.target, cst.Name)
            numbers.append(node.target.value)
        elif isinstance(node, (cst.Assign, cst.AnnAssign)):
            targets = node.targets if isinstance(node, cst.Assign) else (node,)
            for target in targets:
                if not isinstance(target.target, (cst.Name, cst.Tuple, cst.List)):
                    return "it changes an object"
                bound |= names_in(target.target)
        elif isinstance(node, cst.For):
            bound |= names_in(node.target)
        elif isinstance(node, cst.With):
            if any(is_training_mode(item.item) for item in node.items):
                return "it runs the model as in training"
            bound |= {n for item in node.items if item.asname for n in names_in(item.asname.name)}
        elif isinstance(node, cst.Expr) and not self.is_quiet(node.value, bound):
            return "it has an effect beside adding up"
        return ""

    def is_quiet(self, node: cst.BaseExpression, bound: set[str]) -> bool:
        """Whether a call on its own leaves nothing but metrics, or lists of the loop itself."""
        if not isinstance(node, cst.Call):
            return isinstance(node, cst.SimpleString)
        function = node.func
        if isinstance(function, cst.Attribute):
            own = isinstance(function.value, cst.Name) and function.value.value in bound
            known = any(updated(event) for event in self.inside if event.node is node)
            if function.attr.value in ("append", "extend"):
                return own
            return function.attr.value in QUIET and (
                known or function.attr.value not in ("update", "update_dict", "reset")
            )
        return False

    def adds_number(self, node: cst.AugAssign) -> bool:
        """Whether a name that begins with 0 right before the loop gets a number added."""
        if not isinstance(node.operator, cst.AddAssign) or not isinstance(node.target, cst.Name):
            return False
        return is_number(node.value) and self.begins_with_zero(node.target.value)

    def begins_with_zero(self, name: str) -> bool:
        """Whether a name is set to 0 in the block of the loop, and then only added to in it."""
        source = self.module.source
        block = source.parent(self.loop)
        zero = False
        for statement in getattr(block, "body", ()):
            if statement is self.loop:
                return zero
            for node in descendants(statement):
                if isinstance(node, cst.Assign):
                    found = assigned(node, name)
                    if found is not None:
                        values = self.plan.facts.values_of(found)
                        constant = only_constant(values)
                        zero = constant is not None and constant.value == 0
                elif isinstance(node, cst.AugAssign) and name in names_in(node.target):
                    zero = False
        return False

    def kept(self, bound: set[str]) -> str:
        """Why names that the loop binds matter behind it."""
        source = self.module.source
        around = function_of(self.module, self.loop) or source.tree
        end = source.span(self.loop).end
        for node in descendants(around):
            if isinstance(node, cst.Name) and node.value in bound and source.has(node):
                if source.span(node).start < end or is_bound_again(source.parent(node), node):
                    continue
                again = any(
                    isinstance(parent, (cst.For, cst.CompFor)) and parent is not self.loop
                    and node.value in names_in(parent.target)
                    for parent in source.parents(node)
                )  # fmt: skip
                if not again and not self.rebound(node, end):
                    return f"'{node.value}' is used behind it"
        return ""

    def rebound(self, node: cst.Name, end: int) -> bool:
        """Whether a name gets another value between the loop and a use of it."""
        source = self.module.source
        around = function_of(self.module, self.loop) or source.tree
        start = source.span(node).start
        return any(
            isinstance(each, (cst.Assign, cst.For))
            and end < source.span(each).start < start
            and node.value in bound_by(each)
            for each in descendants(around)
            if isinstance(each, (cst.Assign, cst.For))
        )


def mixed(plan: Plan, each: Shared | Whole, found: list[Shared | Whole]) -> Shared | Whole:
    """A loop that is not shared after all, as one of its metrics is updated by every worker."""
    if isinstance(each, Whole):
        return each
    shared = {id(one.loop) for one in found if isinstance(one, Shared)}
    shared |= {id(update.loop.node) for update in updates(plan) if update.loop is not None}
    for event in plan.facts.events:
        if any(id(value) in each.metrics for value in updated(event)):
            around = {id(frame.node) for frame in event.stack if isinstance(frame, Loop)}
            if not around & shared:
                why = "one of its metrics is updated elsewhere, by every worker"
                return Whole(each.module, each.loop, why)
    return each


def updated(event: Event) -> list[Opaque]:
    """The metrics that a call updates."""
    found = [v for name in ("update", "update_dict") for v in receivers_of(event, name)]
    if receivers_of(event, "update_metric"):
        found.extend(v for argument in event.arguments.items for v in argument.values)
    return [value for value in found if isinstance(value, Opaque) and is_metric(value)]


def is_training_mode(node: cst.BaseExpression) -> bool:
    """Whether a manager lets models run as in training."""
    function = node.func if isinstance(node, cst.Call) else node
    name = function.attr.value if isinstance(function, cst.Attribute) else ""
    name = function.value if isinstance(function, cst.Name) else name
    return name in ("record", "train_mode")


def is_number(node: cst.BaseExpression) -> bool:
    """Whether an expression reads a number off an array, or counts."""
    if isinstance(node, cst.Integer):
        return True
    if isinstance(node, cst.BinaryOperation):
        return is_number(node.left) or is_number(node.right)
    if isinstance(node, cst.Subscript):
        return isinstance(node.value, cst.Attribute) and node.value.attr.value == "shape"
    if isinstance(node, cst.Attribute):
        return node.attr.value == "size"
    if isinstance(node, cst.Call):
        function = node.func
        if isinstance(function, cst.Attribute):
            return function.attr.value in READING
        return isinstance(function, cst.Name) and function.value in ("len", "float", "int")
    return False


def assigned(node: cst.Assign, name: str) -> cst.BaseExpression | None:
    """The expression that an assignment gives a name."""
    for each in node.targets:
        target = each.target
        if isinstance(target, cst.Name) and target.value == name:
            return node.value
        if isinstance(target, cst.Tuple) and isinstance(node.value, cst.Tuple):
            for one, value in zip(target.elements, node.value.elements, strict=False):
                if isinstance(one.value, cst.Name) and one.value.value == name:
                    return value.value
    return None


def names_in(node: cst.CSTNode) -> set[str]:
    """The names in a target."""
    return {each.value for each in descendants(node) if isinstance(each, cst.Name)}


def bound_by(node: cst.CSTNode) -> set[str]:
    """The names that a statement binds."""
    if isinstance(node, cst.Assign):
        return {name for target in node.targets for name in names_in(target.target)}
    return names_in(node.target) if isinstance(node, cst.For) else set()


def is_bound_again(parent: cst.CSTNode | None, node: cst.Name) -> bool:
    """Whether a name stands where it gets a value, or is an attribute or keyword."""
    if isinstance(parent, cst.Attribute):
        return parent.attr is node
    if isinstance(parent, cst.Arg):
        return parent.keyword is node
    return isinstance(parent, (cst.AssignTarget, cst.Element, cst.For, cst.CompFor)) and (
        not isinstance(parent, (cst.For, cst.CompFor)) or parent.target is node
    )
