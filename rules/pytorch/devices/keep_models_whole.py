"""Put all of a model that a library loads onto the GPU of its process.

What:
    A ``device_map`` that may spread a model over the GPUs of a machine, or put it onto one by its
    number, is given by ``own_device_map(...)``: all of this process's GPU under a launcher, and
    what the script says otherwise.

Why:
    Every process has a replica of the whole model. One that is spread over all GPUs in each of the
    processes leaves none of them to any process: DistributedDataParallel would exchange gradients
    between replicas on the same GPUs, which NCCL refuses.

Before:
    model = AutoModelForCausalLM.from_pretrained("gpt2", device_map="auto")

After:
    model = AutoModelForCausalLM.from_pretrained("gpt2", device_map=own_device_map("auto"))

Refuses when:
    never; a note says that the model must fit onto one GPU.

Source:
    https://huggingface.co/docs/accelerate/usage_guides/big_modeling,
    https://pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.module import Module
from transpile.facts.values import Constant, Function, Mapping, Value, Values
from transpile.layout import wrap_expression
from transpile.plan.model import Plan
from transpile.records import dataclass
from transpile.rule import Answer, Change, Helper, In, Remark, Ruling, Rulings
from transpile.rules.pytorch.devices._devices import follows_rank, is_device_object
from transpile.rules.pytorch.devices._gpu_names import reached

CODES = {"PT817": "a model is put onto the GPU of its process as a whole"}
ARGUMENT = "device_map"
#: Devices of which every process has its own, or that all may have together.
ELSEWHERE = ("cpu", "meta", "disk", "cuda", "mps")


@dataclass(frozen=True, eq=False)
class Map:
    """An expression that says where the parts of a model go."""

    module: Module
    node: cst.BaseExpression


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each map of devices."""
    seen: set[int] = set()
    for event in plan.facts.calls:
        argument = event.arguments.get(ARGUMENT)
        if argument is None or not reached(event):
            continue
        node = argument.node
        if not isinstance(node, cst.BaseExpression) or id(node) in seen:
            continue
        if any(isinstance(callee, Function) for callee in event.callee):
            continue
        seen.add(id(node))
        if not may_spread(argument.values):
            continue
        if follows_rank(parts(argument.values)):
            yield Ruling.done("PT817", (event.module, node), "the device follows from the process")
            continue
        yield Ruling.apply(
            "PT817",
            (event.module, node),
            "each process has all of the model on its own GPU",
            data=Map(event.module, node),
        )
        yield Remark.note(
            "PT817",
            (event.module, node),
            "under a launcher all of the model goes onto each process's GPU, which it must fit",
            "shard a model that is too large for one GPU: --strategy fsdp",
        )


def may_spread(values: Values) -> bool:
    """Whether a map may lead to several GPUs, or to one by its number."""
    return any(not names_one(value) for value in parts(values))


def names_one(value: Value) -> bool:
    """Whether a device is none that each process would have to have another of."""
    if not isinstance(value, Constant):
        return bool(is_device_object(value))
    if isinstance(value.value, str):
        return value.value.split(":")[0] in ELSEWHERE
    return value.value is None


def parts(values: Values) -> Values:
    """The devices of a map, which may be a single one."""
    found: list[Value] = []
    for value in values:
        found.extend(value.every() if isinstance(value, Mapping) else [value])
    return tuple(found)


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The map within the helper."""
    data: Map = ruling.data
    yield Helper("own_device_map", data.module)
    name = plan.names_in(data.module).fresh("own_device_map")
    for edit in wrap_expression(data.module.source, data.node, f"{name}(", ")"):
        yield In(data.module, edit)
