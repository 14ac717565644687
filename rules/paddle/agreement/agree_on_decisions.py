"""Let rank 0 decide for all, wherever the processes could decide differently.

What:
    A condition that ends a loop, skips a training step or guards one, and that depends on results
    of the model, takes rank 0's answer; so does the number that ``ReduceOnPlateau`` is given. A
    check for NaN in the process's own batch is true where it is on any.

Why:
    Results of the same evaluation may differ in their last bits between processes. One process
    that stops early, or steps once less, leaves all others waiting.

Before:
    if wait >= 2:
        break

After:
    if from_main_process(wait >= 2):
        break

Refuses when:
    the condition depends on the process's own part of the batch, and is no check for NaN: what the
    whole batch would have answered is not known then.

Source:
    https://www.paddlepaddle.org.cn/documentation/docs/en/api/paddle/distributed/broadcast_object_list_en.html
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from transpile.facts.events import Branch, Call, Event, Loop
from transpile.facts.module import Module
from transpile.facts.values import BoundMethod, External, Function, Opaque, Values
from transpile.facts.walk import descendants
from transpile.layout import wrap_expression
from transpile.plan.effects.treatment import bound_names
from transpile.plan.graph import called_names, walk_back
from transpile.plan.model import Plan
from transpile.plan.query import query
from transpile.records import dataclass
from transpile.result import Verdict
from transpile.rule import Answer, Change, Helper, In, Remark, Ruling, Rulings
from transpile.rules.paddle.effects._once import once_of
from transpile.rules.paddle.losses._numbers import (
    SHOWING,
    SHOWING_METHODS,
    is_chance,
    numbers,
)
from transpile.rules.paddle.losses._shares import Shares, analysis

CODES = {
    "PD721": "all processes take rank 0's decision",
    "PD722": "a decision depends on one process's part of the batch",
    "PD723": "all processes take rank 0's number",
    "PD724": "one process's part of a batch decides how training goes on",
}
AGREEING = frozenset({"paddle.distributed.broadcast_object_list", "paddle.distributed.all_reduce"})
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


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each condition, and for each number of a plateau."""
    if not plan.backwards:
        return
    controlled = controlled_names(plan)
    seen: set[int] = set()
    for test in tests(plan):
        if id(test.node) in seen:
            continue
        seen.add(id(test.node))
        yield from answer(plan, test, controlled)
    yield from plateaus(plan)
    yield from chosen_by_share(plan, seen)


def chosen_by_share(plan: Plan, seen: set[int]) -> Iterator[Remark]:
    """Warnings about conditions in training that each process answers by its share of a batch."""
    if plan.way != "data":
        return
    after = numbers(plan).after or analysis(plan)
    said = {id(node) for node in seen_tests(plan)}
    for event in plan.facts.events:
        if event.kind not in ("test", "choose") or event.detached or id(event.node) in said:
            continue
        node = event.node
        if not isinstance(node, cst.BaseExpression) or not plan.in_training(event.stack):
            continue
        around = event.module.source.parent(node)
        if isinstance(around, (cst.If, cst.While)) and (
            id(around) in seen or only_shows(plan, around)
        ):
            continue
        condition = node.test if isinstance(node, cst.IfExp) else node
        values = plan.facts.values_of(condition)
        if is_check_for_nan(condition) or agreed(plan, condition):
            continue
        if depends_on_data(plan, values) and depends_on_share(plan, after, condition, values):
            said.add(id(event.node))
            yield Remark.warn(
                "PD724",
                (event.module, condition),
                "each process answers this by its own part of the batch, and may go on otherwise "
                "than the others",
                "ask a number that is reduced over the processes, or split the model's calls "
                "(--shard calls)",
            )


def seen_tests(plan: Plan) -> Iterator[cst.CSTNode]:
    """The conditions that the processes agree on, or that are refused."""
    for test in tests(plan):
        yield test.node.test


def only_shows(plan: Plan, node: cst.If | cst.While) -> bool:
    """Whether a condition only decides on what is printed or logged."""
    return node.orelse is None and all(
        isinstance(small, cst.Pass)
        or (
            isinstance(small, cst.Expr)
            and isinstance(small.value, cst.Call)
            and shows(plan, small.value)
        )
        for line in node.body.body
        for small in (line.body if isinstance(line, cst.SimpleStatementLine) else (line,))
    )


def shows(plan: Plan, call: cst.Call) -> bool:
    """Whether a call prints or logs."""
    names = {v.name for v in plan.facts.values_of(call.func) if isinstance(v, External)}
    if names:
        return all(name in SHOWING for name in names)
    word = call.func.attr.value if isinstance(call.func, cst.Attribute) else ""
    return word in SHOWING_METHODS


def answer(plan: Plan, test: Test, controlled: set[str]) -> Iterator[Ruling]:
    """The answer about one condition."""
    condition = test.node.test
    values = plan.facts.values_of(condition)
    by_data = depends_on_data(plan, values)
    if not by_data and not any(last_word(node) in controlled for node in descendants(condition)):
        return

    def ruling(
        code: str, verdict: Verdict, reason: str, advice: str = "", data: str = ""
    ) -> Ruling:
        return Ruling(code, verdict, test.module, condition, reason, advice, data=data or None)

    if agreed(plan, condition):
        yield ruling("PD721", Verdict.ALREADY_DONE, "all processes take one decision here")
        return
    after = numbers(plan).after or analysis(plan)
    # Where calls are split, no process has a share.
    own = by_data and plan.way == "data" and depends_on_share(plan, after, condition, values)
    if not own:
        yield ruling(
            "PD721",
            Verdict.APPLY,
            "all processes take rank 0's decision",
            data="from_main_process",
        )
    elif test.skips and is_check_for_nan(condition):
        yield ruling(
            "PD721",
            Verdict.APPLY,
            "all processes skip what one of them must skip",
            data="any_rank",
        )
    else:
        yield ruling(
            "PD722",
            Verdict.REFUSE,
            "what is done here depends on this process's own part of the batch: the processes "
            "would go different ways, and those that go on wait for ever",
            "decide on a number that is reduced over the processes",
        )


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


def agreed(plan: Plan, condition: cst.BaseExpression) -> bool:
    """Whether a condition is the result of a function in which the processes communicate."""
    if not isinstance(condition, cst.Call):
        return False
    functions = {
        id(value.function if isinstance(value, BoundMethod) else value)
        for value in plan.facts.values_of(condition.func)
        if isinstance(value, (Function, BoundMethod))
    }
    return any(
        event.kind == "call"
        and any(isinstance(c, External) and c.name in AGREEING for c in event.callee)
        and any(id(frame.function) in functions for frame in event.calls())
        for event in plan.facts.events
    )


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


def plateaus(plan: Plan) -> Iterator[Ruling]:
    """The numbers that a schedule by plateaus is given."""
    seen: set[int] = set()
    for event in plan.facts.calls:
        if not isinstance(event.node, cst.Call) or event.detached:
            continue
        if id(event.node) in seen or not event.node.args:
            continue
        for callee in event.callee:
            if not isinstance(callee, Opaque) or callee.name != "step":
                continue
            if not any(
                "paddle.optimizer.lr.ReduceOnPlateau" in called_names(base)
                for base in callee.operands[0]
            ):
                continue
            seen.add(id(event.node))
            number = event.node.args[0].value
            done = agreed(plan, number)
            yield Ruling.apply(
                "PD723",
                (event.module, number),
                "all processes take rank 0's number",
                data="from_main_process",
                done=done,
            )


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The condition or number within the helper that agrees on it."""
    node = ruling.node
    assert isinstance(node, cst.BaseExpression)
    yield Helper(ruling.data, ruling.module)
    name = plan.names_in(ruling.module).fresh(ruling.data)
    for edit in wrap_expression(ruling.module.source, node, f"{name}(", ")", order=-50):
        yield In(ruling.module, edit)
