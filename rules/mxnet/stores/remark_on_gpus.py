"""Say that the workers of one machine would share the GPU that a script names.

What:
    A script that trains on ``mx.gpu()``, or on GPUs of given numbers, gets a note.

Why:
    The store tells workers their ranks, and not which of them share a machine. All workers of a
    machine train on the GPU of that number, one beside the other, while its other GPUs stay idle.

Before:
    ctx = mx.gpu()

After:
    ctx = mx.gpu(int(os.environ.get("LOCAL_GPU", 0)))

Refuses when:
    never: what is trained is right.

Source:
    https://mxnet.apache.org/versions/1.9.1/api/faq/distributed_training
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.facts.values import Constant, External
from transpile.plan.model import Plan
from transpile.rule import Answer, Remark

CODES = {"MX316": "workers of one machine would share a GPU"}
GPU = frozenset({"mxnet.gpu", "mxnet.context.gpu", "mxnet.device.gpu"})


def decide(plan: Plan) -> Iterator[Answer]:
    """One note for the first GPU that a script names by its number."""
    for event in plan.facts.reached_calls:
        if not any(isinstance(callee, External) and callee.name in GPU for callee in event.callee):
            continue
        number = event.arguments.get("device_id", 0)
        if number is None or all(isinstance(value, Constant) for value in number.values):
            which = number.values[0].value if number is not None and number.values else 0  # type: ignore[union-attr]
            yield Remark.note(
                "MX316",
                event,
                f"every worker takes GPU {which} of its machine: two on one machine would share it",
                "start one worker on each machine, or give each its own CUDA_VISIBLE_DEVICES",
            )
            return
