"""Where a trained model is put into the wrap that averages its gradients."""

from __future__ import annotations

import libcst as cst

from transpile.facts.events import Call, Event, Loop
from transpile.facts.module import Module
from transpile.facts.values import Class
from transpile.plan.flow.bound import is_bound_behind
from transpile.plan.flow.places import Statement, blocks_around, calls_of, index_in, statement_in
from transpile.plan.graph import origin
from transpile.plan.model import Model, Plan
from transpile.plan.models.frozen import switches_of, unfrozen_later
from transpile.plan.models.function_gradients import calling_function
from transpile.plan.models.holders import Holder
from transpile.plan.models.learning import training_forwards
from transpile.plan.models.model_preparations import preparations
from transpile.plan.models.moves import moved_while_it_trains
from transpile.plan.models.owners import touched_as_part
from transpile.plan.models.passages import Key, way_of
from transpile.plan.models.second_passes import (
    named_inputs,
    reached_by_gradients_alone,
    second_pass,
)
from transpile.plan.models.wrap_sites import (
    assigned_as_global,
    binding_nodes,
    comes_back,
    gives_back,
    may_bind,
    site_in_scope,
    sites_in_scope,
)
from transpile.plan.query import query
from transpile.records import dataclass, replace


@dataclass(frozen=True, eq=False)
class Wrap:
    """Where a model is wrapped.

    Args:
        models: the models that the variable may hold.
        module: the module of the place.
        text: the variable.
        before: the statement before which the wrap stands; None where it stands behind `after`.
        after: the statement that makes the model ready.
        order: events from this position on see the wrapped model.
        function: the function that the place is in.
        thawed: parameters are switched on and off around the wrap, which must know all of them.
    """

    models: tuple[Model, ...]
    module: Module
    text: str
    before: Statement | None
    after: Statement
    order: int
    function: cst.FunctionDef | None
    thawed: bool = False

    @property
    def node(self) -> Statement:
        """The statement to point at."""
        return self.before if self.before is not None else self.after

    @property
    def key(self) -> Key:
        """The variable."""
        return (id(self.module), id(self.function), self.text)


def wrapped_already(plan: Plan, model: Model) -> bool:
    """Whether the script hands the model to one of the framework's wraps, or to one of its own."""
    return any(
        origin(value) is model.value
        for event in (*plan.facts.calls_to(*plan.table.wrappers), *derived_wraps(plan))
        for argument in event.arguments.items[:1]
        for value in argument.values
    )


@query
def derived_wraps(plan: Plan) -> list[Event]:
    """The calls of the project's own classes that derive from the framework's wraps."""
    return [
        event
        for event in plan.facts.calls
        if any(
            isinstance(callee, Class)
            and not plan.table.wrappers.isdisjoint(callee.external_bases())
            for callee in event.callee
        )
    ]


@query
def find_wrap(plan: Plan, model: Model) -> Wrap | str:
    """Where to wrap a model, or why that cannot be told.

    A model may pass through the variable that another one is wrapped in, and would be wrapped
    there a second time: then both are wrapped in that one.
    """
    found = wrap_alone(plan, model)
    if isinstance(found, str):
        return found
    way = way_of(plan, model)
    assert way is not None
    for other in plan.trained_models:
        theirs = wrap_alone(plan, other)
        if other is model or isinstance(theirs, str) or theirs.node is found.node:
            continue
        if theirs.key not in way.keys:
            continue
        if theirs.key == found.key:
            if not takes(found.function, found.text):
                # The variable is set anew between the two.
                continue
        elif way.order.index(theirs.key) > way.order.index(found.key):
            others = way_of(plan, other)
            if others is not None and found.key in others.keys:
                continue
        elif theirs.key in way.common:
            inner = wrap_at(plan, model, way.common[theirs.key], way.forwards, found.thawed)
            if isinstance(inner, Wrap) and inner.node is theirs.node:
                found = inner
                continue
        return f"'{theirs.text}' holds it where another model is wrapped, which would wrap it twice"
    return found


def takes(function: cst.FunctionDef | None, name: str) -> bool:
    """Whether a function has a parameter of some name."""
    if function is None:
        return False
    given = function.params
    every = (*given.posonly_params, *given.params, *given.kwonly_params)
    return any(each.name.value == name for each in every)


@query
def wrap_alone(plan: Plan, model: Model) -> Wrap | str:
    """Where to wrap a model if there were no others, or why that cannot be told."""
    found = search_wrap(plan, model)
    if plan.table.thaws and may_need_thawing(plan, model, found):
        thawed = search_wrap(plan, model, thawed=True)
        found = thawed if isinstance(thawed, Wrap) else found
    return found


def may_need_thawing(plan: Plan, model: Model, found: Wrap | str) -> bool:
    """Whether parameters are frozen and unfrozen so that a plain wrap would not know all."""
    if isinstance(found, Wrap):
        return unfrozen_later(plan, model, found.order) is not None
    return next(switches_of(plan, model), None) is not None


def search_wrap(plan: Plan, model: Model, thawed: bool = False) -> Wrap | str:
    """What :func:`find_wrap` gives, worked out anew.

    Args:
        plan: the plan.
        model: the model.
        thawed: the wrap is to know frozen parameters, too, so that it need not wait for freezing.
    """
    forwards = training_forwards(plan, model)
    if not forwards and (function := calling_function(plan, model)):
        return f"'{function}' calls it with parameters that it is given, past any wrap around it"
    if not forwards:
        return "it learns, but is never called itself: only parts or methods of it are"
    if second_pass(plan, model) is not None:
        return (
            "two backward passes go through one call of it, and a wrap would average only what "
            "the first of them gives"
        )
    if moved_while_it_trains(plan, model, forwards) is not None:
        return (
            "it is moved to another device or type while it trains, and a wrap loses hold of "
            "parameters that move"
        )
    if reached_by_gradients_alone(plan, model):
        return (
            "a backward pass reaches it through gradients of its output alone, which not all of "
            "its parameters need to be part of, and a wrap would wait for the rest"
        )
    if named_inputs(plan, model):
        return (
            "a backward pass is told which tensors get gradients, and a wrap would wait for those "
            "of all parameters"
        )
    way = way_of(plan, model)
    if way is None:
        return "it is called by something that is not in the script's text"
    common = way.common
    if not common:
        return "its calls reach it through different variables"
    reason = "no variable holds it from where it is ready to where it is called"
    for key in reversed([key for key in way.order if key in common]):
        found = wrap_at(plan, model, common[key], forwards, thawed)
        if isinstance(found, Wrap):
            # Another method may set the variable again, behind the training.
            late = found.order > min(event.order for event in forwards)
            why_not = touched_as_part(plan, model, common[key][0], found.order)
            if not late and not why_not:
                return found
            found = why_not or "it is set again behind its training"
        reason = found or reason
    return reason


def wrap_at(
    plan: Plan, model: Model, holders: list[Holder], forwards: list[Event], thawed: bool
) -> Wrap | str:
    """Whether a variable is the right place, and where in its scope."""
    first = holders[0]
    module, depth = first.module, first.depth
    if any(holder.depth != depth for holder in holders):
        return ""
    uses = [holder.node for holder in holders if not holder.stored]
    if first.function is None and assigned_as_global(module, first.text):
        return "a function assigns it to a global variable, and the place behind that is not known"
    binding = [
        node
        for node in binding_nodes(plan, first)
        if may_bind(plan, node, model) and not gives_back(plan, node, model, uses)
    ]
    if not binding and not first.is_parameter:
        return ""
    if first.is_parameter and comes_back(plan, model, holders):
        return "the function that it would be wrapped in gives it back, and is called with it again"
    anchors = [*binding, *preparations(plan, model, first, forwards, thawed)]
    optimizers = [
        site
        for optimizer in model.optimizers
        if (site := site_in_scope(first, optimizer.event)) is not None
    ]
    block: cst.CSTNode | None = None
    if anchors:
        block = common_block(module, anchors[0], [*anchors, *uses])
    elif first.function is not None:
        block = first.function.body
    if block is None:
        return ""
    if comes_anew(plan, model, first, block):
        return (
            "it is made ready (moved, loaded or frozen) where it is used already" if anchors else ""
        )
    wrap = wrap_in(plan, model, first, block, anchors, uses, optimizers)
    if isinstance(wrap, Wrap) and binding and not is_bound_at(wrap):
        wrap = where_bound(plan, model, first, wrap, anchors, uses, optimizers)
    return replace(wrap, thawed=True) if thawed and isinstance(wrap, Wrap) else wrap


def is_bound_at(wrap: Wrap) -> bool:
    """Whether the variable of a wrap is bound at its place in every run that uses it."""
    return is_bound_behind(wrap.module, wrap.after, wrap.text)


def where_bound(
    plan: Plan,
    model: Model,
    holder: Holder,
    wrap: Wrap,
    anchors: list[cst.CSTNode],
    uses: list[cst.CSTNode],
    optimizers: list[cst.CSTNode],
) -> Wrap | str:
    """The place of a wrap within the arm that makes the model, where another run makes none."""
    block = common_block(holder.module, anchors[0], anchors)
    outer = holder.module.source.parent(wrap.after)
    conditional = "it is made on a condition, and made ready (moved, loaded or frozen) elsewhere"
    if block is None or block is outer:
        return conditional
    if comes_anew(plan, model, holder, block):
        return conditional
    inside = [use for use in uses if statement_in(holder.module, block, use) is not None]
    found = wrap_in(plan, model, holder, block, anchors, inside, optimizers)
    if not isinstance(found, Wrap) or found.before is not None:
        return found
    end = holder.module.source.span(found.after).end
    behind = (
        event.order
        for site, event in sites_in_scope(plan, holder)
        if holder.module.source.span(site).start >= end
    )
    return replace(found, order=min(next(behind, wrap.order), wrap.order))


def comes_anew(plan: Plan, model: Model, holder: Holder, block: cst.CSTNode) -> bool:
    """Whether a block is entered again and again with one model, which it would wrap each time."""
    around: list[int] = []
    depth = 0
    for frame in holder.stack:
        if depth == holder.depth:
            break
        if isinstance(frame, Loop):
            around.append(id(frame.node))
        depth += isinstance(frame, Call)
    for node in (block, *holder.module.source.parents(block)):
        if isinstance(node, cst.FunctionDef):
            break
        if isinstance(node, (cst.For, cst.While)):
            around.append(id(node))
    if not around:
        return False
    made = {
        id(loop.node)
        for event in plan.facts.calls
        if event.node is getattr(model.value, "node", None)
        for loop in event.loops()
    }
    return not made.issuperset(around)


def wrap_in(
    plan: Plan,
    model: Model,
    holder: Holder,
    block: cst.CSTNode,
    anchors: list[cst.CSTNode],
    uses: list[cst.CSTNode],
    optimizers: list[cst.CSTNode],
) -> Wrap | str:
    """Where in a block to wrap: behind all anchors, before all uses."""
    statements: list[Statement] = list(block.body)  # type: ignore[attr-defined]

    def positions(nodes: list[cst.CSTNode]) -> list[int]:
        found = [statement_in(holder.module, block, node) for node in nodes]
        return [index_in(block, statement) for statement in found if statement is not None]

    after = max(positions(anchors), default=-1)
    used = positions(uses)
    if used and min(used) <= after:
        return "it is made ready (moved, loaded or frozen) where it is used already"
    later = [position for position in [*used, *positions(optimizers)] if position > after]
    if not later and (uses or after < 0):
        return ""
    before = statements[min(later)] if later else None
    behind = statements[max(after, 0)]
    rest = statements[min(later) if later else after + 1 :]
    order = order_of(plan, holder, block, behind, rest)
    return Wrap((model,), holder.module, holder.text, before, behind, order, holder.function)


def order_of(
    plan: Plan,
    holder: Holder,
    block: cst.CSTNode,
    behind: Statement,
    later: list[Statement],
) -> int:
    """The position of the first event in some statements of a block, or behind its function."""
    left: Event | None = None
    for site, event in sites_in_scope(plan, holder):
        statement = statement_in(holder.module, block, site)
        if statement in later:
            return event.order
        if statement is behind and left is None:
            left = event
    events = plan.facts.events
    if left is None or not holder.depth:
        return len(events)
    within = calls_of(left.stack)[: holder.depth]
    return next(
        (
            event.order
            for event in events[left.order + 1 :]
            if calls_of(event.stack)[: holder.depth] != within
        ),
        len(events),
    )


def common_block(
    module: Module, start: cst.CSTNode, nodes: list[cst.CSTNode]
) -> cst.CSTNode | None:
    """The innermost block around `start` that holds all nodes."""
    for block in blocks_around(module, start):
        if all(statement_in(module, block, node) is not None for node in nodes):
            return block
    return None
