"""What methods, stores and functions put into objects that cannot be analysed."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.values import External, Opaque, Value, Values
from transpile.plan.graph import called_names, origin
from transpile.plan.model import Plan
from transpile.plan.views import behind_views
from transpile.rules.pytorch.agreement._steps import schedules

#: Methods that put what they are given into their object; others end with an underscore.
FEEDING = frozenset(
    {
        "update", "add", "append", "extend", "appendleft", "insert", "put", "push", "record",
        "accumulate", "subtract", "step", "log",
    }
)  # fmt: skip
#: Objects that stay equal whatever they are given.
KEPT_EQUAL = ("torch.amp.GradScaler", "torch.utils.data.DataLoader", "torch.utils.tensorboard.")
#: Functions that fill the tensor that they are given first.
FILLING = "torch.nn.init."


def fed_values(plan: Plan) -> dict[int, list[Value]]:
    """What is put into each object, by its identity."""
    kept = Kept(plan)
    found: dict[int, list[Value]] = {}
    for event in plan.facts.events:
        if (event.kind == "store" and event.name == "[]") or event.kind == "operate":
            for value in behind_views(event.callee):
                if isinstance(value, Opaque):
                    found.setdefault(id(value), []).extend(event.result)
        elif event.kind == "call":
            for receivers, given in fed_by(event):
                for receiver in behind_views(receivers):
                    if isinstance(receiver, Opaque) and not kept.equal(receiver):
                        found.setdefault(id(receiver), []).extend(given)
    return found


def fed_by(event: Event) -> Iterator[tuple[Values, Values]]:
    """The objects that a call feeds, and what it feeds to them."""
    groups = [item.values for item in event.arguments.items]
    given = tuple(value for values in groups for value in values)
    # What is called for nothing that it gives is called for what it does.
    discarded = isinstance(event.module.source.parent(event.node), cst.Expr)
    for callee in event.callee:
        if isinstance(callee, External) and callee.name.startswith(FILLING) and groups:
            yield groups[0], tuple(value for values in groups[1:] for value in values)
        elif isinstance(callee, Opaque) and callee.kind == "attribute":
            if discarded or callee.name in FEEDING or callee.name.endswith("_"):
                yield callee.operands[0], given


class Kept:
    """Tells the objects that stay equal on all processes, whatever they are given.

    Args:
        plan: the plan.
    """

    def __init__(self, plan: Plan) -> None:
        self.optimizers = {id(optimizer.value) for optimizer in plan.optimizers}
        self.models = {id(model.value) for model in plan.models}
        self.names = (*KEPT_EQUAL, *plan.table.layer_packages)

    def equal(self, receiver: Opaque) -> bool:
        """Whether an object is one of them, or none that a call makes."""
        if receiver.kind != "call" or id(receiver) in self.optimizers:
            return True
        if id(origin(receiver)) in self.models or schedules(receiver, self.optimizers):
            return True
        return any(name.startswith(self.names) for name in called_names(receiver))
