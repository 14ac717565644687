"""Wrap every trained model in DistributedDataParallel.

What:
    Each model that an optimizer updates and a backward pass goes through is wrapped once it is on
    its device, loaded and frozen, and before its first use in training. Batch norm layers take
    their statistics over all processes where the batch of one process shrinks and there are GPUs.
    In a single process the model stays as it is.

Why:
    Without the wrap the processes' gradients are never averaged and each trains a model of its
    own. Wrapped too early, parameters that move or freeze later are not the ones synchronised.

Before:
    model = Net().to(device)
    optimizer = SGD(model.parameters(), lr=0.1)

After:
    model = Net().to(device)
    if get_world_size() > 1:
        model = DistributedDataParallel(model)
    optimizer = SGD(model.parameters(), lr=0.1)

Refuses when:
    no variable holds the model from where it is ready to where it is called, or it is moved away
    and back while it trains, and its gradients cannot be averaged by hand; the model is trained
    through a method other than its call; its gradients are taken by hand; parameters that are
    frozen when it is wrapped learn later, and reentrant activation checkpoints keep the wrap from
    asking which take part.

Source:
    https://pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html,
    https://pytorch.org/docs/stable/generated/torch.nn.SyncBatchNorm.html
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.backends.wrapping import (
    by_hand,
    claims,
    hidden,
    home,
    merged,
    untraced,
    wrapped,
    written,
)
from transpile.facts.events import Call
from transpile.facts.values import Instance
from transpile.facts.walk import descendants
from transpile.finding import Level
from transpile.layout.calls import written_call
from transpile.layout.lines import statement_indentation
from transpile.plan.flow.gate import hidden_training
from transpile.plan.graph import is_instance_of, origin
from transpile.plan.model import Backward, Model, Plan
from transpile.plan.models.absent import world_test
from transpile.plan.models.frozen import unfrozen_later
from transpile.plan.models.second_passes import second_pass
from transpile.plan.models.wraps import Wrap, find_wrap, wrapped_already
from transpile.plan.query import query
from transpile.rule import Answer, Change, Helper, Remark, Ruling, Rulings
from transpile.rules.pytorch.devices._model_places import model_place
from transpile.rules.pytorch.gradients._averaging import (
    averaged_already,
    averaged_by_hand,
    averagings,
)
from transpile.rules.pytorch.gradients._compression import hook_lines
from transpile.rules.pytorch.models._batch_norm import has_batch_norm
from transpile.rules.pytorch.models._bypasses import bypasses
from transpile.rules.pytorch.models._data_parallel import replaces_data_parallel
from transpile.rules.pytorch.models._split.calls import split_arguments, split_kind, split_of
from transpile.rules.pytorch.models._split.methods import splits_methods
from transpile.rules.pytorch.models._unused.search import (
    learns_by_several_passes,
    may_leave_parameters_out,
    may_search_for_unused,
)

CODES = {
    "PT301": "a trained model is wrapped",
    "PT302": "a trained model cannot be wrapped",
    "PT303": "a model is trained through something other than its call",
    "PT304": "gradients are taken by hand",
    "PT305": "training is hidden in a call that cannot be analysed",
    "PT306": "an optimizer's parameters cannot be traced to a model",
    "PT308": "a backward pass goes through no model that learns",
    "PT309": "frozen parameters learn after the model is wrapped",
    "PT307": "batch norm takes its statistics per process",
}
LEAVES = ("none", "horovod")


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each variable that holds a trained model."""
    yield from refusals(plan)
    wraps: dict[tuple[int, str], list[Wrap]] = {}
    for model in plan.trained_models:
        module, node = home(plan, model)
        if averaged_already(plan, model) or wrapped_already(plan, model):
            if plan.options.strategy != "ddp":
                continue
            yield Ruling.done(
                "PT301",
                (module, node),
                "the gradients of the model are averaged",
                claims=claims(model),
            )
            continue
        if averaged_by_hand(plan, model):
            continue
        # Where calls are split, what bypasses the wrapper is computed whole by every process.
        for event, why in bypasses(plan, model) if plan.way == "data" else ():
            yield Ruling.refuse(
                "PT303",
                event,
                why,
                "call the model itself in training, so that DistributedDataParallel sees it",
            )
        found = find_wrap(plan, model)
        if not isinstance(found, str) and learns_by_several_passes(plan, model):
            found = (
                "each of several calls before a backward pass may leave other layers out, of which "
                "DistributedDataParallel takes the first for all"
            )
        if isinstance(found, str):
            own = [trains_itself(plan, b) for b in plan.backwards if model in b.models]
            if any(own):
                found = f"it trains itself, in a method of '{next(filter(None, own))}'"
            by_hand = averagings(plan, model)
            assert isinstance(by_hand, str)
            yield Ruling.refuse(
                "PT302",
                (module, node),
                f"this model learns but cannot be wrapped: {found}; nor can its gradients be "
                f"averaged by hand: {by_hand}",
                (
                    "add the losses up, and go back through them once"
                    if second_pass(plan, model) is not None
                    else "keep the model in one variable from its making to its calls"
                ),
            )
            continue
        unfrozen = unfrozen_later(plan, model, found.order)
        thaws = plan.options.strategy == "ddp" and may_search_for_unused(plan)
        if unfrozen is not None and not (found.thawed and thaws):
            yield Ruling.refuse(
                "PT309",
                unfrozen,
                "parameters that are frozen when the model is wrapped may learn from here on, and "
                "the wrap would not average their gradients",
                "leave out activation checkpoints that are reentrant, or freeze by a learning rate "
                "of 0",
            )
            continue
        if plan.options.strategy == "ddp":
            wraps.setdefault((id(found.node), found.text), []).append(found)
    for group in wraps.values():
        wrap = merged(group)
        yield wrapped(wrap, f"'{wrap.text}' is wrapped here", "PT301")
        yield from batch_norm_remarks(plan, wrap)


def refusals(plan: Plan) -> Iterator[Answer]:
    """Training that no wrap would synchronise."""
    yield from by_hand(plan, "PT304")
    for value in hidden_training(plan):
        yield hidden(value, "PT305")
    yield from untraced(plan.optimizers, "PT306")
    for backward in plan.backwards:
        if backward.event.detached or any(model.trained for model in backward.models):
            continue
        if backward.tensors:
            continue
        owner = trains_itself(plan, backward)
        if owner:
            reason = (
                f"the model trains itself: this backward pass stands in a method of '{owner}', so "
                "that its forward pass goes past any wrap around the model"
            )
            advice = "move the training step out of the model, and call the model there"
        else:
            reason = (
                "this backward pass goes through no model that an optimizer updates, so nothing "
                "would average its gradients over the processes"
            )
            advice = (
                "put what is trained into a torch.nn.Module whose parameters an optimizer holds"
            )
        yield Ruling.refuse("PT308", backward.event, reason, advice)


def trains_itself(plan: Plan, backward: Backward) -> str:
    """The class of the model in whose own method a backward pass stands; empty where in none."""
    for frame in reversed(backward.event.stack):
        if isinstance(frame, Call):
            for value in frame.receiver:
                if isinstance(value, Instance) and is_instance_of(value, plan.table.module_bases):
                    return value.cls.name
    return ""


def batch_norm_remarks(plan: Plan, wrap: Wrap) -> Iterator[Remark]:
    """A word on batch norm where its statistics stay those of one process."""
    has_it = [has_batch_norm(plan, model) for model in models_held(plan, wrap)]
    if plan.options.leave != "none" or computed_whole(plan, wrap):
        return
    if plan.options.sync_batch_norm != "off":
        place = model_place(plan)
        if synchronises(plan, wrap) and place != "cuda":
            what = "batch norm" if any(has_it) else "batch norm, if this model has any,"
            stays = "this model stays" if place == "cpu" else "what is chosen may leave this model"
            yield Remark(
                "PT307",
                Level.WARNING if any(has_it) and place == "cpu" else Level.NOTE,
                wrap.module,
                wrap.node,
                f"{what} takes its statistics from the rows of each process: PyTorch synchronises "
                f"it on GPUs alone, and {stays} on the CPU",
                "train on GPUs, or use a norm that looks at one sample, such as GroupNorm",
            )
        elif synchronises(plan, wrap) and any(has_it) and asks_for_gpu(plan):
            yield Remark.note(
                "PT307",
                wrap,
                "where there is no GPU, batch norm takes its statistics from the rows of each "
                "process: PyTorch synchronises it on GPUs alone",
            )
        return
    if any(has_it):
        yield Remark.warn(
            "PT307",
            wrap,
            "batch norm takes its statistics from the batch of each process, which is smaller than "
            "the script's",
            "--sync-bn auto takes them over all processes on GPUs",
        )


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The wrap, under the condition that there are several processes."""
    wrap: Wrap = ruling.data
    yield Helper("get_world_size", wrap.module)
    world_size = plan.names_in(wrap.module).fresh("get_world_size")
    lines = [world_test(plan, wrap, f"{world_size}()")]
    if synchronises(plan, wrap):
        if split_arguments_of(plan, wrap) is None:
            torch = plan.names_in(wrap.module).imported("torch", "torch")
            convert = f"{torch}.nn.SyncBatchNorm.convert_sync_batchnorm"
        else:
            # Copies of what is split are run whole: they must not count the rows of all ranks.
            yield Helper("synchronise_norms", wrap.module)
            convert = plan.names_in(wrap.module).fresh("synchronise_norms")
        lines += [
            f"    if next({wrap.text}.parameters()).is_cuda:",
            f"        {wrap.text} = {convert}({wrap.text})",
        ]
    inner = f"{wrap.text}.module" if replaces_data_parallel(plan, wrap) else wrap.text
    arguments = [inner]
    if wrap.thawed:
        yield Helper("wrap_thawed", wrap.module)
        wrap_in = plan.names_in(wrap.module).fresh("wrap_thawed")
    else:
        wrap_in = wrap_class(plan, wrap, arguments)
        if split_arguments_of(plan, wrap) is not None:
            yield Helper(split_helper(plan, wrap), wrap.module)
        if plan.options.leave != "none":
            if any(has_batch_norm(plan, model) is not False for model in wrap.models):
                # Each process goes on with the statistics of its own batches, as it did.
                arguments.append("broadcast_buffers=False")
        if any(may_leave_parameters_out(plan, model) for model in wrap.models):
            arguments.append("find_unused_parameters=True")
    source = wrap.module.source
    indentation = len(statement_indentation(source, wrap.node))
    call = written_call(f"{wrap.text} = {wrap_in}", arguments, indentation + 4)
    lines += [f"    {line}" for line in call]
    lines += [f"    {line}" for line in hook_lines(plan, wrap, indentation + 4)]
    yield from written(wrap, lines)


def split_arguments_of(plan: Plan, wrap: Wrap) -> list[str] | None:
    """What the wrap is told of the rows of a model whose calls are split; None for others."""
    return split_arguments(plan, wrap) if plan.way == "calls" and not wrap.thawed else None


def split_helper(plan: Plan, wrap: Wrap) -> str:
    """The wrap that splits calls."""
    kind: str = split_kind([split_of(plan, model).rows for model in wrap.models], "Calls")
    return kind


def wrap_class(plan: Plan, wrap: Wrap, arguments: list[str]) -> str:
    """The name of the class that a model is wrapped in; its arguments are added to the list."""
    own = split_arguments_of(plan, wrap)
    if own is None:
        return plan.names_in(wrap.module).imported(
            "torch.nn.parallel.DistributedDataParallel", "DistributedDataParallel"
        )
    arguments.extend(own)
    return plan.names_in(wrap.module).fresh(split_helper(plan, wrap))


def synchronises(plan: Plan, wrap: Wrap) -> bool:
    """Whether batch norm is to take its statistics over all processes."""
    if plan.options.sync_batch_norm == "off":
        return False
    if plan.options.sync_batch_norm == "auto" and plan.options.batch_size == "per-device":
        return False
    if computed_whole(plan, wrap):
        return False
    return any(has_batch_norm(plan, model) is not False for model in models_held(plan, wrap))


def asks_for_gpu(plan: Plan) -> bool:
    """Whether the script goes on without a GPU where there is none."""
    return bool(plan.facts.calls_to("torch.cuda.is_available"))


def computed_whole(plan: Plan, wrap: Wrap) -> bool:
    """Whether every process computes all rows of the calls of what is wrapped."""
    return (
        plan.way == "calls"
        and split_arguments_of(plan, wrap) is None
        and not any(splits_methods(plan, model) for model in models_held(plan, wrap))
    )


@query
def models_held(plan: Plan, wrap: Wrap) -> list[Model]:
    """The models that may be in the variable of a wrap, those that are averaged by hand, too."""
    scope = wrap.function.body if wrap.function is not None else wrap.module.source.tree
    held = {
        id(origin(value))
        for node in descendants(scope)
        if isinstance(node, (cst.Name, cst.Attribute))
        and wrap.module.source.code(node) == wrap.text
        for value in plan.facts.values_of(node)
    }
    others = [model for model in plan.trained_models if id(model.value) in held]
    return [*wrap.models, *(model for model in others if model not in wrap.models)]
