"""Split the calls of trained models over the processes, and leave whole batches to the script.

What:
    Every process draws the whole batch. The wrap of each trained model computes this process's
    rows of a call and returns the outputs of all rows, with gradients that can be differentiated
    again. Losses, numbers, decisions and state of the script stay as they are, on the values that
    one process has. The first batch must show that the rows of a model are apart.

Why:
    A loss that compares the samples of a batch, a statistic, a mined example or a replayed one is
    another one on a share of the batch. On whole batches all of them are those of one process,
    whatever the script does with them, and wherever it takes its batches from.

Before:
    model = Net()
    optimizer = paddle.optimizer.SGD(0.1, parameters=model.parameters())

After:
    model = Net()
    if dist.get_world_size() > 1:
        model = SplitCalls(model)
    optimizer = paddle.optimizer.SGD(0.1, parameters=model.parameters())

Refuses when:
    no trained model can have its calls split: it keeps something between its calls, does something
    else in training, or is trained by functions of gradients; the rows come from acting with the
    model, or are the same in every step and ``--shard calls`` is not given; with fleet or servers.

Source:
    https://www.paddlepaddle.org.cn/documentation/docs/en/api/paddle/autograd/PyLayer_en.html
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.backends.wrapping import home
from transpile.plan.data.batch_kinds import without_batch
from transpile.plan.model import Model, Plan
from transpile.plan.models.wraps import wrapped_already
from transpile.result import Verdict
from transpile.rule import Answer, Remark, Ruling
from transpile.rules.paddle.models._split_calls import whole_because

CODES = {
    "PD351": "the calls of trained models are split over the processes",
    "PD352": "no trained model can have its calls split",
    "PD353": "a trained model is computed whole by every process",
    "PD354": "the first batch must show that the samples of a model are apart",
    "PD355": "there is no batch whose rows could be sharded",
}
#: Where batches are sharded, calls are not.
WAYS = ("calls",)


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each backward pass, and what a reader must know of each model."""
    if plan.options.paddle_api == "fleet" or plan.options.mode != "auto":
        yield refusal(plan, "calls are split in dygraph with paddle.DataParallel alone")
        return
    if plan.options.batches == "broadcast":
        yield refusal(plan, "--batches broadcast is for PyTorch alone: every process draws them")
        return
    models = [model for model in plan.trained_models if not wrapped_already(plan, model)]
    if plan.trained_models and not models:
        yield from settled(plan, Verdict.ALREADY_DONE, "the calls of the models are split")
        return
    missing = [Ruling.refuse("PD355", event, *why) for event, why in without_batch(plan)]
    if missing or not models:
        yield from missing
        if not missing and any(backward.tensors for backward in plan.backwards):
            yield refusal(plan, "no call of a trained model can be split: no model is trained")
        return
    reasons = {id(model): whole_because(plan, model) for model in models}
    if all(reasons.values()):
        why = reasons[id(models[0])]
        yield refusal(plan, f"no call of a trained model can be split over the processes: {why}")
        return
    for model in models:
        yield remark(plan, model, reasons[id(model)])
    yield from settled(plan, Verdict.APPLY, "every process has the loss of the whole batch")


def refusal(plan: Plan, why: str) -> Ruling:
    """The refusal of a script whose calls cannot be split."""
    models = plan.trained_models
    module, node = home(plan, models[0]) if models else (plan.entry, plan.entry.source.tree)
    advice = (
        "keep the samples of a batch apart within the model and take their number from what it is "
        "given, or distribute it by hand"
    )
    return Ruling.refuse("PD352", (module, node), why, advice)


def settled(plan: Plan, verdict: Verdict, why: str) -> Iterator[Ruling]:
    """The answers for the backward passes, which claim the loaders that they draw from."""
    claims: tuple[cst.CSTNode, ...] = tuple(each.event.node for each in plan.backwards)
    claims += tuple(loader.event.node for loader in plan.training_loaders)
    for backward in plan.backwards:
        event = backward.event
        yield Ruling("PD351", verdict, event.module, event.node, why, claims=claims)


def remark(plan: Plan, model: Model, why: str) -> Remark:
    """What a reader must know of one model."""
    module, node = home(plan, model)
    if why:
        message = f"every process computes the calls of this model whole: {why}"
        return Remark.note("PD353", (module, node), message)
    message = (
        "whether this model keeps its samples apart is checked with the first batch, and the job "
        "stops where it does not"
    )
    return Remark.note("PD354", (module, node), message)
