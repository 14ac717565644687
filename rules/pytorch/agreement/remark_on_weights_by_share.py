"""Warn of weights and buffers that are set by what one process has seen of the batch.

What:
    A write into a parameter of a copy, or into a buffer of a model, of something that depends on
    the batch is warned of. So is a library's average that is taken by a function which reads such
    numbers (``AveragedModel(avg_fn=...)``).

Why:
    Copies such as averages and teachers are no part of what the processes keep alike. What each
    writes there of its own loss makes them differ, and with them whatever they are used for.

Before:
    decay = max(0.5, 1 - loss.item() / 10)
    for s, p in zip(shadow.parameters(), model.parameters()):
        s.data.mul_(decay).add_(p.data, alpha=1 - decay)

After:
    decay = 0.9
    for s, p in zip(shadow.parameters(), model.parameters()):
        s.data.mul_(decay).add_(p.data, alpha=1 - decay)

Refuses when:
    never: it is a warning. Where calls are split, what is written is that of one process.

Source:
    https://pytorch.org/docs/stable/notes/ddp.html
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.facts.events import Event
from transpile.facts.values import Opaque, Value, Values
from transpile.plan.graph import is_instance_of, method_calls, origin
from transpile.plan.model import Plan
from transpile.plan.roles.optimizers import parameter_owners
from transpile.quantity.asking import analysis
from transpile.quantity.tensors.in_place import changed_in_place
from transpile.rule import Answer, Remark
from transpile.rules.pytorch.agreement._averaging import averages_by_batch

#: Where calls are split, every process has the numbers of the whole batch.
WAYS = ("data",)
CODES = {"PT717": "a weight or buffer is set by one process's part of the batch"}
DEEPEST = 8


def decide(plan: Plan) -> Iterator[Answer]:
    """A warning for the first such place of each model."""
    if not plan.backwards:
        return
    quantities = analysis(plan)
    seen: set[int] = set()
    for event in plan.facts.events:
        if event.detached or quantities.is_model_code(event.module, event.node):
            continue
        if event.kind == "call" and averages_by_batch(plan, event):
            yield warning(event, "how this average is taken")
            continue
        owners = [one for one in owners_of(plan, event) if id(one) not in seen]
        if not owners or not depends(plan, event):
            continue
        seen.update(map(id, owners))
        yield warning(event, "what is written into this model")


def warning(event: Event, matter: str) -> Remark:
    """What is said of one place."""
    return Remark.warn(
        "PT717",
        event,
        f"{matter} depends on what one process has seen of the batch: it differs from process to "
        "process",
        "write a number that is equal on all processes, such as a mean over them",
    )


def owners_of(plan: Plan, event: Event) -> list[Value]:
    """The models into whose weights or buffers an event writes, but for trained weights."""
    if event.kind == "store":
        targets: Values = event.callee if event.name == "data" else ()
    else:
        targets = changed_in_place(event)
    trained = {id(model.value) for model in plan.trained_models}
    found: list[Value] = []
    for target in targets:
        if is_gradient(target):
            continue
        held = holder_of(plan, target)
        if held is not None:
            found.append(held)
        found += [one for one in parameter_owners((target,), plan.table) if id(one) not in trained]
    return found


def depends(plan: Plan, event: Event) -> bool:
    """Whether what an event writes depends on the batch of this process."""
    written = [event.result] if event.kind == "store" else []
    written += [item.values for item in event.arguments.items] if event.kind == "call" else []
    known = (analysis(plan).of(values) for values in written)
    return any(bool(one.pending) or not (one.independent or one.agreed) for one in known)


def is_gradient(value: Value) -> bool:
    """Whether a value is a gradient, or a part of one."""
    for _ in range(DEEPEST):
        if not isinstance(value, Opaque):
            return False
        if value.kind == "attribute" and value.name == "grad":
            return True
        received = [receiver for _, receiver in method_calls(value)]
        inner = value.operands[0] if value.operands else received[0] if received else ()
        if not inner:
            return False
        value = inner[0]
    return False


def holder_of(plan: Plan, value: Value) -> Value | None:
    """The model of whose attributes a tensor is one, such as a buffer; None for others."""
    for _ in range(DEEPEST):
        if not isinstance(value, Opaque) or value.kind != "attribute":
            return None
        base = origin(value.operands[0][0]) if value.operands[0] else None
        if base is None:
            return None
        known = any(base is model.value for model in plan.models)
        if known or is_instance_of(base, plan.table.module_bases):
            return base
        value = base
    return None
