"""Where the processes of a PyTorch script wait for each other."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.audit.meetings import Alone, Meeting, missed, skipped
from transpile.audit.model import Audit, Process
from transpile.facts.events import Branch, Event
from transpile.facts.interpreter import Facts
from transpile.facts.values import (
    Constant,
    External,
    Instance,
    Opaque,
    Value,
    Values,
)
from transpile.plan.graph import called_names, origin, walk_back
from transpile.plan.query import query
from transpile.plan.roles.surroundings import gradients_off
from transpile.rules.pytorch.agreement._steps import has_buffers
from transpile.rules.pytorch.audit import COLLECTIVES, FSDP

#: What every process must call, whatever group it is about.
ALWAYS = {
    "torch.distributed.new_group": "dist.new_group",
    "torch.distributed.init_process_group": "dist.init_process_group",
}
SYNC_BATCH_NORM = "torch.nn.SyncBatchNorm"
#: Functions that gather a state from all processes.
GATHERS = {
    "torch.distributed.checkpoint.state_dict.get_model_state_dict": "gathered state",
    "torch.distributed.checkpoint.state_dict.get_optimizer_state_dict": "gathered state",
    "torch.distributed.checkpoint.state_dict.get_state_dict": "gathered state",
    "torch.distributed.checkpoint.save": "distributed checkpoint",
    "torch.distributed.checkpoint.load": "distributed checkpoint",
    "torch.distributed.checkpoint.save_state_dict": "distributed checkpoint",
    "torch.distributed.checkpoint.load_state_dict": "distributed checkpoint",
    f"{FSDP}.optim_state_dict": "gathered state",
    f"{FSDP}.full_optim_state_dict": "gathered state",
}
#: Functions that spread the parameters of a model over all processes.
SHARDS = frozenset(
    {
        "torch.distributed.fsdp.fully_shard",
        "torch.distributed._composable.fsdp.fully_shard",
    }
)
#: Methods of Accelerate's object in which all processes take part.
OF_ACCELERATOR = frozenset(
    {
        "wait_for_everyone", "gather", "gather_for_metrics", "reduce", "backward",
        "load_state", "prepare", "pad_across_processes", "get_state_dict",
    }
)  # fmt: skip


@query
def meetings(audit: Audit, process: Process) -> list[Meeting]:
    """What a process does together with all others, in order."""
    found: list[Meeting] = []
    for event in process.facts.calls:
        found.extend(meetings_at(audit, process, event))
    return found


def meetings_at(audit: Audit, process: Process, event: Event) -> Iterator[Meeting]:
    """What of it one call is."""
    for callee in event.callee:
        if isinstance(callee, External):
            name = callee.name
            if name in COLLECTIVES and is_switched_off(process, event):
                continue
            if name in COLLECTIVES and not of_a_group(event):
                yield Meeting(event, name.replace("torch.distributed", "dist"), "call", (name,))
            elif name in ALWAYS:
                yield Meeting(event, ALWAYS[name], "call", (name,))
            elif name in audit.vocabulary.wraps:
                yield Meeting(event, f"making of a {name.rpartition('.')[2]}", "call", (name,))
            elif name in GATHERS:
                yield Meeting(event, GATHERS[name], "state", (name,))
        elif is_wrap(audit, callee):
            yield from forward(audit, event, callee)
        elif isinstance(callee, Opaque) and callee.kind == "attribute" and callee.operands:
            yield from method(audit, process, event, callee)
        elif id(getattr(origin(callee), "node", None)) in synchronised(audit, process):
            if is_training(process, event, origin(callee)):
                word = "call of a model with synchronised batch norm"
                yield Meeting(event, word, "forward", ("synchronised",))


@query
def synchronised(audit: Audit, process: Process) -> frozenset[int]:
    """The models whose batch norm works over all processes, by the place that makes them."""
    found: set[int] = set()
    for event in process.facts.calls_to(f"{SYNC_BATCH_NORM}.convert_sync_batchnorm"):
        for item in event.arguments.items[:1]:
            found.update(id(getattr(origin(value), "node", None)) for value in item.values)
    for event in process.facts.calls_to(SYNC_BATCH_NORM):
        for frame in event.calls():
            found.update(id(getattr(value, "node", None)) for value in frame.receiver)
    return frozenset(found - {id(None)})


def is_switched_off(process: Process, event: Event) -> bool:
    """Whether something is done where a model trains alone, and the model is evaluated."""
    if not any(
        isinstance(frame, Branch) and frame.arm == "then" and asks_training(frame.node)
        for frame in event.stack
    ):
        return False
    return any(
        not is_training(process, event, origin(value))
        for frame in event.calls()
        for value in frame.receiver
    )


def asks_training(node: cst.CSTNode) -> bool:
    """Whether a condition is ``self.training``."""
    return (
        isinstance(node, cst.If)
        and isinstance(node.test, cst.Attribute)
        and node.test.attr.value == "training"
    )


def is_training(process: Process, event: Event, model: Value) -> bool:
    """Whether a model is in training mode where it is called."""
    mode = "train"
    for order, word, switched in switches_of_mode(process.facts):
        if order >= event.order:
            break
        if any(model in unwrapped(value) for value in switched):
            mode = word
    return mode == "train"


@query
def switches_of_mode(facts: Facts) -> list[tuple[int, str, Values]]:
    """The calls of ``train`` and ``eval``: when they are made, which one, and of what."""
    return [
        (event.order, callee.name, callee.operands[0] if callee.operands else ())
        for event in facts.calls
        for callee in event.callee
        if isinstance(callee, Opaque) and callee.name in ("train", "eval")
    ]


def unwrapped(value: Value) -> list[Value]:
    """The models that may be behind a wrap."""
    behind = origin(value)
    if isinstance(behind, Opaque) and behind.kind == "call" and behind.arguments.items:
        if any(name.rpartition(".")[2].endswith("Parallel") for name in called_names(behind)):
            return [origin(one) for one in behind.arguments.items[0].values] or [behind]
    return [behind]


def of_a_group(event: Event) -> bool:
    """Whether only some processes are meant to take part: a group is named."""
    group = event.arguments.keyword("group")
    return group is not None and any(v != Constant(None) for v in group.values)


def is_wrap(audit: Audit, value: Value) -> bool:
    """Whether a value is a wrapped model."""
    return any(name in audit.vocabulary.wraps for name in called_names(origin(value)))


def wrapped(audit: Audit, values: Values) -> bool:
    """Whether one of several values is a wrapped model."""
    return any(is_wrap(audit, value) for value in values)


def forward(audit: Audit, event: Event, callee: Value) -> Iterator[Meeting]:
    """The call of a wrapped model."""
    key = ("forward", id(getattr(origin(callee), "node", None)))
    if FSDP in called_names(origin(callee)):
        yield Meeting(event, "call of a sharded model", "forward", key)
    elif not gradients_off(event.stack, audit.plan.table):
        yield Meeting(event, "call of a wrapped model", "forward", key)
    elif has_kept(audit, callee):
        yield Meeting(event, "call of a wrapped model that has buffers", "forward", key)


def has_kept(audit: Audit, wrap: Value) -> bool:
    """Whether the model in a wrap has, or may have, buffers."""
    behind = origin(wrap)
    assert isinstance(behind, Opaque)
    nodes = {id(getattr(origin(v), "node", None)) for v in behind.arguments.items[0].values}
    models = [m for m in audit.plan.models if id(getattr(m.value, "node", None)) in nodes]
    if any(has_buffers(audit.plan, model) for model in models):
        return True
    # What is made while a model is made belongs to it.
    return any(
        id(getattr(value, "node", None)) in nodes
        for event in audit.facts.calls
        if registers(event)
        for frame in event.calls()
        for value in frame.receiver
    )


def registers(event: Event) -> bool:
    """Whether a call keeps something beside the parameters of a model."""
    for callee in event.callee:
        if isinstance(callee, Opaque) and callee.name == "register_buffer":
            return True
        if isinstance(callee, External) and callee.name.startswith("torch.nn.BatchNorm"):
            return True
    return False


def method(audit: Audit, process: Process, event: Event, callee: Opaque) -> Iterator[Meeting]:
    """A method in which all processes take part."""
    receivers = callee.operands[0]
    name = callee.name
    if name == "backward" and passes_wrap(audit, receivers):
        yield Meeting(event, "backward pass", "training", ("backward",))
    elif name in OF_ACCELERATOR and any(
        "accelerate.Accelerator" in called_names(value) for value in receivers
    ):
        yield Meeting(event, f"accelerator.{name}", "call", (name,))
    elif name == "state_dict" and any(FSDP in called_names(origin(v)) for v in receivers):
        yield Meeting(event, "gathered state of a sharded model", "state", ("state_dict",))
    elif name == "full_tensor":
        yield Meeting(event, "gathering of a sharded tensor", "state", ("full_tensor",))
    elif name == "consolidate_state_dict":
        yield Meeting(event, "gathered state of an optimizer", "state", ("consolidate",))
    elif id(event.node) in wrapped_steps(audit):
        yield Meeting(event, "optimizer step", "training", ("step",))
    elif name == "load_state_dict" and loads_wrapped(audit, process, event, receivers):
        yield Meeting(event, "loading of weights into a wrapped model", "training", ("load",))


def passes_wrap(audit: Audit, values: Values) -> bool:
    """Whether values were computed by a wrapped model."""
    for value in walk_back(values, lambda v: not isinstance(v, Instance)):
        if isinstance(value, Opaque) and value.kind == "call" and wrapped(audit, value.callee):
            return True
    return False


def wraps_of(audit: Audit, process: Process) -> dict[int, list[Event]]:
    """Where each model is wrapped, by the identity of the place that makes the model."""
    found: dict[int, list[Event]] = {}
    for event in process.facts.calls_to(*audit.vocabulary.wraps):
        for item in event.arguments.items[:1]:
            for value in item.values:
                found.setdefault(id(getattr(origin(value), "node", None)), []).append(event)
    return found


@query
def wrapped_steps(audit: Audit) -> frozenset[int]:
    """The calls that step an optimizer of a wrapped model, by the identity of their nodes."""
    made = wraps_of(audit, audit.first)
    return frozenset(
        id(step.node)
        for optimizer in audit.plan.optimizers
        if any(id(getattr(model, "node", None)) in made for model in optimizer.modules)
        for step in optimizer.steps
    )


def loads_wrapped(audit: Audit, process: Process, event: Event, receivers: Values) -> bool:
    """Whether weights are loaded into a model that is wrapped already."""
    made = wraps_of(audit, process)
    for value in receivers:
        if is_wrap(audit, value):
            return True
        wraps = made.get(id(getattr(origin(value), "node", None)), ())
        if any(wrap.order < event.order for wrap in wraps):
            return True
    return False


@query
def missed_meetings(audit: Audit) -> list[Alone]:
    """The meetings that not all processes come to."""
    known = {id(process): meetings(audit, process) for process in audit.processes}
    found = list(missed(audit.first, audit.second, known))
    seen = {id(alone.meeting.event.node) for alone in found}
    others = (
        *missed(audit.first, audit.elsewhere, known),
        *skipped(audit.first, audit.second, known),
        *skipped(audit.second, audit.first, known),
    )
    for alone in others:
        if id(alone.meeting.event.node) not in seen:
            seen.add(id(alone.meeting.event.node))
            found.append(alone)
    return found
