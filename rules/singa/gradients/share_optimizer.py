"""Update with the gradients of all processes.

What:
    The optimizer goes into the ``DistOpt`` that all processes share. It adds gradients up over the
    processes and divides by their number before it updates. Attributes and methods of the
    optimizer that a ``DistOpt`` does not have are those of the optimizer inside. Learning rates
    stay: the mean over the shares of a batch is the mean over the batch.

Why:
    Processes that update with their own gradients train models apart.

Before:
    sgd = opt.SGD(lr=0.005, momentum=0.9)

After:
    sgd = share_optimizer(opt.SGD(lr=0.005, momentum=0.9))

Refuses when:
    there are several optimizers, of which a ``DistOpt`` holds one, or nothing updates.

Source:
    https://singa.apache.org/docs/dist-train/
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import libcst as cst

from transpile.facts.events import Branch, Event
from transpile.facts.module import Module
from transpile.layout import replace_expression, wrap_expression
from transpile.plan.model import Plan
from transpile.result import Verdict
from transpile.rule import Answer, Change, Helper, In, Ruling, Rulings
from transpile.rules.singa._roles import (
    backwards,
    called_models,
    is_evaluation,
    is_optimizer,
    method_of,
    model_calls,
    names_of,
    optimizers,
    updates,
)
from transpile.rules.singa._vocabulary import SHARED_METHODS

CODES = {
    "SG101": "it updates with the gradients of all processes",
    "SG102": "several optimizers cannot share one DistOpt",
    "SG103": "nothing updates here",
    "SG104": "this is done by the optimizer inside of the DistOpt",
    "SG105": "the optimizer is used where it has no name",
}


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each optimizer, and for each use of one that a DistOpt does not have."""
    made = optimizers(plan)
    done = is_shared(plan)
    claims = tuple(update.event.node for update in updates(plan))
    for one, other in combinations(made, 2):
        if not exclude_each_other(one, other):
            yield Ruling.refuse(
                "SG102",
                other,
                "this is a second optimizer, and a DistOpt, which joins the processes when it is "
                "made, holds one",
                "train with one optimizer, or train the models one after the other in scripts of "
                "their own",
            )
            return
    idle = list(idle_models(plan))
    yield from idle
    if made and not idle and not updates(plan) and not backwards(plan):
        yield Ruling.refuse(
            "SG103",
            made[0],
            "nothing is seen that updates with this optimizer",
            "call it with the loss where the script comes by, not through another library",
        )
    for event in made:
        yield Ruling.apply(
            "SG101",
            event,
            "it updates with the gradients of all processes",
            data=event.node,
            claims=claims,
            done=done,
        )
    if not done:
        yield from inside_uses(plan)


def is_shared(plan: Plan) -> bool:
    """Whether the script makes a DistOpt by itself."""
    return any("singa.opt.DistOpt" in names_of(event) for event in plan.facts.reached_calls)


def exclude_each_other(one: Event, other: Event) -> bool:
    """Whether two things never happen in the same run."""
    arms = {id(frame.node): frame.arm for frame in one.stack if isinstance(frame, Branch)}
    return any(
        isinstance(frame, Branch) and arms.get(id(frame.node), frame.arm) != frame.arm
        for frame in other.stack
    )


def idle_models(plan: Plan) -> Iterator[Ruling]:
    """Models that are called to train, and update nothing."""
    within = {id(frame.node) for update in updates(plan) for frame in update.event.calls()}
    seen: set[int] = set()
    for event in model_calls(plan):
        trains = any(method_of(model, "train_one_batch") for model in called_models(event))
        if not trains or is_evaluation(event) or id(event.node) in within | seen:
            continue
        if any(update.event.order > event.order for update in updates(plan)):
            # The script updates with what this gives, outside of the model.
            continue
        seen.add(id(event.node))
        yield Ruling.refuse(
            "SG103",
            event,
            "with these arguments, train_one_batch calls neither the optimizer nor backward: "
            "nothing is trained",
            "have train_one_batch call the optimizer with the loss, whatever the arguments",
        )


def inside_uses(plan: Plan) -> Iterator[Ruling]:
    """The attributes and methods of an optimizer that a DistOpt does not have."""
    for module in plan.facts.modules.values():
        for node in module.source.nodes_of(cst.Attribute):
            if node.attr.value in SHARED_METHODS:
                continue
            owner = plan.facts.values_of(node.value)
            if not any(is_optimizer(plan, value) for value in owner) or is_own(module, node):
                continue
            named = is_name(node.value)
            yield Ruling(
                "SG104" if named else "SG105",
                Verdict.APPLY if named else Verdict.REFUSE,
                module,
                node,
                (
                    f"`.{node.attr.value}` is the optimizer's own"
                    if named
                    else f"`.{node.attr.value}` is asked of an optimizer that has no name here"
                ),
                "give the optimizer a name first",
                data=node.value,
            )


def is_own(module: Module, node: cst.Attribute) -> bool:
    """Whether the optimizer's own methods ask, which run inside of the DistOpt."""
    return any(
        isinstance(parent, cst.ClassDef)
        and isinstance(node.value, cst.Name)
        and node.value.value == "self"
        for parent in module.source.parents(node)
    )


def is_name(node: cst.BaseExpression) -> bool:
    """Whether an expression is a name, or an attribute of one."""
    return isinstance(node, cst.Name) or (isinstance(node, cst.Attribute) and is_name(node.value))


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The helper around what makes the optimizer, or the optimizer inside of the DistOpt."""
    module, source = ruling.module, ruling.module.source
    if ruling.code == "SG104":
        text = source.code(ruling.data)
        for edit in replace_expression(source, ruling.data, f'getattr({text}, "opt", {text})'):
            yield In(module, edit)
        return
    yield Helper("share_optimizer", module)
    name = plan.names_in(module).fresh("share_optimizer")
    for edit in wrap_expression(source, ruling.data, f"{name}(", ")"):
        yield In(module, edit)
