"""What several rules ask about devices: which GPU an expression names, and who decided on it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.values import Constant, External, Function, Opaque, Value, Values
from transpile.facts.walk import descendants
from transpile.plan.flow.places import calls_of, function_of
from transpile.plan.graph import called_names, walk_back
from transpile.plan.model import Plan
from transpile.rules.pytorch.devices._outside import comes_from_outside

NUMBERED = re.compile(r"cuda:\d+\Z")
PARTLY_NUMBERED = re.compile(r"cuda:(?=.)", re.DOTALL)
#: Environment variables in which launchers say which process this is.
RANK_VARIABLES = frozenset(
    {
        "RANK", "LOCAL_RANK", "WORLD_SIZE", "SLURM_PROCID", "SLURM_LOCALID",
        "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "PMI_RANK",
    }
)  # fmt: skip
LOCAL_RANK_VARIABLES = frozenset(
    {"LOCAL_RANK", "SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID"}
)
RANK_CALLS = frozenset(
    {
        "torch.distributed.get_rank",
        "torch.distributed.get_node_local_rank",
        "torch.cuda.current_device",
        "torch.accelerator.current_device_index",
    }
)


def follows_rank(values: Values) -> bool:
    """Whether values were computed from which process this is, or from the GPU it has."""
    for value in walk_back(values):
        if any(name in RANK_CALLS for name in called_names(value)):
            return True
        if isinstance(value, Constant) and value.value in RANK_VARIABLES:
            return True
    return False


def chooses_by_process(plan: Plan, function: Function) -> bool:
    """Whether a function of the project asks which GPU this process has, or calls one that does."""
    return any(
        event.kind == "call"
        and asks_for_gpu(event)
        and any(frame.function.node is function.node for frame in calls_of(event.stack))
        for event in plan.facts.events
    )


def asks_for_gpu(event: Event) -> bool:
    """Whether a call asks which GPU this process has, or for its number on its machine."""
    if any(isinstance(callee, External) and callee.name in RANK_CALLS for callee in event.callee):
        return True
    return any(
        isinstance(value, Constant) and value.value in LOCAL_RANK_VARIABLES
        for item in event.arguments.items
        for value in item.values
    )


def text_of(node: cst.CSTNode) -> str | None:
    """The text of a plain string literal; None for anything else."""
    if isinstance(node, cst.SimpleString):
        value = node.evaluated_value
        return value if isinstance(value, str) else None
    return None


def names_numbered_gpu(node: cst.CSTNode) -> bool:
    """Whether an expression spells a GPU with its number: ``"cuda:0"``, ``f"cuda:{gpu}"``."""
    text = text_of(node)
    if text is not None:
        return NUMBERED.match(text) is not None
    if isinstance(node, cst.FormattedString):
        first = node.parts[0] if node.parts else None
        return (
            len(node.parts) > 1
            and isinstance(first, cst.FormattedStringText)
            and first.value == "cuda:"
        )
    if isinstance(node, cst.BinaryOperation):
        if isinstance(node.operator, cst.Add):
            return text_of(node.left) == "cuda:"
        if isinstance(node.operator, cst.Modulo):
            return bool(PARTLY_NUMBERED.match(text_of(node.left) or ""))
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
        if node.func.attr.value == "format":
            return bool(PARTLY_NUMBERED.match(text_of(node.func.value) or ""))
    return False


def literal_numbers(node: cst.CSTNode) -> Iterator[int]:
    """The numbers of the GPUs that an expression spells."""
    stack: list[cst.CSTNode] = [node]
    while stack:
        current = stack.pop()
        text = text_of(current)
        if text is not None and NUMBERED.match(text):
            yield int(text.partition(":")[2])
        stack.extend(current.children)


def is_device_object(value: Value) -> bool:
    """Whether a value is a device that something has, or that ``torch.device`` made."""
    if "torch.device" in called_names(value):
        return True
    return (
        isinstance(value, Opaque)
        and value.kind == "attribute"
        and value.name == "device"
        and not comes_from_outside(value)
    )


def is_parameter(value: Value) -> bool:
    """Whether a value is a parameter that no call in sight gives a value to."""
    return isinstance(value, Opaque) and value.kind == "parameter"


def uses_cuda(plan: Plan) -> bool:
    """Whether the project puts something on a GPU: without it nothing was saved from one.

    What a function that talks to other processes moves to a GPU goes there for the backend's sake.
    """
    return any(
        puts_on_gpu(node) and not talks_to_ranks(plan, function_of(module, node))
        for module in plan.facts.modules.values()
        for node in module.source.nodes
    )


def talks_to_ranks(plan: Plan, function: cst.FunctionDef | None) -> bool:
    """Whether a function makes use of ``torch.distributed``."""
    return function is not None and any(
        isinstance(value, External) and value.name.startswith("torch.distributed.")
        for node in descendants(function.body)
        if isinstance(node, cst.Attribute)
        for value in plan.facts.values_of(node)
    )


def puts_on_gpu(node: cst.CSTNode) -> bool:
    """Whether an expression names CUDA as a device, or moves something to it."""
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
        if node.func.attr.value in ("cuda", "current_accelerator"):
            return True
    if isinstance(node, cst.Attribute):
        return node.attr.value.endswith("Tensor") and is_cuda_module(node.value)
    return text_of(node) == "cuda" or names_numbered_gpu(node)


def is_cuda_module(node: cst.CSTNode) -> bool:
    """Whether an expression is ``torch.cuda``."""
    return isinstance(node, cst.Attribute) and node.attr.value == "cuda"
