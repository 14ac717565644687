"""Keep the gradient of the loss that of the whole batch.

What:
    A loss that is a sum over the samples is multiplied by the number of trainers where it is
    minimised, and nowhere else, so that what is fetched stays what it was. A mean needs nothing.

Why:
    The gradients of the trainers are averaged: for a mean over equal shares that is the gradient of
    the mean over the batch, for a sum it is too small by the number of trainers.

Before:
    sgd.minimize(loss)

After:
    sgd.minimize(scale_loss(loss))

Refuses when:
    never: what is not recognised, means over the words of sequences, losses that couple the
    samples of a batch, and what is kept of one batch for the next are reported.

Source:
    https://www.paddlepaddle.org.cn/documentation/docs/en/1.8/advanced_guide/distributed_training/cluster_howto_en.html
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.facts.events import Event
from transpile.facts.values import Constant
from transpile.layout import wrap_expression
from transpile.plan.graph import called_names, walk_back
from transpile.plan.model import Plan
from transpile.quantity.asking import quantity
from transpile.rule import Answer, Change, Helper, In, Remark, Ruling, Rulings
from transpile.rules.fluid._events import calls_method, names_of
from transpile.rules.fluid._roles import roles_of
from transpile.rules.fluid.data._loaders import LOADERS
from transpile.rules.fluid.gradients._learning_rate import follows_schedule
from transpile.rules.fluid.gradients._minimizes import Minimize, loss_of
from transpile.rules.fluid.losses._coupling import chosen_rows, couples
from transpile.rules.fluid.losses._kept import fed_back, states
from transpile.rules.fluid.losses._losses import Kind, counts_tokens, kind_of, normalisers
from transpile.rules.fluid.losses._reported import reported

CODES = {
    "FL301": "the loss is multiplied by the number of trainers",
    "FL302": "the loss is not recognised",
    "FL303": "the loss couples the samples of a batch",
    "FL304": "the mean is over something else than samples",
    "FL305": "numbers of a training batch are those of a share of it",
    "FL306": "statistics of batches are those of each trainer's share",
    "FL307": "each trainer clips its own gradients",
    "FL309": "the schedule of the learning rate counts other steps than in one process",
    "FL310": "rows of the whole batch are chosen",
    "FL313": "the program keeps what it makes of a share of a batch",
    "FL314": "what is fed is made of what was fetched of a share of a batch",
    "FL308": "updates of a sparse embedding depend on the order of ids",
}

CLIPS = frozenset(
    f"paddle.fluid.clip.{name}"
    for name in (
        "GradientClipByGlobalNorm", "GradientClipByNorm", "GradientClipByValue", "ErrorClipByValue"
    )
)  # fmt: skip
PY_FUNC = "paddle.fluid.layers.py_func"
EMBEDDINGS = frozenset({"paddle.fluid.layers.embedding", "paddle.fluid.embedding"})
#: Optimizers whose sparse updates depend on the order of the ids.
IN_ORDER = frozenset({"Momentum", "RMSProp", "Adam"})


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each loss."""
    roles = roles_of(plan)
    for minimize in roles.minimizes:
        if roles.transpiles:
            yield from done(minimize)
        else:
            yield from answers(plan, minimize)
    if not roles.transpiles and roles.minimizes:
        yield from unlike(plan)
        if plan.options.mode != "nccl2":
            yield from clipped(plan)
            yield from sparse(plan)
            yield from counted(plan)


def done(minimize: Minimize) -> Iterator[Answer]:
    """The answer for a program that is distributed already."""
    event = minimize.event
    yield Ruling.done("FL301", event, "the script transpiles its program itself")


def answers(plan: Plan, minimize: Minimize) -> Iterator[Answer]:
    """What to do about one loss, and what to say."""
    event = minimize.backward
    kind = kind_of(plan, minimize.loss)
    loss = loss_of(event)
    if kind is Kind.SUM:
        if loss is None or loss.node is None or not event.module.is_entry:
            yield remark(
                event,
                "FL302",
                "this loss is a sum over the batch, and is minimised where it cannot be scaled",
                "multiply the loss by the number of trainers",
            )
            return
        yield Ruling.apply(
            "FL301",
            event,
            "a sum over the batch is multiplied by the number of trainers",
            data=loss.node,
        )
    elif kind is not Kind.MEAN:
        reason = quantity(plan, minimize.loss).reason
        why = f", as {reason}" if reason else ""
        yield remark(
            event,
            "FL302",
            f"this loss is not recognised as a mean or a sum over the samples{why}: with equal "
            "shares, the average of the trainers' gradients is that of the batch for a mean only",
            "make sure that it is a mean over the samples",
        )
    chosen = chosen_rows(minimize.loss)
    if chosen is not None:
        yield Ruling.refuse(
            "FL310",
            chosen,
            "this chooses rows of the batch by numbers that are fed: they count the rows of the "
            "whole batch, and a trainer's share has others",
            "feed positions inside each sample, or compute the numbers from the batch in the "
            "program",
        )
    coupling = couples(plan, minimize.loss)
    if coupling:
        yield remark(
            event,
            "FL303",
            f"the loss of a sample depends on the others of its batch here ({coupling}): each "
            "trainer sees its own share alone",
            "gather the other trainers' samples, or accept smaller batches",
        )
    if counts_tokens(minimize.loss):
        yield remark(
            event,
            "FL304",
            "the mean is over the elements of sequences here, and the trainers' shares have "
            "different numbers of them: short sequences weigh more than in one process",
            "divide by the number of sequences instead",
        )


def unlike(plan: Plan) -> Iterator[Remark]:
    """Numbers that do not mean the whole batch any more."""
    for event, message in reported(plan):
        yield remark(
            event,
            "FL305",
            message,
            "read it as a sample of the batch, or evaluate with a test program",
        )
    yield from carried(plan)
    for event in plan.facts.reached_calls:
        if PY_FUNC in names_of(event):
            yield remark(
                event,
                "FL303",
                "what this function makes of a batch cannot be seen, and each trainer gives it its "
                "own share alone",
                "see that it takes each sample by itself",
            )
    if normalisers(plan):
        minimize = roles_of(plan).minimizes[0]
        yield remark(
            minimize.event,
            "FL306",
            "batch norm takes its statistics over each trainer's share of the batch, and trainer 0 "
            "saves its own",
            "keep shares large enough, or take a larger batch",
        )


def carried(plan: Plan) -> Iterator[Remark]:
    """What a trainer keeps of its shares, and has later batches meet."""
    for event in states(plan):
        yield remark(
            event,
            "FL313",
            "the program keeps here what it makes of a batch, for batches that come later: each "
            "trainer makes it of its own share, and trainer 0 saves its own",
            "compute it of the data before training, or expect numbers of a share",
        )
    for run, line in fed_back(plan):
        yield remark(
            run.event,
            "FL314",
            f"what is fed here is made of what is fetched in line {line}: each trainer sees its "
            "own share of the batch there, and goes on with batches of its own",
            "fetch means alone, which the servers average, or choose what is fed without what is "
            "fetched",
        )


def clipped(plan: Plan) -> Iterator[Remark]:
    """Gradients that are clipped before the servers average them."""
    for event in plan.facts.reached_calls:
        if names_of(event) & CLIPS:
            yield remark(
                event,
                "FL307",
                "gradients are clipped by each trainer before the servers average them; in one "
                "process those of the whole batch are clipped",
                "see whether the limit is often reached, or convert with --mode nccl2, where the "
                "sum of all trainers is clipped",
            )
            return


def counted(plan: Plan) -> Iterator[Remark]:
    """Schedules that count the run in which a loader is found to have ended."""
    started = [event for event in plan.facts.reached_calls if calls_method(event, "start", LOADERS)]
    for minimize in roles_of(plan).minimizes:
        if started and follows_schedule(minimize):
            yield remark(
                minimize.event,
                "FL309",
                "in one process the run that finds the loader at its end is a step of the learning "
                "rate's schedule, too (seen with Fluid 1.8); servers count the real steps alone",
                "expect each pass to change the rate one step later than in one process",
            )


def sparse(plan: Plan) -> Iterator[Remark]:
    """Sparse gradients, which Fluid does not apply alike in every order (seen with 1.8.5)."""
    names = {
        name.rpartition(".")[2]
        for minimize in roles_of(plan).minimizes
        for value in walk_back((minimize.optimizer,))
        for name in called_names(value)
    }
    optimizer = sorted(names & IN_ORDER)
    for event in plan.facts.reached_calls:
        if not names_of(event) & EMBEDDINGS:
            continue
        given = event.arguments.get("is_sparse", 2)
        if optimizer and given is not None and given.values != (Constant(False),):
            yield remark(
                event,
                "FL308",
                f"Fluid 1.8 updates rows of a sparse embedding with {optimizer[0]} depending on "
                "the order of the ids in a batch, and may leave some out: trainers see the ids in "
                "another order than one process",
                "take is_sparse=False, or SGD or Adagrad",
            )
            return


def remark(event: Event, code: str, message: str, advice: str) -> Remark:
    """A warning at an event."""
    return Remark.warn(code, event, message, advice)


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The helper around the loss."""
    yield Helper("scale_loss", ruling.module)
    name = plan.names_in(ruling.module).fresh("scale_loss")
    for edit in wrap_expression(ruling.module.source, ruling.data, f"{name}(", ")"):
        yield In(ruling.module, edit)
