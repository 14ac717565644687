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

from collections.abc import Iterator

import libcst as cst

from transpile.facts.values import BoundMethod, External, Function, Opaque
from transpile.facts.walk import descendants
from transpile.layout import wrap_expression
from transpile.plan.graph import called_names
from transpile.plan.model import Plan
from transpile.result import Verdict
from transpile.rule import Answer, Change, Helper, In, Remark, Ruling, Rulings
from transpile.rules.paddle.agreement._conditions import (
    Test,
    controlled_names,
    depends_on_data,
    depends_on_share,
    is_check_for_nan,
    last_word,
    tests,
)
from transpile.rules.paddle.agreement._set_parameters import set_by_share
from transpile.rules.paddle.losses._numbers import (
    SHOWING,
    SHOWING_METHODS,
    numbers,
)
from transpile.rules.paddle.losses._shares import analysis

CODES = {
    "PD721": "all processes take rank 0's decision",
    "PD722": "a decision depends on one process's part of the batch",
    "PD723": "all processes take rank 0's number",
    "PD724": "one process's part of a batch decides how training goes on",
    "PD725": "parameters are set by one process's part of a batch",
}
AGREEING = frozenset({"paddle.distributed.broadcast_object_list", "paddle.distributed.all_reduce"})


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
    for event in set_by_share(plan, numbers(plan).after or analysis(plan)) if shares(plan) else ():
        yield Remark.warn(
            "PD725",
            event,
            "these parameters are set by one process's part of the batch: those of the processes "
            "come apart",
            "make it of a number that is reduced over the processes, such as float(loss), or split "
            "the model's calls (--shard calls)",
        )


def shares(plan: Plan) -> bool:
    """Whether each process has a share of every batch: where calls are split, it has all of it."""
    return plan.way == "data"


def chosen_by_share(plan: Plan, seen: set[int]) -> Iterator[Remark]:
    """Warnings about conditions in training that each process answers by its share of a batch."""
    if not shares(plan):
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
