"""Train each process on its own GPU.

What:
    Whatever device the script makes, a process that was started with others takes the GPU of its
    local rank. Without a launcher the device is the script's own.

Why:
    All processes of a machine would train on one GPU, or on the CPU, where gradients cannot be
    added up: SINGA does that by NCCL.

Before:
    dev = device.create_cuda_gpu_on(0)

After:
    dev = own_gpu() or device.create_cuda_gpu_on(0)

Refuses when:
    one process makes several devices, or the script hides GPUs, all of which each process must see.

Source:
    https://singa.apache.org/docs/device/
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.values import External
from transpile.layout import wrap_expression
from transpile.plan.model import Plan
from transpile.rule import Answer, Change, Helper, In, Ruling, Rulings
from transpile.rules.singa._roles import names_of
from transpile.rules.singa._vocabulary import CPU, GPU, GPU_ON, SEVERAL_GPUS
from transpile.rules.singa.gradients.share_optimizer import is_shared
from transpile.rules.singa.processes._own_path import own_path

CODES = {
    "SG121": "each process takes its own GPU",
    "SG122": "one process makes several devices",
    "SG123": "the script hides GPUs from its processes",
}
VISIBLE = "CUDA_VISIBLE_DEVICES"


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each device."""
    seen: set[int] = set()
    for event in plan.facts.events:
        if not event.detached and hides_gpus(event):
            yield Ruling.refuse(
                "SG123",
                event,
                f"this sets {VISIBLE} for every process, but each must see all GPUs of its machine",
                f"take it out, and set {VISIBLE} where the processes are started",
            )
    for event in plan.facts.reached_calls:
        names = set(names_of(event))
        if id(event.node) in seen or not names & ({GPU, GPU_ON} | CPU | SEVERAL_GPUS):
            continue
        seen.add(id(event.node))
        if names & SEVERAL_GPUS:
            yield Ruling.refuse(
                "SG122",
                event,
                "this makes several devices in one process",
                "make one device, with create_cuda_gpu_on",
            )
            continue
        done = is_shared(plan) or takes_local_rank(plan, event)
        yield Ruling.apply("SG121", event, "each process takes its own GPU", done=done)


def hides_gpus(event: Event) -> bool:
    """Whether the script says which GPUs its process sees."""
    node = event.node
    if event.kind == "store" and isinstance(node, cst.Subscript):
        index = node.slice[0].slice
        name = index.value if isinstance(index, cst.Index) else None
        return External("os.environ") in event.callee and is_visible(name)
    called = {External("os.putenv"), External("os.environ.setdefault")}
    if event.kind != "call" or not called & set(event.callee) or not isinstance(node, cst.Call):
        return False
    return bool(node.args) and is_visible(node.args[0].value)


def is_visible(node: cst.CSTNode | None) -> bool:
    """Whether an expression is the name of the variable that hides GPUs."""
    return isinstance(node, cst.SimpleString) and node.evaluated_value == VISIBLE


def takes_local_rank(plan: Plan, event: Event) -> bool:
    """Whether a device is that of the local rank that the script hands on."""
    path = own_path(plan)
    argument = event.arguments.get("device_id", 0)
    if path is None or argument is None:
        return False
    return isinstance(argument.node, cst.Name) and argument.node.value == "local_rank"


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The process's own GPU before what the script says."""
    assert isinstance(ruling.node, cst.Call)
    yield Helper("own_gpu", ruling.module)
    name = plan.names_in(ruling.module).fresh("own_gpu")
    parent = ruling.module.source.parent(ruling.node)
    alone = isinstance(parent, (cst.Assign, cst.Arg, cst.AnnAssign, cst.Return))
    before, after = (f"{name}() or ", "") if alone else (f"({name}() or ", ")")
    for edit in wrap_expression(ruling.module.source, ruling.node, before, after):
        yield In(ruling.module, edit)
