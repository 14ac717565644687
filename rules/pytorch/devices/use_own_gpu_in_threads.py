"""Give threads that a script starts the GPU of their process.

What:
    A function that runs in a thread or in a process of its own and uses the GPU begins with a call
    that chooses this process's GPU there, too.

Why:
    CUDA's current GPU is that of a thread: each begins with the first one, whatever the rest of its
    process uses. Batches that a thread moves with ``.cuda()`` would come to the GPU of rank 0.

Before:
    def fetch(batches, queue):
        for batch in batches:
            queue.put(batch.cuda())

    threading.Thread(target=fetch, args=(loader, queue)).start()

After:
    def fetch(batches, queue):
        use_own_gpu()
        for batch in batches:
            queue.put(batch.cuda())

    threading.Thread(target=fetch, args=(loader, queue)).start()

Refuses when:
    never; where the function cannot be given a first line, a warning says so.

Source:
    https://pytorch.org/docs/stable/generated/torch.cuda.set_device.html,
    https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#device-selection
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.module import Module
from transpile.facts.values import Constant, External, Function, Opaque
from transpile.layout import insert_before
from transpile.layout.statements import is_docstring
from transpile.plan.flow.own_processes import MODULES, started_by
from transpile.plan.flow.places import STATEMENTS, calls_of
from transpile.plan.model import Plan
from transpile.records import dataclass
from transpile.rule import Answer, Change, Helper, In, Remark, Ruling, Rulings
from transpile.rules.pytorch.devices._devices import chooses_by_process
from transpile.rules.pytorch.devices._gpu_names import device_arguments
from transpile.rules.pytorch.devices._model_places import model_place

CODES = {
    "PT815": "a thread uses the GPU of its process",
    "PT816": "a thread uses the first GPU in every process",
}
THREADS = frozenset({"threading.Thread", "threading.Timer"})
STARTING = (*MODULES, "torch.multiprocessing.", "asyncio.")


@dataclass(frozen=True, eq=False)
class Begun:
    """A function that something else than the script's own thread enters.

    Args:
        module: where it stands.
        function: the function.
    """

    module: Module
    function: cst.FunctionDef | cst.Lambda


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each function that a thread begins with and that uses a GPU."""
    if not plan.trained_models or model_place(plan) == "cpu":
        return
    for begun in begun_elsewhere(plan):
        inside = [event for event in plan.facts.calls if is_inside(event, begun)]
        module, function = begun.module, begun.function
        if any(chooses(plan, event) for event in inside):
            yield Ruling.done("PT815", (module, function), "the thread chooses its GPU")
        elif not any(uses_gpu(event) for event in inside):
            continue
        elif isinstance(function, cst.FunctionDef) and isinstance(function.body, cst.IndentedBlock):
            yield Ruling.apply(
                "PT815", (module, function), "the thread uses the GPU of its process", data=begun
            )
        else:
            yield Remark.warn(
                "PT816",
                (module, function),
                "this runs in a thread, which uses the first GPU whatever that of its process is",
                "make it a function with lines of its own, so that it can choose the GPU first",
            )


def begun_elsewhere(plan: Plan) -> Iterator[Begun]:
    """The functions that threads and processes of the script begin with, each once."""
    calls = {id(event.node): event for event in plan.facts.calls}
    seen: set[int] = set()
    # Most events share their stack with others.
    stacks = {id(event.stack): event.stack for event in plan.facts.events}
    for stack in stacks.values():
        for frame in calls_of(stack):
            function = frame.function
            if id(function.node) in seen:
                continue
            started = calls.get(id(frame.node)) if frame.node is not None else None
            by_call = started is not None and any(
                started_by(callee, STARTING) for callee in started.callee
            )
            if by_call or is_run(plan, function):
                seen.add(id(function.node))
                yield Begun(function.module, function.node)


def is_run(plan: Plan, function: Function) -> bool:
    """Whether a function is the method that a thread of the project's own class begins with."""
    return (
        isinstance(function.node, cst.FunctionDef)
        and function.node.name.value == "run"
        and function.owner is not None
        and bool(THREADS & set(function.owner.external_bases()))
    )


def is_inside(event: Event, begun: Begun) -> bool:
    """Whether something happens in a function, or in what that calls."""
    return any(frame.function.node is begun.function for frame in calls_of(event.stack))


def chooses(plan: Plan, event: Event) -> bool:
    """Whether a call chooses the GPU of the process for its thread."""
    return any(
        (isinstance(callee, External) and callee.name == "torch.cuda.set_device")
        or (isinstance(callee, Function) and chooses_by_process(plan, callee))
        for callee in event.callee
    )


def uses_gpu(event: Event) -> bool:
    """Whether a call may use the current GPU: it moves something there, or asks CUDA for it."""
    for callee in event.callee:
        if isinstance(callee, Opaque) and callee.kind == "attribute" and callee.name == "cuda":
            return True
        if isinstance(callee, External) and callee.name.startswith("torch.cuda."):
            return True
    return any(
        not (isinstance(value, Constant) and value.value in ("cpu", None))
        and not (isinstance(value, External) and value.name.startswith("torch."))
        for argument in device_arguments(event)
        for value in argument.values
    )


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The call, as the first thing that the function does."""
    begun: Begun = ruling.data
    body = [line for line in begun.function.body.children if isinstance(line, STATEMENTS)]
    first = body[1] if is_docstring(body[0]) and len(body) > 1 else body[0]
    yield Helper("use_own_gpu", begun.module)
    name = plan.names_in(begun.module).fresh("use_own_gpu")
    for edit in insert_before(begun.module.source, first, [f"{name}()"], order=-20):
        yield In(begun.module, edit)
