"""Keep the gradient of each loss that of the global batch.

What:
    DistributedDataParallel averages gradients over the processes. That is right for a mean over
    equal shares of a batch, and nothing changes there. A sum is multiplied by the number of
    processes for the backward pass alone; where a sum and a mean are added up, only the sum. A
    mean by weights of classes, by a mask, or over the targets that are not left out is divided by
    the average of its denominator over the processes. The loss that a model of transformers gives,
    a mean over the labels other than -100, is weighed by how many of them this process has.

Why:
    The average of the sums of the shares is too small by the number of processes. The average of
    means over different numbers of targets weighs the targets of one process more than those of
    another.

Before:
    loss = (losses * mask).sum() / mask.sum()
    loss.backward()

After:
    loss = (losses * mask).sum() / reduce_mean(mask.sum())
    loss.backward()

Refuses when:
    the terms of a loss that mixes sums and means cannot be told apart in the text. A loss that
    couples the samples of a batch, or is not recognised, stays as it is, with a warning.

Source:
    https://pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html
    ("gradients are averaged"); https://pytorch.org/docs/stable/generated/
    torch.nn.CrossEntropyLoss.html on what its mean divides by.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.plan.model import Plan
from transpile.quantity.asking import Duty, Pending, describe
from transpile.records import replace
from transpile.result import Verdict
from transpile.rule import Answer, Change, Remark, Ruling, Rulings
from transpile.rules.pytorch.losses._chosen_values import chosen_by_share
from transpile.rules.pytorch.losses._kept_shares import kept_shares
from transpile.rules.pytorch.losses._loss_scaling import Need, Scaling, scalings
from transpile.rules.pytorch.losses._multiples import multiplied
from transpile.rules.pytorch.losses._reductions import obstacle, settled

#: Where calls are sharded, every rank has the whole batch.
WAYS = ("data",)
CODES = {
    "PT401": "the averaged gradients are those of the global batch",
    "PT402": "a loss is taken over the global batch",
    "PT403": "a loss may mean something else over the shares of a batch",
    "PT404": "the terms of a loss must be scaled one by one",
    "PT405": "a backward pass is never reached",
    "PT406": "training keeps something of one process's share of the batches",
    "PT417": "one process's share of a batch decides what a loss is made of",
}


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each backward pass."""
    for scaling in scalings(plan):
        yield from answers(plan, scaling)
    for event in kept_shares(plan):
        yield Remark.warn(
            "PT406",
            event,
            "what a loss depends on keeps here what this process alone has seen of the batch: it "
            "comes to differ between the processes",
            "gather or average over the processes what is kept",
        )

    for event in chosen_by_share(plan):
        yield Remark.warn(
            "PT417",
            event,
            "this asks what samples one process has in its share of the batch, and a loss or an "
            "optimizer is made of other values on each answer",
            "ask each sample for itself, or take the answer over the whole batch",
        )


def answers(plan: Plan, scaling: Scaling) -> Iterator[Answer]:
    """The answers about one backward pass."""

    def ruling(code: str, verdict: Verdict, reason: str, advice: str = "") -> Ruling:
        return Ruling(
            code,
            verdict,
            scaling.module,
            scaling.node,
            reason,
            advice,
            data=scaling,
            claims=(scaling.node,),
        )

    def warning(why: str, advice: str) -> Iterator[Answer]:
        yield Remark.warn("PT403", scaling, why, advice)
        yield ruling("PT403", Verdict.ALREADY_DONE, f"left as it is: {why}")

    if scaling.need is Need.UNREACHED:
        yield ruling("PT405", Verdict.ALREADY_DONE, "nothing in the script runs this backward pass")
        return
    if scaling.need is Need.NOTHING:
        word = describe(scaling.quantity)
        yield ruling("PT401", Verdict.ALREADY_DONE, f"the loss is a {word}: averaging is right")
        return
    if scaling.need is Need.UNTOLD:
        yield from warning(
            "the average over the processes may differ from the loss over the whole batch: "
            f"{scaling.reason}",
            "compare a run with one process, or gather what the loss compares from all processes",
        )
        return
    if scaling.need is Need.TANGLED:
        yield ruling(
            "PT404",
            Verdict.REFUSE,
            f"this loss adds sums to means over the batch, and {scaling.reason}",
            "multiply the summed term alone by the number of processes",
        )
        return
    hindered = {pending: obstacle(plan, pending) or rounds(pending) for pending in scaling.pending}
    why = next(filter(None, hindered.values()), "")
    if why:
        why = f"its denominator differs between the processes, and {why}"
        advice = "divide by the average of the denominator over the processes"
        if not scaling.terms and not scaling.degree:
            yield from warning(why, advice)
            return
        yield Remark.warn("PT403", scaling, why, advice)
        possible = tuple(pending for pending, why in hindered.items() if not why)
        scaling = replace(scaling, pending=possible)
    yield ruling("PT402", Verdict.APPLY, f"the loss is a {describe(scaling.quantity)}")


def rounds(pending: Pending) -> str:
    """Why a number cannot be averaged where it leaves the tensors; empty where it can."""
    call = pending.node
    if pending.duty is Duty.NUMBER and isinstance(call, cst.Call):
        if isinstance(call.func, cst.Name) and call.func.value in ("int", "round"):
            return "it is made a whole number"
    return ""


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The factor for the backward pass, and the denominators."""
    scaling: Scaling = ruling.data
    for pending in scaling.pending:
        yield from settled(plan, pending)
    for place, degree in scaling.terms:
        yield from multiplied(plan, place.module, place.node, degree)
    if scaling.degree:
        for place in scaling.losses:
            receiver = scaling.module.source.parent(place.node)
            is_receiver = receiver is scaling.node.func
            yield from multiplied(plan, place.module, place.node, scaling.degree, is_receiver)
