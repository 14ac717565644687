"""Train through the high-level interface in several processes.

What:
    ``paddle.Model`` wraps the network and shares data sets out by itself once the processes have
    joined. ``fit`` is given this process's share of the batch, and noise of its own to draw, and
    the losses of ``train_batch`` are averaged; the layers are printed once. Evaluations are sharded
    and gathered by Paddle, without the samples that pad.

Why:
    ``fit`` takes its batch size for that of each process: with N processes the script would train
    with an N times larger batch.

Before:
    model.fit(train_set, epochs=2, batch_size=64)

After:
    model.fit(train_set, epochs=2, batch_size=split_batch(64))

Refuses when:
    it is not known what data ``fit`` is given, or whether it drops the last batch; the batch size
    is not one number; an optimizer holds what is no part of the network; a callback stops or slows
    the training by a loss that differs between the processes; the loss is a sum; a single batch
    comes from no loader, or has metrics; graphs are static.

Source:
    https://www.paddlepaddle.org.cn/documentation/docs/en/api/paddle/Model_en.html
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.values import Argument, Constant, Opaque, Sequence, Value
from transpile.layout import add_argument, insert_before, wrap_expression
from transpile.once.print_once import reported_once
from transpile.plan.data.sources import constant_of, depends_on_world_size
from transpile.plan.flow.places import insertion_place
from transpile.plan.flow.redirects import redirected_to
from transpile.plan.graph import called_names, walk_back
from transpile.plan.model import Plan
from transpile.rule import Answer, Change, Helper, In, Remark, Ruling, Rulings
from transpile.rules.paddle.effects._once import once_of
from transpile.rules.paddle.high_level import _single_batches as single_batches
from transpile.rules.paddle.high_level._high_level import (
    batch_given,
    fit_argument,
    high_level,
    is_data_set,
    is_static,
    loaders_behind,
    trains_beside,
    trains_high_level,
)
from transpile.rules.paddle.losses._shares import analysis
from transpile.rules.paddle.randomness._seeds import draws_noise, imports_random

CODES = {
    "PD901": "the high-level interface trains in several processes",
    "PD902": "the high-level interface cannot train in several processes here",
    "PD903": "the layers are printed once per job",
    "PD904": "a loss of the high-level interface may mean something else over shares",
    "PD905": "what the high-level interface shows is of one process's share",
    "PD906": "each process predicts its share",
}
#: Where calls are split, every process has whole batches.
WAYS = ("data",)
#: Expressions that may be written twice.
SIMPLE = (cst.Name, cst.Attribute, cst.Integer)
TWO_WRAPS = (
    "a loop of the script trains, too: Paddle would average the gradients of one network through "
    "two wraps"
)
BESIDE = (
    "its optimizer updates what is no part of the network, and Paddle averages the gradients of "
    "the network alone"
)
DECIDING = ("paddle.callbacks.EarlyStopping", "paddle.callbacks.ReduceLROnPlateau")


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each call that trains, and a word on what it shows."""
    found = high_level(plan)
    by_hand = any(not backward.event.detached for backward in plan.backwards)
    for event in found.fits:
        if by_hand and not joined(plan):
            yield refusal(event, TWO_WRAPS)
        else:
            yield from fitted(plan, event)
    for event in found.single_steps:
        yield from single(plan, event)
    if trains_high_level(plan):
        for event in found.preparations:
            yield from losses(plan, event)
            if trains_beside(plan, event):
                yield refusal(event, BESIDE, "make it a part of the network, and use it there")
        for event in found.summaries:
            yield from summary(plan, event)
    for event in found.predictions if found.fits else ():
        yield Remark.warn(
            "PD906",
            event,
            "with several processes predict() goes through a share of the data in each, and "
            "gathers the predictions on GPUs only",
            "predict in a process of its own, from the saved model",
        )


def refusal(
    event: Event, why: str, advice: str = "write the loop over a paddle.io.DataLoader in the script"
) -> Ruling:
    """The answer about training that cannot be sharded."""
    return Ruling.refuse("PD902", event, why, advice)


def single(plan: Plan, event: Event) -> Iterator[Answer]:
    """The answer about one call that trains or evaluates a single batch."""
    by_hand = any(not backward.event.detached for backward in plan.backwards)
    why = single_batches.refusals(plan, event)
    if joined(plan):
        yield Ruling.done("PD901", event, "the processes share its batches", claims=(event.node,))
    elif by_hand:
        yield refusal(event, TWO_WRAPS)
    elif why is not None:
        yield refusal(event, *why)
    elif loaders_behind(plan, batch_given(event), shared=True):
        yield Ruling.apply(
            "PD901",
            event,
            "each process takes its share of the batch",
            data=event,
            claims=(event.node,),
        )
    else:
        yield Ruling.done("PD901", event, "every process sees the batch", claims=(event.node,))


def fitted(plan: Plan, event: Event) -> Iterator[Answer]:
    """The answers about one call of ``fit``."""
    size = fit_argument(event, "batch_size")
    why = "" if joined(plan) else obstacle(plan, event, size)
    if why:
        yield refusal(event, why)
        return
    done = (size is not None and depends_on_world_size(plan, size.values)) or joined(plan)
    yield Ruling.apply(
        "PD901",
        event,
        "each process takes its share of the batch",
        data=size,
        claims=(event.node,),
        done=done,
    )
    verbose = constant_of(fit_argument(event, "verbose"), 2)
    watched = fit_argument(event, "callbacks") is not None or bool(high_level(plan).evaluations)
    if (verbose != 0 or watched) and not done:
        yield Remark.warn(
            "PD905",
            event,
            "the loss that fit() shows or hands to callbacks, and in training the metrics, are "
            "those of rank 0's share, and so is the loss of evaluations; metrics of evaluations "
            "are those of all processes",
            "nothing is wrong with the training: read the numbers as estimates",
        )


def joined(plan: Plan) -> bool:
    """Whether the script joins other processes itself."""
    return any(
        any(getattr(c, "name", "") in plan.table.distributed_starts for c in event.callee)
        for event in plan.facts.calls
    )


def obstacle(plan: Plan, event: Event, size: Argument | None) -> str:
    """Why a call of ``fit`` cannot be sharded; empty where it can."""
    if is_static(plan):
        return "the high-level interface is not converted for static graphs"
    if event.arguments.unknown_because:
        return f"the arguments of fit() are not known: {event.arguments.unknown_because}"
    for name in ("train_data", "eval_data"):
        argument = fit_argument(event, name)
        if argument is None:
            continue
        loaders = {id(loader.value) for loader in high_level(plan).loaders}
        if all(id(value) in loaders for value in argument.values):
            continue
        if not is_data_set(plan, argument.values):
            return f"it is not known whether {name} is a data set or a loader"
    if unclear_whole_batches(plan, event):
        return "fit() drops the last batch, of which there are others with several processes"
    for value in size.values if size is not None else ():
        if isinstance(value, Sequence):
            return "the batch sizes for training and evaluation stand in one list"
    if size is not None and not isinstance(size.node, cst.BaseExpression):
        return "the batch size has no place in the text"
    callbacks = fit_argument(event, "callbacks")
    for value in walk_back(callbacks.values) if callbacks is not None else ():
        if decides_by_loss(value):
            return (
                "a callback stops or slows the training by a loss that differs between the "
                "processes"
            )
    return ""


def drops_last(event: Event) -> bool | None:
    """Whether a call of ``fit`` drops the last batch; None where it is not known."""
    found = constant_of(fit_argument(event, "drop_last"), False)
    return found if isinstance(found, bool) else None


def unclear_whole_batches(plan: Plan, event: Event) -> bool:
    """Whether the last batch is dropped in a way that cannot be followed."""
    dropped = drops_last(event)
    if dropped is False or (dropped and plan.options.batch_size == "per-device"):
        return False
    data = fit_argument(event, "train_data")
    if not dropped or data is None or data.mapping is not None:
        return True
    for name in ("batch_size", "shuffle", "num_workers"):
        given = fit_argument(event, name)
        if given is not None and not isinstance(given.node, SIMPLE):
            return True
    return not isinstance(data.node, cst.BaseExpression)


def decides_by_loss(value: Value) -> bool:
    """Whether a value is a callback that acts on a number of one process's share."""
    if not isinstance(value, Opaque) or not called_names(value):
        return False
    if called_names(value)[0] not in DECIDING:
        return False
    monitored = constant_of(value.arguments.get("monitor", 0), "loss")
    return not (isinstance(monitored, str) and monitored.startswith("acc"))


def losses(plan: Plan, event: Event) -> Iterator[Answer]:
    """What averaging makes of the loss that a model is prepared with."""
    loss = event.arguments.get("loss", 1)
    for value in loss.values if loss is not None else ():
        if isinstance(value, Constant):
            continue
        names = called_names(value)
        known = plan.table.quantities.loss_classes.get(names[0]) if names else None
        if known is not None and isinstance(value, Opaque):
            quantity = analysis(plan).loss_of_samples(known, value)
            if quantity.is_mean and not quantity.pending:
                continue
            if quantity.is_sum:
                yield refusal(event, "the loss is a sum over the batch, of which Paddle averages")
                continue
            weighed = "its mean is over the weights of targets, or over some of them"
            why = quantity.reason or (weighed if quantity.pending else "it is not reduced")
        else:
            why = "it is not known how it is reduced"
        yield Remark.warn(
            "PD904",
            event,
            f"the average over the processes may differ from the loss over the whole batch: {why}",
            "compare a run with one process",
        )


def summary(plan: Plan, event: Event) -> Iterator[Ruling]:
    """The answer about one call that prints the layers."""
    redirected = bool(redirected_to(event))
    yield Ruling.apply(
        "PD903",
        event,
        "the layers are printed once per job",
        data="summary",
        done=redirected or once_of(plan).ranks.some_ranks(event),
    )


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The share of the batch, and the noise; or the test around the print."""
    module, call = ruling.module, ruling.node
    source, names = module.source, plan.names_in(module)
    statement = insertion_place(module, call)
    assert statement is not None and isinstance(call, cst.Call)
    if ruling.data == "summary":
        yield from reported_once(plan, module, call.func)
        return
    if isinstance(ruling.data, Event):
        yield from single_batches.averaged(plan, ruling, ruling.data)
        return
    if draws_noise(plan):
        helper = "vary_all_random_numbers" if imports_random(plan) else "vary_random_numbers"
        yield Helper(helper, module)
        for edit in insert_before(source, statement, [f"{names.fresh(helper)}()"]):
            yield In(module, edit)
    if plan.options.batch_size == "per-device" or given_loader(plan, ruling):
        return
    yield from whole_batches(plan, ruling)
    yield Helper("split_batch", module)
    split = names.fresh("split_batch")
    size: Argument | None = ruling.data
    if size is None or not isinstance(size.node, cst.BaseExpression):
        changes = add_argument(source, call, f"batch_size={split}(1)")
    else:
        changes = wrap_expression(source, size.node, f"{split}(", ")")
    for edit in changes:
        yield In(module, edit)


def whole_batches(plan: Plan, ruling: Ruling) -> Iterator[Change]:
    """A loader in the place of a data set of which ``fit`` takes whole batches alone."""
    module = ruling.module
    for event in high_level(plan).fits:
        data = fit_argument(event, "train_data")
        if event.node is not ruling.node or not drops_last(event) or data is None:
            continue
        assert isinstance(data.node, cst.BaseExpression)
        words = []
        for name in ("batch_size", "shuffle", "num_workers"):
            given = fit_argument(event, name)
            if given is not None and given.node is not None:
                words.append(f", {name}={module.source.code(given.node)}")
        yield Helper("load_whole_batches", module)
        name = plan.names_in(module).fresh("load_whole_batches")
        for edit in wrap_expression(module.source, data.node, f"{name}(", "".join([*words, ")"])):
            yield In(module, edit)


def given_loader(plan: Plan, ruling: Ruling) -> bool:
    """Whether ``fit`` draws its batches from a loader of the script's."""
    loaders = {id(loader.value) for loader in high_level(plan).loaders}
    for event in high_level(plan).fits:
        if event.node is ruling.node:
            data = fit_argument(event, "train_data")
            return data is not None and any(id(value) in loaders for value in data.values)
    return False
