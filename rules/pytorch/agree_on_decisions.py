"""Let rank 0 decide for all, wherever the processes could decide differently.

What:
    A condition that changes what the processes do together (it ends a loop, guards a training
    step, changes the learning rate or the weights) and whose value is computed from results of the
    model, the clock, files, memory or random numbers takes rank 0's answer. So does a number that
    a scheduler is given. A check for NaN in the process's own batch is true where it is on any.

Why:
    Results of the same evaluation differ in their last bits between processes, and visibly with
    batch norm. One process that stops early, or steps once less, leaves all others waiting.

Before:
    if early_stopping.early_stop:
        break

After:
    if from_main_process(early_stopping.early_stop):
        break

Refuses when:
    the condition depends on the process's own part of the batch, and it is no check for NaN: what
    the whole batch would have answered is not known then.

Source:
    https://pytorch.org/docs/stable/distributed.html#torch.distributed.broadcast_object_list
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.module import Module
from transpile.facts.values import Opaque
from transpile.facts.walk import children
from transpile.layout import wrap_expression
from transpile.plan.model import Plan
from transpile.result import Verdict
from transpile.rule import Answer, Change, Helper, In, Ruling, Rulings
from transpile.rules.pytorch._divergence import (
    Cause,
    Divergence,
    controls_of,
    loop_position,
)
from transpile.rules.pytorch._together import Condition, conditions_of, schedules, steps_of
from transpile.rules.pytorch.vary_random_numbers import training_loop

CODES = {
    "PT711": "all processes take rank 0's decision",
    "PT712": "a decision depends on one process's part of the batch",
    "PT713": "all processes take rank 0's number",
}


@dataclass(frozen=True, eq=False)
class Agreement:
    """An expression that becomes equal on all processes.

    Args:
        module: where it stands.
        node: the expression.
        helper: the function that it is given to.
    """

    module: Module
    node: cst.BaseExpression
    helper: str


@dataclass(frozen=True, eq=False)
class Decision:
    """A condition and why the processes must agree on it.

    Args:
        module: where it stands.
        test: the condition.
        part: the part of it that may differ.
        cause: why it may.
        why: what depends on it.
        condition: the steps that do.
    """

    module: Module
    test: cst.BaseExpression
    part: cst.BaseExpression
    cause: Cause
    why: str
    condition: Condition | None = None


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each condition, and each number, that must be agreed on."""
    divergence = Divergence(plan, loop_position(plan, training_loop(plan)))
    yield from done(plan, divergence)
    decisions: list[Decision] = []
    conditions = conditions_of(plan)
    by_test = {id(condition.test): condition for condition in conditions}
    for event, word in kept_state(plan):
        for module, test in settings(divergence, event):
            require(divergence, module, test, f"{word} depends on it", decisions, by_test)
    deciding = [condition for condition in conditions if condition.decides]
    # What is computed first: counters that were set on such a condition are equal then.
    for condition in (
        *(c for c in deciding if divergence.look(c.event.module, c.test).causes),
        *deciding,
    ):
        module, why = condition.event.module, f"the next {condition.step.word} depends on it"
        require(divergence, module, condition.test, why, decisions, by_test)
    for decision in sorted(decisions, key=place_of):
        yield from answers(plan, decision, divergence)
    yield from numbers(plan, divergence)


def place_of(decision: Decision) -> tuple[str, int]:
    """Where a decision stands."""
    return decision.module.name, decision.module.source.span(decision.test).start


def done(plan: Plan, divergence: Divergence) -> Iterator[Answer]:
    """The conditions and numbers that are agreed on already."""
    seen: set[int] = set()
    for condition in conditions_of(plan):
        for part in calls_in(condition.test):
            if id(part) in divergence.agreeing and id(part) not in seen:
                seen.add(id(part))
                yield Ruling(
                    "PT711",
                    Verdict.ALREADY_DONE,
                    condition.event.module,
                    condition.test,
                    "all processes take the same decision",
                )


def calls_in(node: cst.CSTNode) -> Iterator[cst.Call]:
    """The calls in an expression."""
    stack = [node]
    while stack:
        current = stack.pop()
        if isinstance(current, cst.Call):
            yield current
        stack.extend(children(current))


def kept_state(plan: Plan) -> Iterator[tuple[Event, str]]:
    """Where state goes into a model, an optimizer or a scheduler."""
    for step in steps_of(plan):
        if step.key[0] in ("load", "rate"):
            yield step.event, f"this {step.word}"


def settings(divergence: Divergence, event: Event) -> list[tuple[Module, cst.CSTNode]]:
    """The conditions on which what an event puts into an object was set, where they differ."""
    found: list[tuple[Module, cst.CSTNode]] = []
    for node in sources(event):
        for module, test in divergence.setting_tests(event.module, node):
            if divergence.cause(module, test) is not None:
                found.append((module, test))
    return found


def sources(event: Event) -> list[cst.CSTNode]:
    """The expressions whose values an event puts into an object."""
    if isinstance(event.node, cst.Call):
        return [arg.value for arg in event.node.args[:1]]
    statement = event.module.source.parent(event.node)
    while statement is not None and not isinstance(statement, (cst.Assign, cst.AugAssign)):
        statement = event.module.source.parent(statement)
    return [statement.value] if statement is not None else []


def require(
    divergence: Divergence,
    module: Module,
    test: cst.CSTNode,
    why: str,
    decisions: list[Decision],
    by_test: dict[int, Condition],
) -> None:
    """Ask for agreement on a condition, and first on those that decide whether it is reached."""
    cause = divergence.cause(module, test)
    if cause is None or not isinstance(test, cst.BaseExpression):
        return
    if cause is Cause.PRESENCE and not loads(by_test.get(id(test))):
        return
    part = differing_part(divergence, module, test)
    divergence.agree(test)
    for event in divergence.happening.get(id(test), ()):
        for outer_module, outer in controls_of(event):
            require(
                divergence, outer_module, outer, "a decision is taken there", decisions, by_test
            )
    decisions.append(Decision(module, test, part, cause, why, by_test.get(id(test))))


def loads(condition: Condition | None) -> bool:
    """Whether weights are loaded on a condition."""
    return condition is not None and any(step.key[0] == "load" for _, step in condition.guarded)


def answers(plan: Plan, decision: Decision, divergence: Divergence) -> Iterator[Answer]:
    """What is to be done about one decision."""
    helper, node = "from_main_process", decision.part
    if decision.cause is Cause.BATCH and plan.in_training(stack_around(divergence, decision)):
        found = flag_for(decision)
        if found is None:
            yield Ruling(
                "PT712",
                Verdict.REFUSE,
                decision.module,
                decision.test,
                f"this depends on {decision.cause.value}, and {decision.why}: a process that "
                "decides differently leaves the others waiting",
                "decide by something that is equal on all processes, or leave the step in",
            )
            return
        helper, node = found, decision.test
    yield Ruling(
        "PT711",
        Verdict.APPLY,
        decision.module,
        decision.test,
        f"this depends on {decision.cause.value}, and {decision.why}",
        data=Agreement(decision.module, node, helper),
    )


def stack_around(divergence: Divergence, decision: Decision) -> tuple[object, ...]:
    """The frames around the evaluation of a condition."""
    events = divergence.happening.get(id(decision.test), [])
    return events[0].stack if events else ()


BAD = frozenset({"isnan", "isinf", "isneginf", "isposinf"})
GOOD = frozenset({"isfinite"})


def flag_for(decision: Decision) -> str | None:
    """The helper for a check for NaN; None for other conditions."""
    condition = decision.condition
    bad = bad_when(decision.test)
    if condition is None or bad is None:
        return None
    skipping = {arm for arm, _, _ in condition.exits}
    guarded = {arm for arm, _ in condition.guarded}
    if skipping and guarded:
        return None
    if bad:
        return "any_rank" if skipping == {"then"} or guarded == {"else"} else None
    return "all_ranks" if skipping == {"else"} or guarded == {"then"} else None


def bad_when(node: cst.CSTNode) -> bool | None:
    """Whether a condition is true for NaN or infinite values; None where it is another check."""
    if isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Not):
        inner = bad_when(node.expression)
        return None if inner is None else not inner
    if isinstance(node, cst.BooleanOperation):
        left, right = bad_when(node.left), bad_when(node.right)
        if left is None or left != right or left is isinstance(node.operator, cst.And):
            return None
        return left
    if isinstance(node, cst.Call):
        return bad_call(node)
    if isinstance(node, cst.Comparison) and len(node.comparisons) == 1:
        target = node.comparisons[0]
        if isinstance(target.operator, cst.NotEqual) and node.left.deep_equals(target.comparator):
            return True
    return None


def bad_call(node: cst.Call) -> bool | None:
    """The answer of :func:`bad_when` for a call."""
    word = last_word(node.func)
    if word in BAD:
        return True
    if word in GOOD:
        return False
    inner: bool | None = None
    if isinstance(node.func, cst.Attribute) and word in ("any", "all", "item"):
        inner = bad_when(node.func.value)
    if inner is None and word in ("any", "all", "bool") and len(node.args) == 1:
        inner = bad_when(node.args[0].value)
    # One bad element is enough, and all must be good.
    mixed = (word == "any" and inner is False) or (word == "all" and inner is True)
    return None if mixed else inner


def last_word(node: cst.CSTNode) -> str:
    """The last word of a dotted name."""
    if isinstance(node, cst.Attribute):
        return node.attr.value
    return node.value if isinstance(node, cst.Name) else ""


def numbers(plan: Plan, divergence: Divergence) -> Iterator[Answer]:
    """The numbers that schedulers are given."""
    optimizers = {id(optimizer.value) for optimizer in plan.optimizers}
    seen: set[int] = set()
    for event in plan.facts.events:
        if event.kind != "call" or not isinstance(event.node, cst.Call) or id(event.node) in seen:
            continue
        if not any(
            isinstance(callee, Opaque)
            and callee.kind == "attribute"
            and callee.name == "step"
            and any(schedules(value, optimizers) for value in callee.operands[0])
            for callee in event.callee
        ):
            continue
        seen.add(id(event.node))
        for arg in event.node.args[:1]:
            if id(arg.value) in divergence.agreeing:
                yield Ruling(
                    "PT713",
                    Verdict.ALREADY_DONE,
                    event.module,
                    arg.value,
                    "all processes give the scheduler the same number",
                )
                continue
            cause = divergence.cause(event.module, arg.value)
            if cause is not None:
                yield Ruling(
                    "PT713",
                    Verdict.APPLY,
                    event.module,
                    arg.value,
                    f"this depends on {cause.value}, and the learning rate on it",
                    data=Agreement(event.module, arg.value, "from_main_process"),
                )


def differing_part(
    divergence: Divergence, module: Module, node: cst.BaseExpression
) -> cst.BaseExpression:
    """The part of a condition that may differ: the rest is short-circuited alike everywhere."""
    if isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Not):
        return differing_part(divergence, module, node.expression)
    if isinstance(node, cst.BooleanOperation):
        left = divergence.cause(module, node.left)
        right = divergence.cause(module, node.right)
        if left is None and right is not None:
            return differing_part(divergence, module, node.right)
        if right is None and left is not None:
            return differing_part(divergence, module, node.left)
    return node


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The expression within the helper."""
    data: Agreement = ruling.data
    yield Helper(data.helper)
    name = plan.names.fresh(data.helper)
    for edit in wrap_expression(data.module.source, data.node, f"{name}(", ")"):
        yield In(data.module, edit)
