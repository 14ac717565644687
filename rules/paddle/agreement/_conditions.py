"""The conditions that decide what the processes do together, and what they depend on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from transpile.facts.events import Branch, Call, Event, Loop
from transpile.facts.module import Module
from transpile.facts.values import Opaque, Values
from transpile.facts.walk import descendants
from transpile.plan.effects.treatment import bound_names
from transpile.plan.graph import walk_back
from transpile.plan.model import Plan
from transpile.plan.query import query
from transpile.records import dataclass
from transpile.rules.paddle.effects._once import once_of
from transpile.rules.paddle.losses._numbers import is_chance, numbers
from transpile.rules.paddle.losses._shares import Shares

NOT_A_NUMBER = frozenset({"isnan", "isinf"})
LEAVING = frozenset({"break", "continue", "return"})


@dataclass(frozen=True, eq=False)
class Test:
    """A condition that decides what the processes do together.

    Args:
        module: where it stands.
        node: the ``if`` or ``while``.
        per_batch: it is decided anew for each batch.
        skips: the branch that leaves is taken where the condition holds.
    """

    module: Module
    node: cst.If | cst.While
    per_batch: bool
    skips: bool


def tests(plan: Plan) -> Iterator[Test]:
    """The conditions that end or skip something in a training loop, or guard a training step."""
    batch_loops = {id(b.batch_loop.node) for b in plan.backwards if b.batch_loop is not None}
    loops = batch_loops | {id(loop.node) for b in plan.backwards for loop in b.epoch_loops}
    guarded = {id(b.event) for b in plan.backwards}
    guarded |= {id(step) for optimizer in plan.optimizers for step in optimizer.steps}
    for event in plan.facts.events:
        if event.detached:
            continue
        leaves = event.kind == "exit" and event.name in LEAVING
        if not leaves and id(event) not in guarded:
            continue
        if once_of(plan).ranks.some_ranks(event):
            continue
        yield from tests_around(event, loops, batch_loops, leaves)
    for b in plan.backwards:
        for loop in b.epoch_loops:
            if isinstance(loop.node, cst.While):
                yield Test(loop.module, loop.node, False, False)


def tests_around(
    event: Event, loops: set[int], batch_loops: set[int], leaves: bool
) -> Iterator[Test]:
    """The conditions around an event that stand in a training loop."""
    inside = per_batch = False
    own_loops: list[Loop] = []
    frames = list(event.stack)
    for position, frame in enumerate(frames):
        if isinstance(frame, Loop):
            inside = inside or id(frame.node) in loops
            per_batch = per_batch or id(frame.node) in batch_loops
            own_loops.append(frame)
        elif isinstance(frame, Call):
            own_loops = []
        elif isinstance(frame, Branch) and inside and isinstance(frame.node, cst.If):
            if leaves and not leaves_training(event, frames[position + 1 :], own_loops, loops):
                continue
            yield Test(event.module, frame.node, per_batch, leaves and "body" in frame.arm)


def leaves_training(
    event: Event, later: Sequence[object], own_loops: list[Loop], loops: set[int]
) -> bool:
    """Whether what leaves under a condition leaves a training loop, or a round of it.

    Args:
        event: the ``break``, ``continue`` or ``return``.
        later: the frames between the condition and the event.
        own_loops: the loops around the condition in its own function.
        loops: the training loops.
    """
    if any(isinstance(frame, Call) for frame in later):
        return False
    if event.name == "return":
        return any(id(loop.node) in loops for loop in own_loops)
    if any(isinstance(frame, Loop) for frame in later):
        return False
    return bool(own_loops) and id(own_loops[-1].node) in loops


def depends_on_data(plan: Plan, values: Values) -> bool:
    """Whether values depend on samples, results of models, chance or the clock."""
    loaders = {id(loader.value) for loader in plan.loaders}
    for value in walk_back(values, lambda v: not is_size(v)):
        if isinstance(value, Opaque) and value.kind == "element":
            if any(id(behind) in loaders for behind in walk_back(value.operands[0])):
                return True
        if is_chance(value):
            return True
    return False


def is_size(value: object) -> bool:
    """Whether a value is a length or a position, which says nothing of the samples."""
    return (
        isinstance(value, Opaque) and value.kind == "operation" and value.name in ("len", "index")
    )


def controlled_names(plan: Plan) -> set[str]:
    """The names that are bound under a condition that depends on data."""
    found: set[str] = set()
    for event in plan.facts.events:
        for frame in event.stack:
            if not isinstance(frame, Branch) or not isinstance(frame.node, cst.If):
                continue
            found |= _bound_by_data(plan, frame.node)
    return found


@query
def _bound_by_data(plan: Plan, statement: cst.If) -> set[str]:
    by_data = depends_on_data(plan, plan.facts.values_of(statement.test))
    return names_in(statement) if by_data else set()


def names_in(statement: cst.If) -> set[str]:
    """The names and attributes that the branches of a statement bind."""
    found = set(bound_names(statement))
    for node in descendants(statement):
        target = getattr(node, "target", None)
        if isinstance(node, (cst.AssignTarget, cst.AugAssign)) and isinstance(
            target, cst.Attribute
        ):
            found.add(target.attr.value)
    return found


def last_word(node: cst.CSTNode) -> str:
    """The last word of a name or attribute."""
    if isinstance(node, cst.Attribute):
        return node.attr.value
    return node.value if isinstance(node, cst.Name) else ""


def depends_on_share(
    plan: Plan, after: Shares, condition: cst.BaseExpression, values: Values
) -> bool:
    """Whether a condition depends on what only this process has of the batch."""
    quantity = after.of(values)
    if quantity.is_same:
        return False
    leaves = numbers(plan).leaves
    parts = [node for node in descendants(condition) if id(node) in leaves]
    if parts:
        rest = [
            node
            for node in descendants(condition)
            if isinstance(node, (cst.Name, cst.Attribute))
            and not any(node in list(descendants(part)) for part in parts)
        ]
        return any(not after.of(plan.facts.values_of(node)).is_same for node in rest)
    return True


def is_check_for_nan(condition: cst.BaseExpression) -> bool:
    """Whether a condition holds where something is not a finite number."""
    if isinstance(condition, cst.UnaryOperation) and isinstance(condition.operator, cst.Not):
        return any(last_word(node) == "isfinite" for node in descendants(condition))
    if isinstance(condition, cst.BooleanOperation):
        if not isinstance(condition.operator, cst.Or):
            return False
        return is_check_for_nan(condition.left) and is_check_for_nan(condition.right)
    return isinstance(condition, cst.Call) and any(
        last_word(node) in NOT_A_NUMBER for node in descendants(condition)
    )
