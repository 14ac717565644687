"""Let each update be the average over the batch of all workers.

What:
    A store adds up the gradients of all workers, so that a trainer must divide by the samples of
    all of them: a number of samples read off this worker's batch is multiplied by the number of
    workers, the batch size of the script stays. What differs between the workers, such as a number
    of tokens, is added up over them where it is read. Where the loss is averaged already, what
    ``step`` is given is multiplied, too. A module multiplies by itself.

Why:
    With N workers and the divisor of one, each update would be N times too large.

Before:
    trainer.step(data.shape[0])

After:
    trainer.step(data.shape[0] * get_num_workers())

Refuses when:
    the divisor cannot be followed, or made that of all workers, or belongs to means in one call of
    a function and to sums in another; a module or its loss divides by the batch of one worker, or
    the loss is made of its sums and means; gradients are read before they are added up; workers may
    leave the loop at different batches.

Source:
    https://mxnet.apache.org/versions/1.9.1/api/python/docs/api/gluon/trainer.html
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event, Loop
from transpile.layout import replace_expression, wrap_expression
from transpile.plan.data.sources import constant_of
from transpile.plan.model import Backward, Plan
from transpile.result import Verdict
from transpile.rule import Answer, Change, Helper, In, Remark, Ruling, Rulings
from transpile.rules.mxnet._roles import (
    Update,
    fits,
    gathers,
    trainers,
    unknown_fits,
    updates,
)
from transpile.rules.mxnet.data._batch_shapes import made_whole, unshared_noise
from transpile.rules.mxnet.data._loaders import from_store
from transpile.rules.mxnet.gradients._divisors import (
    Divisor,
    differs,
    divisor_of,
    divisor_unknown,
)
from transpile.rules.mxnet.gradients._early import early_exits, early_gradients, ends_of_fits
from transpile.rules.mxnet.gradients._early_sums import (
    adds_up_again,
    early_sum,
    gatherings,
    is_taken_alone,
)
from transpile.rules.mxnet.gradients._made_losses import made_loss_answers
from transpile.rules.mxnet.gradients._module_divisors import module_divisors
from transpile.rules.mxnet.losses._coupled import coupled
from transpile.rules.mxnet.losses._losses import Reduction, reduction
from transpile.rules.mxnet.losses._numbers import takes_samples

CODES = {
    "MX301": "each update is the average over the batch of all workers",
    "MX302": "the divisor of an update cannot be followed",
    "MX303": "a module divides, or its loss is made, by the batch of one worker",
    "MX304": "gradients are used before they are added up over the workers",
    "MX305": "workers may leave the training loop at different batches",
    "MX307": "no trainer takes the gradients of a backward pass",
    "MX306": "the reduction of the loss is unknown",
    "MX308": "a term of the loss would count once for each worker",
    "MX310": "a loss is made of some samples of a batch, taken by their places",
    "MX314": "a loss is no sum or mean over the samples of a batch",
    "MX309": "random numbers behind a loss have a shape that does not follow the batch",
}


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each update, and what makes updates differ from worker to worker."""
    done: set[int] = set()
    for update in updates(plan):
        if id(update.event.node) in done:
            continue
        done.add(id(update.event.node))
        backwards = backwards_of(plan, update)
        claims = (update.event.node, *(each.event.node for each in backwards))
        if update.trainer is None or gathers(update.event) or is_taken_alone(update.event):
            yield settled(update.event, "a module divides by the samples of all workers", claims)
        elif plan.way == "data" and is_mean_at_times(plan, update):
            yield Ruling.refuse(
                "MX306",
                update.event,
                "some losses that this step is taken with are means of their batch and others add "
                "up over the samples: no one divisor is right for both",
                "take the mean of every loss, or of none",
            )
        else:
            yield from every_call(plan, update, claims)
        yield from early_gradients(plan, update)
        if plan.way == "data":
            yield from early_exits(plan, update)
    if plan.way == "data":
        yield from ends_of_fits(plan)
    yield from by_hand(plan)
    yield from unseen(plan)
    yield from module_divisors(plan)
    yield from made_loss_answers(plan)


def every_call(plan: Plan, update: Update, claims: tuple[cst.CSTNode, ...]) -> Iterator[Answer]:
    """The answer for a step, and what is to be said of it in any call of the functions around."""
    behind = [
        (each, latest(plan, each, backwards_of(plan, each)))
        for each in updates(plan)
        if each.event.node is update.event.node
    ]
    # Without a loss that is known, a call says nothing about the divisor.
    known = [
        (each, passes)
        for each, passes in behind
        if any(reduction(plan, one.loss) is not Reduction.NONE for one in passes)
    ]
    calls = [list(step_answers(plan, *each, claims)) for each in known or behind[:1]]
    rulings = [each for answers in calls for each in answers if isinstance(each, Ruling)]
    refusals = [each for each in rulings if each.verdict is Verdict.REFUSE]
    remarks = {each.code: each for answers in calls for each in answers if isinstance(each, Remark)}
    yield from remarks.values()
    # What is warned of may want another factor than it gets.
    plain = [answers[0] for answers in calls if len(answers) == 1]
    if len({factor(each) for each in plain if isinstance(each, Ruling)}) > 1 and not refusals:
        yield Ruling.refuse(
            "MX302",
            update.event,
            "this step divides by the batch of all workers in one call of the function around it, "
            "and by that of one worker in another",
            "divide by the number of samples of the batch in every call",
        )
        return
    yield from (refusals or rulings)[:1]


def factor(ruling: Ruling) -> tuple[int, bool]:
    """How often a divisor is multiplied by the workers, and whether it is split instead."""
    divisor: Divisor | None = ruling.data
    return (divisor.times, divisor.shared) if divisor is not None else (0, False)


def unseen(plan: Plan) -> Iterator[Ruling]:
    """Refusals of trainers whose steps are taken by something that cannot be analysed."""
    for event in unknown_fits(plan):
        yield Ruling.refuse(
            "MX302",
            event,
            "what is trained here cannot be analysed, so that no store can be given to it",
            "train with a Module or a gluon.Trainer in a loop of its own",
        )
    for trainer in trainers(plan):
        if not trainer.event.detached and all(step.detached for step in trainer.steps):
            yield Ruling.refuse(
                "MX302",
                trainer.event,
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
            yield Ruling.refuse(
                "MX307",
                event,
                "no trainer and no module takes the gradients of this backward pass in its loop: "
                "nothing adds them up over the workers",
                "update the parameters with a gluon.Trainer",
            )
            return


def settled(event: Event, reason: str, claims: tuple[cst.CSTNode, ...]) -> Ruling:
    """The answer for an update that is right as it is."""
    return Ruling.done("MX301", event, reason, claims=claims)


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


def latest(plan: Plan, update: Update, backwards: list[Backward]) -> list[Backward]:
    """Those of some backward passes that come right before an update, after the update before it.

    Gradients of earlier ones are written over. All of them, where none comes right before.
    """
    earlier = [
        other.event.order
        for other in updates(plan)
        if other.event.order < update.event.order and not gathers(other.event)
    ]
    since = max(earlier, default=-1)
    found = [each for each in backwards if since < each.event.order < update.event.order]
    return found or backwards


def is_mean_at_times(plan: Plan, update: Update) -> bool:
    """Whether a step is taken with means, in one call of the function around it, and with sums."""
    if plan.options.kvstore == "dist_async":
        return False
    kinds: set[bool] = set()
    for other in updates(plan):
        if other.event.node is update.event.node:
            behind = latest(plan, other, backwards_of(plan, other))
            found = {reduction(plan, each.loss) for each in behind}
            if found and found <= {Reduction.MEAN, Reduction.SUM, Reduction.SAMPLES}:
                kinds.update(kind is Reduction.MEAN for kind in found)
    return len(kinds) > 1


def step_answers(
    plan: Plan, update: Update, backwards: list[Backward], claims: tuple[cst.CSTNode, ...]
) -> Iterator[Answer]:
    """The answer for a step of a trainer."""
    event = update.event
    argument = event.arguments.get("batch_size", 0)
    why = divisor_unknown(event, argument)
    if why or argument is None:
        yield Ruling.refuse("MX302", event, why, "pass the number of samples of the batch")
        return
    if from_store(argument.values, "num_workers"):
        yield settled(event, "the divisor counts the samples of all workers", claims)
        return
    summed = early_sum(plan, update) is not None
    if plan.way == "calls" and summed:
        yield settled(event, "the gradients are those of the whole batch already", claims)
        return
    gathered = bool(gatherings(plan, update))
    again = adds_up_again(plan, update)
    if plan.way == "calls" and gathered and not again:
        yield settled(event, "the gradients are averaged before", claims)
        return
    if plan.way == "calls" and isinstance(argument.node, cst.BaseExpression):
        yield Ruling.apply(
            "MX301",
            event,
            "every worker has the gradient of the whole batch, and the store adds them up",
            data=Divisor(event.module, argument.node, 1),
            claims=claims,
        )
        return
    why = differs(plan, argument)
    if why:
        yield Ruling.refuse("MX302", event, why, "divide by the number of samples of the batch")
        return
    found = {reduction(plan, backward.loss) for backward in backwards}
    if Reduction.UNEVEN in found and plan.options.kvstore != "dist_async":
        yield Ruling.refuse(
            "MX308",
            event,
            "this loss is a sum over the samples and a term that they have no part in, such as a "
            "penalty on the parameters: the store would add that term up once for each worker",
            "divide that term by the num_workers of the store, or use the mean over the samples",
        )
        return
    losses = tuple(value for backward in backwards for value in backward.loss)
    mean = means(found)
    if Reduction.COUPLED in found:
        yield coupled(plan, event, losses)
    if not mean and not found <= {Reduction.SUM, Reduction.SAMPLES}:
        # Who passes 1 has divided already.
        mean = constant_of(argument, None) == 1
        if summed or gathered:
            yield Ruling.refuse(
                "MX304",
                event,
                "gradients are read before this step, and it cannot be told whether they are those "
                "of a sum over the samples or of their mean",
                "make the loss of a batch a mean or a sum of what a loss of Gluon gives",
            )
            return
        # Where the batches are not seen, that is said elsewhere.
        unseen = found == {Reduction.NONE} and not update.loaders
        if not unseen:
            yield untold(event, mean)
    mean = again if gathered else mean and not summed
    divisor = divisor_of(plan, event.module, argument, losses, mean)
    if not made_whole(plan, losses) and unshared_noise(plan, losses):
        yield Remark.warn(
            "MX309",
            event,
            "behind this loss are samples of the training data, of which each worker has its "
            "share, and random numbers, which each worker draws as many of as one process: they "
            "count once for each worker",
            "let the shape of the random numbers follow the batch size of the training data",
        )
    if takes_samples(plan, losses):
        yield Remark.warn(
            "MX310",
            event,
            "this loss is made of some samples of a batch, taken by their places: each worker "
            "takes them from its share of the batch, so that other samples meet in it than in one "
            "process",
            "make the loss of whole batches, or choose --batch-size per-device",
        )
    if divisor.times == 0 and not divisor.shared:
        yield settled(event, "the divisor is the batch of all workers", claims)
        return
    yield Ruling.apply(
        "MX301", event, "it divides by the samples of all workers", data=divisor, claims=claims
    )


def untold(event: Event, mean: bool) -> Remark:
    """The warning for a loss of which it is not seen how it is reduced."""
    return Remark.warn(
        "MX306",
        event,
        "it cannot be told whether the loss adds up over the samples of a batch or is their "
        f"mean: it is taken {'to be the mean' if mean else 'to add up'}, as it is divided by "
        f"{'1' if mean else 'a number of samples'} here",
        f"with {'a sum' if mean else 'a mean'}, correct what this step is given",
    )


def means(found: set[Reduction]) -> bool:
    """Whether losses that are reduced in some ways are means of their batches."""
    return bool(found) and found <= {Reduction.MEAN, Reduction.COUPLED}


def is_averaged(plan: Plan, backwards: list[Backward]) -> bool:
    """Whether gradients that the workers have added up are to be divided by their number."""
    return plan.way == "calls" or means({reduction(plan, each.loss) for each in backwards})


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
