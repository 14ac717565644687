"""Let each update be the average over the batch of all workers.

What:
    A store adds up the gradients of all workers, so that a trainer must divide by the samples of
    all of them: a number of samples read off this worker's batch is multiplied by the number of
    workers, the batch size of the script stays. Where the loss is averaged already, what ``step``
    is given is multiplied, too. A module multiplies by itself.

Why:
    With N workers and the divisor of one, each update would be N times too large.

Before:
    trainer.step(data.shape[0])

After:
    trainer.step(data.shape[0] * get_num_workers())

Refuses when:
    the divisor cannot be followed; a module or its loss divides by the batch of one worker;
    gradients are read before they are added up; workers may leave the loop at different batches.

Source:
    https://mxnet.apache.org/versions/1.9.1/api/python/docs/api/gluon/trainer.html
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from transpile.facts.events import Branch, Call, Event, Loop
from transpile.facts.module import Module
from transpile.facts.values import Argument, External, Mapping, Opaque, Unknown, Values
from transpile.finding import Level
from transpile.layout import replace_expression, wrap_expression
from transpile.plan.graph import walk_back
from transpile.plan.model import Backward, Plan
from transpile.plan.roles.backwards import data_sources
from transpile.result import Verdict
from transpile.rule import Answer, Change, Helper, In, Remark, Ruling, Rulings
from transpile.rules.mxnet._loaders import constant_of, counts_workers, from_store
from transpile.rules.mxnet._losses import Reader, Reduction, is_size
from transpile.rules.mxnet._numbers import in_training, numbers_of
from transpile.rules.mxnet._once import VOCABULARY
from transpile.rules.mxnet._roles import (
    Update,
    can_reduce,
    fits,
    receivers_of,
    trainers,
    training_loaders,
    unknown_fits,
    updates,
)
from transpile.rules.mxnet._vocabulary import MODULES

CODES = {
    "MX301": "each update is the average over the batch of all workers",
    "MX302": "the divisor of an update cannot be followed",
    "MX303": "a module divides by the batch of one worker",
    "MX304": "gradients are used before they are added up over the workers",
    "MX305": "workers may leave the training loop at different batches",
    "MX307": "no trainer takes the gradients of a backward pass",
    "MX306": "how the loss is reduced cannot be told",
    "MX308": "a term of the loss would count once for each worker",
}
#: What gives gradients to the script.
GRADIENTS = frozenset({"grad", "list_grad"})


@dataclass(frozen=True, eq=False)
class Divisor:
    """What a step is divided by.

    Args:
        module: where it is.
        node: the expression.
        times: how often it is to be multiplied by the number of workers.
        shared: it is this worker's share of the script's batch instead.
    """

    module: Module
    node: cst.BaseExpression
    times: int
    shared: bool = False


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each update, and what makes updates differ from worker to worker."""
    done: set[int] = set()
    for update in updates(plan):
        if id(update.event.node) in done:
            continue
        done.add(id(update.event.node))
        backwards = backwards_of(plan, update)
        claims = (update.event.node, *(each.event.node for each in backwards))
        if update.trainer is None or gathers(update.event):
            yield settled(update.event, "a module divides by the samples of all workers", claims)
        else:
            yield from step_answers(plan, update, backwards, claims)
        yield from early_gradients(plan, update)
        yield from early_exits(plan, update)
    yield from by_hand(plan)
    yield from unseen(plan)
    yield from module_divisors(plan)


def unseen(plan: Plan) -> Iterator[Ruling]:
    """Refusals of trainers whose steps are taken by something that cannot be looked into."""
    for event in unknown_fits(plan):
        yield Ruling(
            "MX302",
            Verdict.REFUSE,
            event.module,
            event.node,
            "what is trained here cannot be looked into, so that no store can be given to it",
            "train with a Module or a gluon.Trainer in a loop of its own",
        )
    for trainer in trainers(plan):
        if not trainer.event.detached and all(step.detached for step in trainer.steps):
            yield Ruling(
                "MX302",
                Verdict.REFUSE,
                trainer.event.module,
                trainer.event.node,
                "no step of this trainer can be seen: what it is handed to takes them, and cannot "
                "be looked into",
                "write the training loop out",
            )


def by_hand(plan: Plan) -> Iterator[Ruling]:
    """Refusals of gradients that neither a trainer nor a module takes."""
    taken = {
        id(backward.event.node)
        for update in updates(plan)
        for backward in backwards_of(plan, update)
    }
    for backward in plan.backwards:
        event = backward.event
        if id(event.node) not in taken and not event.detached and not fits(plan):
            yield Ruling(
                "MX307",
                Verdict.REFUSE,
                event.module,
                event.node,
                "no trainer and no module takes the gradients of this backward pass in its loop: "
                "nothing adds them up over the workers",
                "update the parameters with a gluon.Trainer",
            )
            return


def gathers(event: Event) -> bool:
    """Whether a call only adds gradients up."""
    return bool(receivers_of(event, "allreduce_grads"))


def settled(event: Event, reason: str, claims: tuple[cst.CSTNode, ...]) -> Ruling:
    """The answer for an update that is right as it is."""
    return Ruling("MX301", Verdict.ALREADY_DONE, event.module, event.node, reason, claims=claims)


def backwards_of(plan: Plan, update: Update) -> list[Backward]:
    """The backward passes in the loop of an update."""
    if update.loop is None:
        return []
    return [
        backward
        for backward in plan.backwards
        if any(
            isinstance(frame, Loop) and frame.node is update.loop.node
            for frame in backward.event.stack
        )
    ]


def step_answers(
    plan: Plan, update: Update, backwards: list[Backward], claims: tuple[cst.CSTNode, ...]
) -> Iterator[Answer]:
    """The answer for a step of a trainer."""
    event = update.event
    argument = event.arguments.get("batch_size", 0)
    why = divisor_unknown(event, argument)
    if why or argument is None:
        yield Ruling(
            "MX302",
            Verdict.REFUSE,
            event.module,
            event.node,
            why,
            "pass the number of samples of the batch",
        )
        return
    if from_store(argument.values, "num_workers"):
        yield settled(event, "the divisor counts the samples of all workers", claims)
        return
    reader = Reader(lambda values: in_training(plan, values))
    found = {reader.reduction(backward.loss) for backward in backwards}
    if Reduction.UNEVEN in found and plan.options.kvstore != "dist_async":
        yield Ruling(
            "MX308",
            Verdict.REFUSE,
            event.module,
            event.node,
            "this loss is a sum over the samples and a term that they have no part in, such as a "
            "penalty on the parameters: the store would add that term up once for each worker",
            "divide that term by the num_workers of the store, or use the mean over the samples",
        )
        return
    mean = found == {Reduction.MEAN}
    if not mean and not found <= {Reduction.SUM, Reduction.SAMPLES}:
        # Who passes 1 has divided already.
        mean = constant_of(argument, None) == 1
        yield Remark(
            "MX306",
            Level.WARNING,
            event.module,
            event.node,
            "it cannot be told whether the loss adds up over the samples of a batch or is their "
            f"mean: it is taken {'to be the mean' if mean else 'to add up'}, as it is divided by "
            f"{'1' if mean else 'a number of samples'} here",
            f"with {'a sum' if mean else 'a mean'}, correct what this step is given",
        )
    divisor = divisor_of(plan, event.module, argument, mean)
    if divisor.times == 0 and not divisor.shared:
        yield settled(event, "the divisor is the batch of all workers", claims)
        return
    yield Ruling(
        "MX301",
        Verdict.APPLY,
        event.module,
        event.node,
        "it divides by the samples of all workers",
        data=divisor,
        claims=claims,
    )


def divisor_unknown(event: Event, argument: Argument | None) -> str:
    """Why it is not known what a step divides by; empty where it is."""
    if argument is None or event.arguments.unknown_because:
        return "it is not known what this step divides by"
    if any(isinstance(value, Unknown) for value in argument.values):
        return "it is not known what this step divides by"
    if not isinstance(argument.node, cst.BaseExpression):
        return "what this step divides by has no place in the text"
    return ""


def divisor_of(plan: Plan, module: Module, argument: Argument, mean: bool) -> Divisor:
    """How the divisor of a step is to be changed."""
    assert isinstance(argument.node, cst.BaseExpression)
    local = bool(data_sources(argument.values, plan)) or reads_loader(plan, argument.values)
    batch = is_batch_size(plan, argument.values)
    local = local or (is_size(argument.values) and not batch)
    if plan.options.kvstore == "dist_async":
        share = batch and not local and plan.options.batch_size == "global"
        return Divisor(module, argument.node, 0, share)
    if batch and (plan.options.batch_size == "per-device" or counts_workers(plan)):
        local = True
    return Divisor(module, argument.node, int(local) + int(mean))


def reads_loader(plan: Plan, values: Values) -> bool:
    """Whether values are read off the training data, as in ``train_iter.batch_size``."""
    loaders = {id(loader.value) for loader in training_loaders(plan)}
    return any(
        isinstance(value, Opaque)
        and value.kind == "attribute"
        and any(id(base) in loaders for base in value.operands[0])
        for value in walk_back(values)
    )


def is_batch_size(plan: Plan, values: Values) -> bool:
    """Whether values are made of the batch size of some training data."""
    sizes = [
        value
        for loader in training_loaders(plan)
        for argument in (
            loader.argument("batch_size") or loader.event.arguments.keyword("batch_size"),
        )
        if argument is not None
        for value in argument.values
    ]
    return any(value in sizes for value in walk_back(values))


def early_gradients(plan: Plan, update: Update) -> Iterator[Ruling]:
    """Refusals of gradients that are read in a training loop before they are added up."""
    if update.loop is None or update.trainer is None:
        return
    inside = [event for event in plan.facts.events if within(event, update.loop)]
    if any(event.kind == "call" and gathers(event) for event in inside):
        return
    for event in inside:
        if event.kind != "call":
            continue
        clips = any(
            isinstance(callee, External) and callee.name.endswith("clip_global_norm")
            for callee in event.callee
        )
        if clips or any(receivers_of(event, name) for name in GRADIENTS):
            yield Ruling(
                "MX304",
                Verdict.REFUSE,
                event.module,
                event.node,
                "gradients are used here that are those of one worker: they are added up over the "
                "workers only in the step",
                "call trainer.allreduce_grads() before, and trainer.update() instead of step()",
            )
            return


def within(event: Event, loop: Loop) -> bool:
    """Whether an event happens inside a loop."""
    return any(isinstance(frame, Loop) and frame.node is loop.node for frame in event.stack)


def early_exits(plan: Plan, update: Update) -> Iterator[Ruling]:
    """Refusals of exits that depend on what one worker has seen."""
    if update.loop is None:
        return
    outer = {id(frame.node) for frame in update.event.stack if isinstance(frame, Loop)}
    for event in (*exits_of(plan, outer), update.event):
        for test in tests_inside(event, outer):
            values = plan.facts.values_of(test)
            if in_training(plan, values) and not agreed(plan, values):
                yield Ruling(
                    "MX305",
                    Verdict.REFUSE,
                    event.module,
                    event.node,
                    "whether training goes on here depends on what one worker has seen: workers "
                    "that stop at different batches wait for each other for ever",
                    "decide on a number that all workers have in common",
                )
                return


def agreed(plan: Plan, values: Values) -> bool:
    """Whether a condition is made of numbers that are added up over the workers."""
    explained: bool = can_reduce(plan) and numbers_of(plan, VOCABULARY).explain(values)
    return explained


def exits_of(plan: Plan, loops: set[int]) -> Iterator[Event]:
    """The exits that leave one of these loops, or one of its rounds."""
    for event in plan.facts.events:
        if event.kind != "exit" or event.detached or event.name == "raise":
            continue
        around = [frame for frame in event.stack if isinstance(frame, Loop | Call)]
        if event.name == "return":
            # It leaves the loops of its own function alone.
            calls = [index for index, frame in enumerate(around) if isinstance(frame, Call)]
            around = around[calls[-1] + 1 :] if calls else around
        elif around:
            around = around[-1:]
        if any(isinstance(frame, Loop) and id(frame.node) in loops for frame in around):
            yield event


def tests_inside(event: Event, loops: set[int]) -> Iterator[cst.BaseExpression]:
    """The conditions inside the outermost of these loops on which an event depends."""
    inside = False
    for frame in event.stack:
        if isinstance(frame, Loop) and id(frame.node) in loops:
            inside = True
        elif inside and isinstance(frame, Branch) and isinstance(frame.node, cst.If):
            yield frame.node.test


def module_divisors(plan: Plan) -> Iterator[Ruling]:
    """Refusals of modules that would divide by the batch of one worker."""
    for fit in fits(plan):
        argument = fit.argument("optimizer_params")
        for value in argument.values if argument is not None else ():
            entry = value.entries.get("rescale_grad") if isinstance(value, Mapping) else None
            if entry is not None and (
                reads_loader(plan, entry.values) or data_sources(entry.values, plan)
            ):
                yield module_refusal(
                    fit.event,
                    "rescale_grad divides by the batch of one worker, but the store adds up the "
                    "gradients of all",
                    "leave rescale_grad out: the module divides by the batch of all workers",
                )
    for event in plan.facts.events:
        if event.kind != "call" or event.detached or not fits(plan):
            continue
        normalised = event.arguments.keyword("normalization")
        symbol = any(
            isinstance(callee, External) and callee.name.startswith("mxnet.sym.")
            for callee in event.callee
        )
        if symbol and constant_of(normalised, "null") != "null":
            yield module_refusal(
                event,
                "this loss divides by the batch of one worker, but the store adds up the "
                "gradients of all",
                'use normalization="null": the module divides by the batch of all workers',
            )
        modules = [v for v in receivers_of(event, "bind") if isinstance(v, Opaque)]
        shapes = event.arguments.get("data_shapes", 0)
        if any(External(name) in value.callee for value in modules for name in MODULES):
            if shapes is not None and not reads_loader(plan, shapes.values):
                yield module_refusal(
                    event,
                    "the module is bound to shapes that are not those of the training data, so "
                    "that it would divide by another batch than a worker has",
                    "bind it to provide_data and provide_label of the training data",
                )


def module_refusal(event: Event, why: str, advice: str) -> Ruling:
    """The refusal of something that divides by the batch of one worker."""
    return Ruling("MX303", Verdict.REFUSE, event.module, event.node, why, advice)


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The divisor of all workers in the place of that of one."""
    divisor: Divisor = ruling.data
    source, node = divisor.module.source, divisor.node
    if divisor.shared:
        yield Helper("split_batch", divisor.module)
        opening = f"{plan.names_in(divisor.module).fresh('split_batch')}("
        for edit in wrap_expression(source, node, opening, ")"):
            yield In(divisor.module, edit)
        return
    yield Helper("get_num_workers", divisor.module)
    workers = f"{plan.names_in(divisor.module).fresh('get_num_workers')}()"
    factor = " * ".join([workers] * divisor.times)
    if isinstance(node, cst.Integer) and node.value == "1":
        changes = replace_expression(source, node, factor)
    else:
        changes = wrap_expression(source, node, "", f" * {factor}")
    for edit in changes:
        yield In(divisor.module, edit)
