"""What metrics decide that are those of one worker, and differ from worker to worker."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Branch, Event, Loop
from transpile.facts.module import Module
from transpile.facts.values import Values
from transpile.facts.walk import descendants
from transpile.plan.flow.places import ancestors, function_of
from transpile.plan.graph import walk_back
from transpile.plan.model import Plan
from transpile.plan.query import query
from transpile.records import dataclass, field
from transpile.rules.mxnet._roles import fits
from transpile.rules.mxnet.losses._metrics import why_of_one_worker
from transpile.rules.mxnet.losses._settings import SETTERS, SETTINGS, settings
from transpile.rules.mxnet.losses.reduce_metrics import foreign_readings, reading, reduced

#: How a callback of ``fit`` asks for the metric.
GIVEN = "eval_metric"
#: Where something is kept: a name in one function, or an attribute of whatever object.
Spot = tuple[int, int, str]
#: Where a finding stands.
Where = Event | tuple[Module, cst.CSTNode]


@dataclass(eq=False)
class Decided:
    """What follows from metrics of one worker.

    Args:
        plan: the plan.
        readings: the identities of what is read off such metrics.
        given: callbacks are given such a metric.
        spots: where something is kept that is made, or chosen, by them.
        tests: the statements whose condition is made of them, by identity.
        known: which nodes are made of what is read, as far as that was asked.
    """

    plan: Plan
    readings: set[int]
    given: bool
    spots: set[Spot] = field(default_factory=set)
    tests: set[int] = field(default_factory=set)
    known: dict[int, bool] = field(default_factory=dict)

    def follows(self, module: Module, node: cst.CSTNode) -> bool:
        """Whether some part of an expression is made of such a metric."""
        words = {id(word) for each in descendants(node) for word in words_of(each)}
        return any(
            self.is_reading(module, each) or spot_of(module, each) in self.spots
            for each in descendants(node)
            if id(each) not in words
        )

    def is_reading(self, module: Module, node: cst.CSTNode) -> bool:
        """Whether an expression reads such a metric, or is made of what was read."""
        if self.given and is_given(module, node):
            return True
        if not isinstance(node, (cst.Call, cst.Name, cst.Attribute, cst.Subscript)):
            return False
        known = self.known.get(id(node))
        if known is None:
            known = self.known[id(node)] = self.comes_from(self.plan.facts.values_of(node))
        return known

    def comes_from(self, values: Values) -> bool:
        """Whether values are made of what was read off such metrics."""
        return any(id(value) in self.readings for value in walk_back(values))

    def under(self, event: Event) -> bool:
        """Whether something happens, or happens again, where such a metric says so."""
        return any(
            isinstance(frame, Branch | Loop) and id(frame.node) in self.tests
            for frame in event.stack
        )


def is_given(module: Module, node: cst.CSTNode) -> bool:
    """Whether an expression is the metric in what a callback is given."""
    if not isinstance(node, cst.Attribute) or node.attr.value != GIVEN:
        return False
    function = function_of(module, node)
    parameters = function.params.params if function is not None else ()
    return isinstance(node.value, cst.Name) and any(
        each.name.value == node.value.value for each in parameters
    )


@query
def decided(plan: Plan) -> Decided:
    """What follows from the metrics that are read in training and are those of one worker."""
    known = {id(event.node) for event in reduced(plan)}
    own = [event for event in reading(plan) if id(event.node) not in known]
    readings = {id(value) for event in (*own, *foreign_readings(plan)) for value in event.result}
    given = any(why_of_one_worker(plan, fit) for fit in fits(plan))
    found = Decided(plan, readings, given)
    if readings or given:
        while spread(found):
            pass
    return found


def tests_of(module: Module) -> Iterator[cst.If | cst.While]:
    """The statements of a module that have a condition."""
    yield from module.source.nodes_of(cst.If)
    yield from module.source.nodes_of(cst.While)


def spread(found: Decided) -> bool:
    """Follow what is known one step further; whether there was something to follow."""
    before = len(found.spots) + len(found.tests)
    for module in found.plan.facts.modules.values():
        for node in tests_of(module):
            if id(node) not in found.tests and found.follows(module, node.test):
                found.tests.add(id(node))
                for inner in descendants(node):
                    found.spots.update(spot for spot, _ in changed(module, inner) if spot)
        for each in module.source.nodes_of(cst.Assign, cst.AnnAssign, cst.AugAssign, cst.Expr):
            for spot, value in changed(module, each):
                if spot and spot not in found.spots and value and found.follows(module, value):
                    found.spots.add(spot)
    return len(found.spots) + len(found.tests) > before


def changed(
    module: Module, node: cst.CSTNode
) -> Iterator[tuple[Spot | None, cst.BaseExpression | None]]:
    """Where a statement keeps something, and what: by assigning it or calling a method with it."""
    if isinstance(node, cst.Assign):
        for target in node.targets:
            for part in descendants(target.target):
                yield spot_of(module, part), node.value
    elif isinstance(node, (cst.AnnAssign, cst.AugAssign)):
        yield spot_of(module, node.target), node.value
    elif isinstance(node, cst.Expr) and isinstance(node.value, cst.Call):
        function = node.value.func
        if isinstance(function, cst.Attribute):
            for argument in node.value.args:
                yield spot_of(module, function.value), argument.value


def words_of(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The names in a node that stand for nothing by themselves."""
    if isinstance(node, cst.Attribute):
        yield node.attr
    elif isinstance(node, cst.Arg) and node.keyword is not None:
        yield node.keyword


def spot_of(module: Module, node: cst.CSTNode) -> Spot | None:
    """The place that a name or an attribute stands for; None for anything else."""
    if isinstance(node, cst.Attribute):
        return 0, 0, node.attr.value
    if isinstance(node, cst.Name):
        return id(module), id(function_of(module, node)), node.value
    return None


def decided_settings(plan: Plan) -> Iterator[Where]:
    """The places that set something of an optimizer by, or where, such a metric says so."""
    found = decided(plan)
    for event, values in settings(plan) if found.readings else ():
        said = event.arguments.items if event.kind == "call" else ()
        nodes = [each.node for each in said if each.node is not None]
        if (
            found.under(event)
            or found.comes_from(values)
            or any(found.follows(event.module, node) for node in nodes)
        ):
            yield event
    for module in plan.facts.modules.values() if found.given else ():
        for node in module.source.nodes_of(cst.Assign, cst.AugAssign, cst.Expr):
            if sets_something(node):
                around = {id(each) for each in ancestors(module, node)}
                if found.tests & around or found.follows(module, node):
                    yield module, node


def sets_something(node: cst.CSTNode) -> bool:
    """Whether a statement sets what optimizers have, as far as its words tell."""
    if isinstance(node, cst.Expr):
        called = node.value.func if isinstance(node.value, cst.Call) else None
        return isinstance(called, cst.Attribute) and called.attr.value in SETTERS
    targets = [each.target for each in getattr(node, "targets", ())]
    targets += [node.target] if isinstance(node, cst.AugAssign) else []
    return any(isinstance(each, cst.Attribute) and each.attr.value in SETTINGS for each in targets)


def ends_in_callbacks(plan: Plan) -> bool:
    """Whether a metric that callbacks are given, and that is one worker's, ends its training."""
    found = decided(plan)
    return found.given and any(
        isinstance(inner, cst.Raise) or is_exit(inner)
        for module in plan.facts.modules.values()
        for node in tests_of(module)
        if id(node) in found.tests
        for inner in descendants(node)
    )


def is_exit(node: cst.CSTNode) -> bool:
    """Whether a node is a call that ends the process."""
    if not isinstance(node, cst.Call):
        return False
    function = node.func
    name = function.attr if isinstance(function, cst.Attribute) else function
    return isinstance(name, cst.Name) and name.value in ("exit", "_exit", "quit", "abort")
