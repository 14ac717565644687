"""Find models whose gradients the processes do not average, or average wrongly.

What:
    Each model that learns is looked for among those that are wrapped, and each of its calls in
    training among those of the wrap. Losses whose average over the processes is not the loss of the
    global batch are warned about.

Why:
    The wrap averages gradients during the backward pass of its own call alone. A model that is not
    wrapped, or called past its wrap, learns on each process from that one's data: nothing fails,
    and the models diverge.

Before:
    loss = criterion(model.module(images), labels)

After:
    loss = criterion(model(images), labels)

Refuses when:
    a model that learns is never wrapped and nothing averages its gradients, it is called past its
    wrap, or an optimizer was made before its parameters were sharded.

Source:
    https://pytorch.org/docs/stable/notes/ddp.html
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.audit.model import Audit
from transpile.facts.events import Event, Loop
from transpile.facts.module import Module
from transpile.facts.values import Class, External, Instance, Opaque, Value, Values
from transpile.facts.walk import descendants
from transpile.plan.graph import method_calls, origin, walk_back
from transpile.plan.model import Model
from transpile.plan.models.learning import training_forwards
from transpile.plan.roles.models import holds
from transpile.plan.roles.surroundings import inside_module
from transpile.rule import Remark
from transpile.rules.pytorch.audit import COLLECTIVES, FSDP
from transpile.rules.pytorch.audit._data import engines
from transpile.rules.pytorch.audit._losses import (
    is_by_batch,
    is_summed,
    reduction_of,
    set_of_forwards,
)
from transpile.rules.pytorch.audit._meetings import SHARDS, wrapped, wraps_of
from transpile.rules.pytorch.audit._splits import splits_calls
from transpile.rules.pytorch.gradients._accumulation import is_in, steps_of, windows
from transpile.rules.pytorch.gradients._window_tests import Window
from transpile.rules.pytorch.losses._loss_scaling import Need, Scaling, scalings

CODES = {
    "AU301": "a model that learns is not wrapped",
    "AU302": "a model is called past its wrap",
    "AU303": "an optimizer was made before its parameters were sharded",
    "AU304": "the averaged loss is not that of the global batch",
    "AU305": "gradients are averaged at every batch of an accumulation",
}
SUM = "a sum over the batch: the average is too small by the number of processes"
ADVICE = (
    "multiply a sum by the number of processes for the backward pass, or divide by the "
    "average of the denominator over the processes"
)
MEAN = (
    "a mean over a number, such as that of targets or weights, that may differ between them: where "
    "it does, the average is not the gradient of the global batch"
)


def decide(audit: Audit) -> Iterator[Remark]:
    """One remark for each model, call, optimizer and loss."""
    if engines(audit) or averages_by_hand(audit) or audit.facts.calls_to(*SHARDS):
        return
    wraps = wraps_of(audit, audit.first)
    known = {id(getattr(model.value, "node", None)) for model in audit.plan.models}
    strange = any(key not in known for key in wraps)
    for model in audit.plan.trained_models:
        events = wraps.get(id(getattr(model.value, "node", None)), [])
        if events:
            yield from passed(audit, model, events)
        elif not strange and not part_of_wrapped(audit, model, wraps):
            yield from unwrapped(audit, model)
    yield from sharded_later(audit, wraps)
    if wraps and not audit.errors_only and not splits_calls(audit):
        yield from losses(audit)


def unwrapped(audit: Audit, model: Model) -> Iterator[Remark]:
    """A model that nothing wraps."""
    node = getattr(model.value, "node", None)
    module = getattr(model.value, "module", None)
    forwards = training_forwards(audit.plan, model)
    if node is None or module is None or not any(audit.on_all_ways(e) for e in forwards):
        return
    yield Remark.error(
        "AU301",
        (module, node),
        "this model learns on each process from that one's data alone: nothing averages its "
        "gradients, and the models diverge",
        "wrap it in DistributedDataParallel before its first forward",
    )


def averages_by_hand(audit: Audit) -> bool:
    """Whether the script averages gradients or parameters itself.

    What a model computes is none of them, though they are behind it.
    """
    others = set_of_forwards(audit) | {id(one.value) for one in audit.plan.optimizers}

    def enters(value: Value) -> bool:
        return id(value) not in others and reduction_of(value) is None

    for event in audit.facts.calls_to(*COLLECTIVES):
        for item in event.arguments.items:
            for value in walk_back(item.values, enters):
                if isinstance(value, Opaque) and value.kind == "attribute":
                    if value.name == "grad":
                        return True
                    if value.name == "data" and is_of_model(audit, value.operands[0]):
                        return True
                if any(name in PARAMETERS for name, _ in method_calls(value)):
                    return True
    return False


def is_of_model(audit: Audit, values: Values) -> bool:
    """Whether values are weights as a model or its layers have them as attributes."""
    models = {id(getattr(model.value, "node", None)) for model in audit.plan.models}
    while len(values) == 1:
        value = origin(values[0])
        if id(getattr(value, "node", None)) in models or isinstance(value, Instance):
            return True
        if not isinstance(value, Opaque) or value.kind not in ("attribute", "item", "element"):
            return False
        values = value.operands[0]
    return False


PARAMETERS = ("parameters", "named_parameters", "state_dict", "buffers")


def part_of_wrapped(audit: Audit, model: Model, wraps: dict[int, list[Event]]) -> bool:
    """Whether a model is a part of one that is wrapped."""
    return any(
        id(other.value.node) in wraps and holds(other.value, model.value, audit.plan.table)
        for other in audit.plan.models
        if isinstance(other.value, Instance)
    )


def passed(audit: Audit, model: Model, wraps: list[Event]) -> Iterator[Remark]:
    """The calls of a wrapped model in training that do not go through the wrap."""
    first = min(wrap.order for wrap in wraps)
    found = False
    for event in training_forwards(audit.plan, model):
        here = audit.first.events_at.get(id(event.node), [])
        calls = [e for e in here if e.kind == "call" and e.order > first]
        if not calls or any(wrapped(audit, callees(e)) for e in calls):
            found = found or bool(calls)
            continue
        if any(inside_module(e.stack, audit.plan.table) for e in calls):
            continue
        if not audit.on_all_ways(event):
            continue
        found = True
        yield Remark.error(
            "AU302",
            event,
            "this call goes past the wrap of the model: its gradients stay each process's own, and "
            "the models diverge",
            "call the wrapped model",
        )


def callees(event: Event) -> Values:
    """What a call calls, the object of a ``forward`` included."""
    found: list[Value] = list(event.callee)
    for value in event.callee:
        if isinstance(value, Opaque) and value.kind == "attribute" and value.name == "forward":
            found.extend(value.operands[0])
    return tuple(found)


def sharded_later(audit: Audit, wraps: dict[int, list[Event]]) -> Iterator[Remark]:
    """Optimizers of parameters that are sharded afterwards."""
    for optimizer in audit.plan.optimizers:
        made = audit.first.events_at.get(id(optimizer.event.node), [])
        for owner in optimizer.modules:
            for wrap in wraps.get(id(getattr(owner, "node", None)), ()):
                sharded = any(isinstance(c, External) and c.name == FSDP for c in wrap.callee)
                if sharded and made and made[0].order < wrap.order:
                    yield Remark.error(
                        "AU303",
                        optimizer.event,
                        "this optimizer holds the parameters as they were before the model was "
                        "sharded: what it updates is not what is trained",
                        "make the optimizer from the sharded model",
                    )


def losses(audit: Audit) -> Iterator[Remark]:
    """Losses whose average over processes means something else, and needless averaging."""
    for scaling in scalings(audit.plan):
        if scaling.need in (Need.NOTHING, Need.UNREACHED) or not audit.on_all(scaling.node):
            continue
        if scaling.need is Need.UNTOLD:
            if is_summed(audit, losses_at(audit, scaling.node)):
                if not gathers_batch(audit, scaling.node):
                    yield summed_loss(scaling)
            continue
        summed = bool(scaling.degree or scaling.terms)
        if summed and averaged_over_rounds(audit, scaling.node):
            continue
        if summed and gathers_batch(audit, scaling.node):
            continue
        if summed and is_by_batch(audit, losses_at(audit, scaling.node)):
            continue
        # Whether denominators differ is in the data.
        yield (Remark.warn if summed else Remark.note)(
            "AU304",
            scaling,
            "the gradients of this loss are averaged over the processes, but it is "
            + (SUM if summed else MEAN),
            ADVICE,
        )
    happening = (*audit.facts.events, *audit.first.facts.events)
    if any(without_averaging(event) for event in happening):
        return
    for model in audit.plan.trained_models:
        found = {
            id(node): (module, node)
            for module, node in (
                *(asked_at(window) for window in windows(audit.plan, model)),
                *rounds_of(audit, model),
            )
        }
        for place in found.values():
            yield Remark.note(
                "AU305",
                place,
                "gradients are averaged over the processes for every batch of an accumulation; "
                "once before the optimizer steps is enough",
                "run the other batches under model.no_sync()",
            )


def asked_at(window: Window) -> tuple[Module, cst.CSTNode]:
    """Where an accumulation asks whether the optimizer steps, or its loop."""
    return window.module, window.test.test if window.test is not None else window.loop.node


def rounds_of(audit: Audit, model: Model) -> Iterator[tuple[Module, cst.CSTNode]]:
    """The loops that run backward several times for one step, without a loader's batches."""
    steps = steps_of(model)
    for backward in audit.plan.backwards:
        loops = list(backward.event.loops())
        if backward.loaders or model not in backward.models or len(loops) < 2:
            continue
        inner, outer = loops[-1], loops[-2]
        in_round = any(is_in(step, inner) for step in steps)
        if not in_round and any(is_in(step, outer) for step in steps):
            yield inner.module, inner.node


def losses_at(audit: Audit, node: cst.CSTNode) -> Values:
    """What one backward pass is called on, in all contexts."""
    return tuple(
        value
        for backward in audit.plan.backwards
        if backward.event.node is node
        for value in backward.loss
    )


def summed_loss(scaling: Scaling) -> Remark:
    """What to say of a loss that is a sum as it is written, of whatever is in the batch."""
    return Remark.warn(
        "AU304",
        scaling,
        "the gradients of this loss are averaged over the processes, but it is " + SUM,
        ADVICE,
    )


def averaged_over_rounds(audit: Audit, node: cst.CSTNode) -> bool:
    """Whether a loss is divided by the rounds of a loop around its backward pass."""
    for backward in audit.plan.backwards:
        event = backward.event
        if event.node is not node:
            continue
        rounds = [
            value
            for frame in event.stack
            if isinstance(frame, Loop) and isinstance(frame.node, cst.For)
            if isinstance(frame.node.iter, cst.Call) and len(frame.node.iter.args) == 1
            for value in audit.facts.values_of(frame.node.iter.args[0].value)
        ]
        for value in walk_back(event.callee):
            if isinstance(value, Opaque) and value.name in ("Divide", "DivideAssign"):
                if any(one in rounds for one in value.operands[1]):
                    return True
    return False


def gathers_batch(audit: Audit, node: cst.CSTNode) -> bool:
    """Whether a loss is computed of the batches of all processes, gathered with their gradients.

    Every process has the loss of the global batch then.
    """
    return any(
        is_gathering(value)
        for backward in audit.plan.backwards
        if backward.event.node is node
        for value in walk_back(backward.event.callee)
    )


def is_gathering(value: Value) -> bool:
    """Whether a value is what a function with a backward pass of its own gathers."""
    if not isinstance(value, Opaque) or value.kind != "call":
        return False
    for callee in value.callee:
        if isinstance(callee, External) and callee.name == "torch.distributed.nn.all_gather":
            return True
        if isinstance(callee, Opaque) and callee.name == "apply" and callee.operands:
            if any(isinstance(one, Class) and has_gather(one) for one in callee.operands[0]):
                return True
    return False


def has_gather(function: Class) -> bool:
    """Whether a class is a function with a backward pass of its own that gathers."""
    if "torch.autograd.Function" not in function.external_bases():
        return False
    return any(
        isinstance(node, cst.Attribute) and node.attr.value.startswith("all_gather")
        for node in descendants(function.node)
    )


def without_averaging(event: Event) -> bool:
    """Whether an event keeps gradients from being averaged for now."""
    if event.kind == "store":
        return event.name == "require_backward_grad_sync"
    return event.kind == "call" and any(
        isinstance(c, Opaque) and c.name in ("no_sync", "set_requires_gradient_sync")
        for c in event.callee
    )
