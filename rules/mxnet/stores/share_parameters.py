"""Start every worker from the same parameters.

What:
    What a Gluon trainer is given goes through a helper that gives every worker the parameters of
    rank 0, those that get values later as soon as they have them. Behind
    the loop over the batches the running statistics of batch norm, which no trainer updates,
    become their mean over the workers. Dropout, noise and augmentations differ from worker to
    worker then; where random numbers become data or decide something, or nothing but what a whole
    batch has in common is drawn, all workers go on drawing the same ones. A module takes the
    parameters of rank 0 by itself.

Why:
    A store broadcasts the initial parameters inside the first step only: the gradients of that step
    would be those of other parameters on each worker.

Before:
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})

After:
    trainer = gluon.Trainer(share_parameters(net.collect_params()), "sgd", {"learning_rate": 0.1})

Refuses when:
    it is not known which parameters a trainer is given.

Source:
    https://github.com/horovod/horovod/blob/master/horovod/mxnet/__init__.py, broadcast_parameters
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Loop
from transpile.facts.module import Module
from transpile.layout import insert_after, wrap_expression
from transpile.plan.model import Optimizer, Plan
from transpile.result import Verdict
from transpile.rule import Answer, Change, Helper, In, Ruling, Rulings
from transpile.rules.mxnet._helpers.parameters import share_and_vary
from transpile.rules.mxnet._helpers.samplers import adds_up
from transpile.rules.mxnet._roles import (
    receivers_of,
    trainer_argument,
    trainers,
    updates,
)
from transpile.rules.mxnet.stores._streams import augments_on_its_own, draws_on_its_own

CODES = {
    "MX311": "every worker starts from the same parameters",
    "MX312": "the parameters that a trainer is given are not known",
    "MX313": "the running statistics of batch norm are shared after each pass",
}


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each trainer, and one for each loop over batches."""
    seen: set[int] = set()
    for trainer in trainers(plan):
        node = trainer.event.node
        argument = trainer_argument(trainer, "params")
        if id(node) in seen:
            continue
        seen.add(id(node))
        if is_shared_by_helper(plan, trainer):
            yield Ruling.done("MX311", (trainer.event.module, node), "they are shared")
        elif argument is None or not isinstance(argument.node, cst.BaseExpression):
            yield Ruling.refuse(
                "MX312",
                (trainer.event.module, node),
                "it is not known which parameters this trainer is given",
                "pass them as the first argument",
            )
        else:
            yield Ruling.apply(
                "MX311",
                (trainer.event.module, argument.node),
                "every worker starts from the parameters of rank 0",
                data=(trainer.event.module, argument.node),
            )
    if not adds_up(plan.options):
        return
    for module, loop, is_done in loops(plan):
        verdict = Verdict.ALREADY_DONE if is_done else Verdict.APPLY
        yield Ruling(
            "MX313", verdict, module, loop, "running statistics are shared", data=(module, loop)
        )


def is_shared_by_helper(plan: Plan, trainer: Optimizer) -> bool:
    """Whether the parameters of a trainer have gone through a broadcast."""
    argument = trainer_argument(trainer, "params")
    node = argument.node if argument is not None else None
    if not isinstance(node, cst.Call):
        return False
    return any(
        event.kind == "call"
        and any(frame.node is node for frame in event.calls())
        and bool(receivers_of(event, "pull"))
        for event in plan.facts.events
    )


def loops(plan: Plan) -> Iterator[tuple[Module, cst.BaseCompoundStatement, bool]]:
    """The loops over batches in which trainers step, and whether sharing follows them."""
    seen: set[int] = set()
    for update in updates(plan):
        loop = update.loop
        if update.trainer is None or loop is None or id(loop.node) in seen:
            continue
        seen.add(id(loop.node))
        if isinstance(loop.node, (cst.For, cst.While)):
            yield loop.module, loop.node, follows(plan, loop)


def follows(plan: Plan, loop: Loop) -> bool:
    """Whether the statement behind a loop shares something over the workers."""
    source = loop.module.source
    block = source.parent(loop.node)
    body = list(getattr(block, "body", ()))
    if loop.node not in body or body.index(loop.node) + 1 >= len(body):
        return False
    after = body[body.index(loop.node) + 1]
    return any(
        event.kind == "call"
        and bool(receivers_of(event, "push"))
        and any(
            frame.node is not None
            and frame.module is loop.module
            and after in source.parents(frame.node)
            for frame in event.calls()
        )
        for event in plan.facts.events
    )


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The helper around the parameters, or behind the loop."""
    module, node = ruling.data
    if ruling.code == "MX313":
        yield Helper("share_statistics", module)
        line = f"{plan.names_in(module).fresh('share_statistics')}()"
        for edit in insert_after(module.source, node, [line], order=-5):
            yield In(module, edit)
        return
    # Where calls are split, all workers draw the same batches and noise.
    parts = plan.way == "data"
    plan.helpers["share_parameters"] = share_and_vary(
        parts and draws_on_its_own(plan), parts and augments_on_its_own(plan)
    )
    yield Helper("share_parameters", module)
    opening = f"{plan.names_in(module).fresh('share_parameters')}("
    for edit in wrap_expression(module.source, node, opening, ")"):
        yield In(module, edit)
