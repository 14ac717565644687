"""Agree on whether a file is there, where a variable keeps the answer and the script may make it.

What:
    Where a variable holds whether a file is there, and a test of that variable decides whether the
    script makes files, all processes take the answer of rank 0.

Why:
    One process may have made the file by the time another one looks for it. Some would make it
    anew, and others read what is half written. Where the test itself looks for the file, the
    processes take turns instead.

Before:
    cached = os.path.exists("inputs.pt")
    if cached:
        inputs = torch.load("inputs.pt")
    else:
        torch.save(inputs, "inputs.pt")

After:
    cached = from_main_process(os.path.exists("inputs.pt"))
    if cached:
        inputs = torch.load("inputs.pt")
    else:
        if is_main_process():
            torch.save(inputs, "inputs.pt")

Refuses when:
    never: what is asked before the processes know each other is a warning.

Source:
    https://pytorch.org/docs/stable/distributed.html#torch.distributed.broadcast_object_list
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Branch, Event
from transpile.facts.values import Opaque, Sequence, Value
from transpile.facts.walk import descendants
from transpile.layout import wrap_expression
from transpile.plan.effects.file_reads import event_asks
from transpile.plan.effects.preparation import PREPARING
from transpile.plan.flow.places import ancestors
from transpile.plan.graph import called_names, walk_back
from transpile.plan.model import Plan
from transpile.rule import Answer, Change, Helper, In, Remark, Ruling, Rulings
from transpile.rules.pytorch.data._data import agreed_nodes
from transpile.rules.pytorch.effects._once import once_of
from transpile.rules.pytorch.randomness._random_draws import Draws

CODES = {"PT744": "whether a file is there is what rank 0 finds"}
#: What may stand between a call that looks for a file and the variable that keeps whether it is
#: there; what is chosen by the answer is no such thing.
IN_A_TRUTH = (
    cst.Call, cst.Arg, cst.UnaryOperation, cst.BooleanOperation, cst.List, cst.Tuple, cst.Element,
    cst.ListComp, cst.GeneratorExp,
)  # fmt: skip
WHY = "one process may have made the file by the time another one looks for it"


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each variable that keeps whether a file is there."""
    asking = {id(value): event for event in askings(plan) for value in event.result}
    if not asking:
        return
    draws, alone = Draws(plan), guarded(plan)
    answered: set[int] = set()
    for test in tests_of_effects(plan, alone):
        for variable in asked_of(test):
            for value in walk_back(plan.facts.values_of(variable), is_truth):
                event = asking.get(id(value))
                bound = bound_expression(event) if event is not None else None
                if event is None or bound is None or id(bound) in answered:
                    continue
                if is_of_one(plan, event, alone):
                    # Rank 0 asks, and does what follows from it, by itself.
                    continue
                answered.add(id(bound))
                if id(bound) in agreed_nodes(plan):
                    continue
                if draws.joined_before(event):
                    yield Ruling.apply("PT744", (event.module, bound), WHY, data=bound)
                else:
                    yield Remark.warn(
                        "PT744",
                        event,
                        f"{WHY}: not all of them would do the same",
                        "look for it within the test, or behind the start of the training",
                    )


def askings(plan: Plan) -> Iterator[Event]:
    """The calls that look for files."""
    return (event for event in plan.facts.reached_calls if event_asks(event))


def tests_of_effects(plan: Plan, alone: set[int]) -> Iterator[cst.BaseExpression]:
    """The conditions under which the script makes files, where all processes come to them."""
    once = once_of(plan)
    for effect in once.effects.values():
        known = once.done | once.prepared
        if effect.kind not in PREPARING or id(effect.node) in known:
            continue
        for event in effect.events:
            for frame in event.stack:
                decides = isinstance(frame, Branch) and isinstance(frame.node, cst.If)
                if decides and id(frame.node) not in alone:
                    yield frame.node.test


def guarded(plan: Plan) -> set[int]:
    """The identities of the nodes in what rank 0 does alone, or the processes do in turn."""
    once = once_of(plan)
    taken = [part for run in once.runs for part in run.statements]
    taken += [part for each in once.preparations for part in each.statements]
    return {id(node) for part in taken for node in descendants(part)}


def is_of_one(plan: Plan, event: Event, alone: set[int]) -> bool:
    """Whether a call is made by one process at a time, in one of its contexts at least."""
    ranks = once_of(plan).ranks
    contexts = [each for each in plan.facts.reached_calls if each.node is event.node]
    return any(
        ranks.some_ranks(each)
        or ranks.in_turn(each.stack)
        or any(id(node) in alone for node in (each.node, *(call.node for call in each.calls())))
        for each in contexts
    )


def asked_of(test: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    """The variables whose truth a condition asks for."""
    if isinstance(test, cst.BooleanOperation):
        yield from asked_of(test.left)
        yield from asked_of(test.right)
    elif isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        yield from asked_of(test.expression)
    elif isinstance(test, (cst.Name, cst.Attribute)):
        yield test


def is_truth(value: Value) -> bool:
    """Whether a value is nothing but the truth of those that it is made of."""
    if isinstance(value, Sequence):
        return True
    if not isinstance(value, Opaque):
        return False
    of_several = set(called_names(value)) <= {"builtins.all", "builtins.any", "builtins.bool"}
    return of_several if value.kind == "call" else value.name in ("Not", "And", "Or")


def bound_expression(event: Event) -> cst.BaseExpression | None:
    """The truth that a variable is bound to, of which a call is part; None for anything else."""
    for node in ancestors(event.module, event.node):
        if isinstance(node, (cst.Assign, cst.AnnAssign)):
            return node.value
        if not isinstance(node, IN_A_TRUTH):
            return None
    return None


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The answer of rank 0."""
    node: cst.BaseExpression = ruling.data
    yield Helper("from_main_process", ruling.module)
    name = plan.names_in(ruling.module).fresh("from_main_process")
    for edit in wrap_expression(ruling.module.source, node, f"{name}(", ")"):
        yield In(ruling.module, edit)
