"""Warn of code within the backward pass that makes something else of gradients than a multiple.

What:
    A hook on a tensor, a parameter or a layer, and the ``backward`` of an own
    ``torch.autograd.Function``, that bounds gradients, takes their signs, divides them by their
    norm or the like is warned of, and so is a hook that prints or keeps what it sees of them, or
    one that changes what is kept for the backward pass by numbers of the whole tensor.
    Where calls of models are split, what stands outside of models sees whole batches, as before.

Why:
    DistributedDataParallel averages gradients after such code, each process having changed those
    of its own share of the batch. The average of bounded gradients is not the bounded average.
    Behind the backward pass gradients are those of all processes, and there it is right.

Before:
    for p in model.parameters():
        p.register_hook(lambda grad: grad.clamp(-1, 1))
    for x, y in train_loader:
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        optimizer.step()

After:
    for x, y in train_loader:
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        nn.utils.clip_grad_value_(model.parameters(), 1)
        optimizer.step()

Refuses when:
    never: it is a warning, as for losses that are not recognised.

Source:
    https://pytorch.org/docs/stable/generated/torch.Tensor.register_hook.html;
    https://pytorch.org/docs/stable/notes/ddp.html
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.values import Class, Function, Instance, Opaque, Values
from transpile.plan.data.data_code import body_of, called
from transpile.plan.hooks.changes import Kind, worst_change
from transpile.plan.hooks.functions import (
    handed_to_hooks,
    is_changed_by_hook,
    is_kept_by_hook,
    parameters_of,
)
from transpile.plan.model import Plan
from transpile.plan.models.learning import reached_by_losses
from transpile.plan.roles.surroundings import gradients_off, inside_module
from transpile.quantity.asking import Kind as Way
from transpile.quantity.asking import quantity
from transpile.rule import Answer, Remark

CODES = {"PT409": "gradients are changed before they are averaged"}

#: What takes a hook, to how many of the hook's arguments come before the gradients, and how many
#: it is given.
HOOKS = {
    "register_hook": (0, 1),
    "register_full_backward_hook": (1, 3),
    "register_backward_hook": (1, 3),
    "register_full_backward_pre_hook": (1, 2),
    "register_post_accumulate_grad_hook": (0, 1),
}

#: Functions that look at all elements of a tensor.
OVER = frozenset(
    {
        "max", "min", "amax", "amin", "aminmax", "mean", "sum", "std", "var", "norm", "median",
        "quantile", "kthvalue", "topk", "sort", "argsort", "cumsum", "cumprod", "softmax", "prod",
        "vector_norm", "matrix_norm", "normalize", "logsumexp", "svd", "svd_lowrank",
        "quantize_per_tensor_dynamic", "histc", "std_mean", "var_mean", "roll", "flip",
    }
)  # fmt: skip
#: What is made of samples, be it one number.
OF_SAMPLES = (Way.SAMPLE, Way.PART)


def decide(plan: Plan) -> Iterator[Answer]:
    """A warning for each hook, and for each function of the script's own, of this kind."""
    seen: set[int] = set()
    reached = reached_by_losses(plan)
    for event in plan.facts.reached_calls:
        if id(event.node) in seen:
            continue
        for callee in event.callee:
            if not isinstance(callee, Opaque) or callee.kind != "attribute":
                continue
            places = HOOKS.get(callee.name)
            if is_of_whole_batch(plan, event, callee):
                continue
            if places is not None and is_changed_by_hook(event, *places):
                seen.add(id(event.node))
                yield warning(event, after=callee.name == "register_post_accumulate_grad_hook")
            elif places is not None and (
                is_kept_by_hook(event, *places) or is_handed_samples(plan, event, callee)
            ):
                seen.add(id(event.node))
                yield warning(event, after=True)
            elif callee.name == "apply" and any(id(v) in reached for v in event.result):
                if not gradients_off(event.stack, plan.table) and is_bent(callee):
                    seen.add(id(event.node))
                    yield warning(event)
    for event in plan.facts.calls_to("torch.autograd.graph.saved_tensors_hooks"):
        if id(event.node) not in seen and looks_over_tensors(event):
            seen.add(id(event.node))
            yield Remark.warn(
                "PT409",
                event,
                "tensors are changed here before they are kept for the backward pass, by numbers "
                "of the whole tensor: in each process those are of its share of the batch",
                "keep the tensors as they are, or change each of their elements by itself",
            )


def looks_over_tensors(event: Event) -> bool:
    """Whether what packs or unpacks tensors takes numbers of all of their elements."""
    return any(
        isinstance(part, cst.Call)
        and isinstance(part.func, (cst.Attribute, cst.Name))
        and (part.func.attr if isinstance(part.func, cst.Attribute) else part.func).value in OVER
        for item in event.arguments.items
        for value in item.values
        for function in called(value)
        for part in body_of(function)
    )


def is_of_whole_batch(plan: Plan, event: Event, callee: Opaque) -> bool:
    """Whether a hook or function sees the gradient of a whole batch, as in one process.

    Where calls are split, that is what the outputs of models have outside of them.
    """
    if plan.way != "calls" or inside_module(event.stack, plan.table):
        return False
    if callee.name == "apply":
        tensors = [item.values for item in event.arguments.items]
    else:
        tensors = [callee.operands[0]] if callee.name == "register_hook" else []
    return any(quantity(plan, each).kind in OF_SAMPLES for each in tensors)


def is_handed_samples(plan: Plan, event: Event, callee: Opaque) -> bool:
    """Whether a hook has something of this process's samples at hand, as by a default.

    What it makes of gradients of the same samples is as right in each process as it is in one.
    """
    if any(quantity(plan, (one,)).kind is Way.SAMPLE for one in callee.operands[0]):
        return False
    return any(quantity(plan, (one,)).kind in OF_SAMPLES for one in handed_to_hooks(event))


def warning(event: Event, after: bool = False) -> Remark:
    """What is said of one place."""
    if after:
        return Remark.warn(
            "PT409",
            event,
            "gradients are looked at, or changed, within the backward pass, where they are those "
            "of one process's share, and only then averaged over the processes",
            "look at the gradients of the parameters between backward() and step(), where they are "
            "those of all processes",
        )
    return Remark.warn(
        "PT409",
        event,
        "gradients are changed within the backward pass, in another way than by a factor, and only "
        "then averaged over the processes",
        "change the gradients of the parameters between backward() and step(), where they are "
        "those of all processes",
    )


def is_bent(callee: Opaque) -> bool:
    """Whether ``Own.apply`` belongs to a class whose backward is no multiple for certain.

    ``Own().apply`` is the same, and so is that of a class that inherits its backward.
    """
    for owner in callee.operands[0]:
        cls = owner.cls if isinstance(owner, Instance) else owner
        for value in backward_of(cls) if isinstance(cls, Class) else ():
            if not isinstance(value, Function) or not isinstance(value.node, cst.FunctionDef):
                continue
            names = parameters_of(value.node)[1:]
            if worst_change(value.node, set(names)) is Kind.OTHERWISE:
                return True
    return False


def backward_of(cls: Class) -> Values:
    """What the name ``backward`` stands for in a class, or in the nearest that it derives from."""
    for ancestor in cls.ancestry():
        if isinstance(ancestor, Class) and ancestor.scope.names.get("backward"):
            return ancestor.scope.names["backward"]
    return ()
