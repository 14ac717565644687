"""Split the calls of trained models over the processes, and leave whole batches to the script.

What:
    Every process draws the whole batch. The wrap of each trained model whose samples are apart
    computes this process's rows of a call and returns the outputs of all rows, with gradients.
    Losses, numbers, decisions and state of the script stay as they are, on the values that one
    process has. A model whose samples are not apart is computed whole by every process.

Why:
    A loss that compares the samples of a batch, a statistic, a mined example or a replayed one is
    another one on a share of the batch. On whole batches all of them are those of one process,
    whatever the script does with them.

Before:
    model = Net().to(device)
    optimizer = SGD(model.parameters(), lr=0.1)

After:
    model = Net().to(device)
    if get_world_size() > 1:
        model = SplitCalls(model)
    optimizer = SGD(model.parameters(), lr=0.1)

Refuses when:
    no trained model keeps its samples apart; the rows come from acting with the model (on-policy
    reinforcement learning), or are the same in every step and ``--shard calls`` is not given.

Source:
    https://pytorch.org/docs/stable/notes/extending.html#extending-torch-autograd,
    https://pytorch.org/docs/stable/notes/ddp.html (the average of the gradients)
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.plan.data.batch_kinds import without_batch
from transpile.plan.model import Backward, Model, Plan
from transpile.plan.models.wraps import wrapped_already
from transpile.rule import Answer, Remark, Ruling
from transpile.rules.pytorch.gradients._averaging import averaged_already
from transpile.rules.pytorch.models._split.calls import (
    NOTHING_GIVEN,
    Split,
    split_of,
    whole_beside,
)
from transpile.rules.pytorch.models._split.methods import splits_methods, splits_of

CODES = {
    "PT351": "the calls of trained models are split over the processes",
    "PT352": "no trained model can have its calls split",
    "PT353": "a trained model is computed whole by every process",
    "PT354": "the first batch must show that the samples of a model are apart",
    "PT355": "there is no batch whose rows could be sharded",
}
#: Where batches are sharded, calls are not.
WAYS = ("calls",)


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each backward pass, and one for each model that is no plain case."""
    if plan.trained_models and all(is_distributed(plan, each) for each in plan.trained_models):
        for backward in plan.backwards:
            yield Ruling.done(
                "PT351", backward.event, "the calls of the models are split", claims=claims(plan)
            )
        return
    found = without_batch(plan, lambda backward: is_decided(plan, backward))
    missing = [Ruling.refuse("PT355", event, *why) for event, why in found]
    if missing:
        yield from missing
        return
    if not plan.trained_models and any(backward.tensors for backward in plan.backwards):
        reason = "no call of a trained model can be split over the processes: no model is trained"
        advice = "put what is trained into a torch.nn.Module"
        yield from (Ruling.refuse("PT352", each.event, reason, advice) for each in plan.backwards)
        return
    splits = [split_of(plan, model) for model in plan.trained_models]
    by_method = [each.model for each in splits if splits_methods(plan, each.model)]
    splits = [each for each in splits if each.model not in by_method]
    split = [*by_method, *(each for each in splits if not each.whole_because)]
    if splits and not split:
        first = splits[0]
        module, node = first.rows.module, first.rows.node
        if module is None or node is None:
            module, node = plan.entry, plan.entry.source.tree
        yield Ruling.refuse(
            "PT352",
            (module, node),
            f"no call of a trained model can be split over the processes: {why_none(plan, first)}",
            "keep the samples of a batch apart within the model, or distribute it by hand",
        )
        return
    for each in splits:
        yield from remarks(plan, each)
    # One wrap serves all models that may stand in a variable.
    any_is_split = any(
        isinstance(each, Model) or not whole_beside(plan, each.model) for each in split
    )
    for backward in plan.backwards:
        yield Ruling.apply(
            "PT351" if any_is_split else "PT353",
            backward.event,
            "every process has the loss of the whole batch",
            claims=claims(plan),
        )


def is_decided(plan: Plan, backward: Backward) -> bool:
    """Whether it is shown of all models that a loss is made by whether they keep rows apart.

    The same rows in every step, as those of one graph, often meet: they are shared out where that
    is known to be right, or where it is asked for.
    """
    return all(split_of(plan, model).rows.verdict != "check" for model in backward.models)


def why_none(plan: Plan, first: Split) -> str:
    """Why nothing is split, where a first model is not."""
    methods = splits_of(plan, first.model)
    reason: str = first.whole_because
    if not methods or methods[0].whole_because == reason:
        return reason
    name, why = methods[0].function.name, methods[0].whole_because
    if name == "forward":
        return f"{reason}, and its 'forward' is not split: {why}"
    return f"'{name}', which training goes through: {why}"


def is_distributed(plan: Plan, model: Model) -> bool:
    """Whether the script itself averages the gradients of a model, by a wrap or by hand."""
    return wrapped_already(plan, model) or averaged_already(plan, model)


def claims(plan: Plan) -> tuple[cst.CSTNode, ...]:
    """The backward passes, and the loaders that they draw from."""
    backwards = (backward.event.node for backward in plan.backwards)
    return (*backwards, *(loader.event.node for loader in plan.training_loaders))


def remarks(plan: Plan, split: Split) -> Iterator[Remark]:
    """What a reader must know of one model."""
    module, node = split.rows.module, split.rows.node
    if module is None or node is None:
        module = getattr(split.model.value, "module", plan.entry)
        node = getattr(split.model.value, "node", plan.entry.source.tree)
    beside = whole_beside(plan, split.model)
    told = {each.whole_because for each in splits_of(plan, split.model)} - {NOTHING_GIVEN}
    if (split.whole_because and not told) or beside:
        yield Remark.note(
            "PT353",
            (module, node),
            f"every process computes the calls of this model whole: "
            f"{split.whole_because or beside}",
        )
    elif split.rows.verdict == "check":
        yield Remark.note(
            "PT354",
            (module, node),
            "whether this model keeps its samples apart is checked with the first batch, and the "
            f"job stops where it does not: {split.rows.reason}",
        )
