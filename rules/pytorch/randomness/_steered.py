"""What decides which values a training step computes with, beside what it computes them from.

An index says which part of a tensor is trained on, a condition which of two tensors, a loop in
what order: none of them flows into the loss, and all change it.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.values import (
    BoundMethod,
    Function,
    Instance,
    Mapping,
    Opaque,
    Partial,
    Sequence,
    Value,
    Values,
)
from transpile.facts.walk import descendants
from transpile.plan.graph import walk_back
from transpile.plan.model import Plan
from transpile.plan.query import query
from transpile.rules.pytorch.data._handed_out import HandedOut
from transpile.rules.pytorch.randomness._drawn_data import puts

CHOOSING = (cst.Subscript, cst.If, cst.IfExp, cst.For, cst.CompFor, cst.While, cst.BooleanOperation)
#: The nodes that :func:`changes` looks at.
CHANGING = frozenset(
    {
        cst.Assign, cst.AnnAssign, cst.AugAssign, cst.NamedExpr, cst.Return, cst.Yield,
        cst.Continue, cst.Call,
    }
)  # fmt: skip
#: What is no part of a loss, though it computes one.
CALLED = (Function, BoundMethod, Partial)


def steered_by(
    plan: Plan,
    reached: set[int],
    agreed: frozenset[int] = frozenset(),
    given: HandedOut | None = None,
    together: frozenset[int] = frozenset(),
) -> set[int]:
    """The identities of what losses depend on, in whatever way.

    Args:
        plan: the plan.
        reached: the identities of what flows into the losses.
        agreed: the conditions, by identity, on which the processes agree otherwise.
        given: what rank 0 alone makes: nothing is followed into it.
        together: the expressions, by identity, that all processes take part in.
    """
    given = given or HandedOut()

    def enters(value: Value) -> bool:
        return is_entered(value) and id(value) not in given.values

    known = set(reached)
    #: What was walked already: all behind it is known.
    walked: set[int] = set()
    open_nodes: list[cst.CSTNode] = [
        node
        for module in plan.facts.modules.values()
        for node in module.source.nodes_of(*CHOOSING)
        if id(getattr(node, "test", None)) not in agreed and id(node) not in given.nodes
    ]
    stored = [
        pair
        for event in plan.facts.events
        if not event.detached
        for pair in (*puts(event), *written_by(plan, event))
    ]
    growing = True
    while growing:
        growing = False
        left = []
        for held, put in stored:
            if any(id(value) in known for value in held):
                for value in walk_back(put, enters, walked):
                    growing = growing or id(value) not in known
                    known.add(id(value))
        for node in open_nodes:
            if not steers(plan, node, known) and not meets(node, together):
                left.append(node)
                continue
            for value in walk_back(tuple(chosen_by(plan, node)), enters, walked):
                growing = growing or id(value) not in known
                known.add(id(value))
        open_nodes = left
    return known


def written_by(plan: Plan, event: Event) -> Iterator[tuple[Values, Values]]:
    """What a method writes into its object, whose name says that it does, and by what."""
    if event.kind != "call":
        return
    given = tuple(value for item in event.arguments.items for value in item.values)
    for callee in event.callee:
        if isinstance(callee, Opaque) and callee.kind == "attribute":
            if callee.name in plan.table.assigning_methods or (
                callee.name.endswith("_") and not callee.name.startswith("_")
            ):
                yield callee.operands[0], given


def is_entered(value: Value) -> bool:
    """Whether what a value is made of is looked at; the inside of models is not."""
    return not isinstance(value, Instance)


def steers(plan: Plan, node: cst.CSTNode, known: set[int]) -> bool:
    """Whether something that losses depend on is chosen at a node."""
    if isinstance(node, cst.Subscript):
        return holds(plan, node, known) or holds(plan, node.value, known)
    if isinstance(node, cst.IfExp):
        return holds(plan, node.body, known) or holds(plan, node.orelse, known)
    if isinstance(node, cst.BooleanOperation):
        return holds(plan, node, known)
    if isinstance(node, cst.CompFor):
        return holds(plan, node.target, known)
    assert isinstance(node, (cst.If, cst.For, cst.While))
    return any(changes(plan, part, known) for part in changing(plan, node))


@query
def changing(plan: Plan, node: cst.CSTNode) -> list[cst.CSTNode]:
    """The parts of a statement that may change something; see :func:`changes`."""
    calls = training_calls(plan)
    return [
        part
        for part in descendants(node)
        if part is not node and (type(part) in CHANGING or id(part) in calls)
    ]


def meets(node: cst.CSTNode, together: frozenset[int]) -> bool:
    """Whether a condition decides whether a place is come to that all processes take part in."""
    return isinstance(node, (cst.If, cst.IfExp, cst.While)) and any(
        id(part) in together for part in descendants(node)
    )


def changes(plan: Plan, node: cst.CSTNode, known: set[int]) -> bool:
    """Whether a part of a statement sets, or leaves out, something that losses depend on."""
    if isinstance(node, (cst.Assign, cst.AnnAssign, cst.AugAssign, cst.NamedExpr, cst.Return)):
        if node.value is None:
            return False
        called = any(isinstance(v, CALLED) for v in plan.facts.values_of(node.value))
        return called or holds(plan, node.value, known)
    if isinstance(node, (cst.Yield, cst.Continue)):
        return True
    if id(node) in training_calls(plan):
        return True
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
        name = node.func.attr.value
        if name.endswith("_") or name in ("backward", "append", "extend", "step"):
            return holds(plan, node.func.value, known)
    return False


@query
def training_calls(plan: Plan) -> set[int]:
    """The calls of the project's own functions within which steps are made."""
    made = [backward.event for backward in plan.backwards]
    made += [step for optimizer in plan.optimizers for step in optimizer.steps]
    return {id(call.node) for event in made for call in event.calls()}


def holds(plan: Plan, node: cst.CSTNode, known: set[int]) -> bool:
    """Whether losses depend on what an expression may be, or on what that holds."""
    pending, seen = list(plan.facts.values_of(node)), set()
    while pending:
        value = pending.pop()
        if id(value) in known:
            return True
        if id(value) not in seen and isinstance(value, (Sequence, Mapping)):
            seen.add(id(value))
            pending.extend(value.every())
    return False


def chosen_by(plan: Plan, node: cst.CSTNode) -> Iterator[Value]:
    """The values by which a node chooses."""
    choosing: list[cst.CSTNode] = []
    if isinstance(node, cst.Subscript):
        # What lists hold is changed in place, too.
        choosing.extend((node.value, *node.slice))
    elif isinstance(node, (cst.If, cst.IfExp, cst.While)):
        choosing.append(node.test)
    elif isinstance(node, (cst.For, cst.CompFor)):
        choosing.append(node.iter)
    elif isinstance(node, cst.BooleanOperation):
        choosing.append(node.left)
    for each in choosing:
        for part in descendants(each):
            if isinstance(part, cst.BaseExpression):
                yield from values_in(plan, part)


def values_in(plan: Plan, node: cst.BaseExpression) -> Values:
    """What an expression may be."""
    found: Values = plan.facts.values_of(node)
    return found
