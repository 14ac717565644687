"""What the training loop sets optimizers to, such as their learning rate."""

from __future__ import annotations

from collections.abc import Iterator

from transpile.facts.events import Event
from transpile.facts.values import Opaque, Values
from transpile.plan.graph import called_names, walk_back
from transpile.plan.model import Plan
from transpile.rules.mxnet._roles import receivers_of
from transpile.rules.mxnet._vocabulary import MODULES, TRAINER

#: Methods that set something of an optimizer, or of how it treats a parameter.
SETTERS = ("set_learning_rate", "set_lr_mult", "set_wd_mult", "set_lr_scale")
#: Attributes of optimizers and schedulers, and of parameters.
SETTINGS = frozenset(
    {"lr", "learning_rate", "base_lr", "wd", "momentum", "rescale_grad", "clip_gradient", "lr_mult",
     "wd_mult", "beta1", "beta2", "epsilon", "_scale"}
)  # fmt: skip
OWNERS = ("mxnet.optimizer.", "mxnet.lr_scheduler.")


def settings(plan: Plan) -> Iterator[tuple[Event, Values]]:
    """The places that set something of an optimizer, and what they set it to."""
    for event in plan.facts.events:
        if event.detached:
            continue
        if event.kind == "call":
            if any(receivers_of(event, name) for name in SETTERS):
                yield event, tuple(v for each in event.arguments.items for v in each.values)
        elif event.kind == "store" and event.name in SETTINGS and is_optimizer(event.callee):
            yield event, event.result


def is_optimizer(values: Values) -> bool:
    """Whether values are, or belong to, something that changes parameters."""
    return any(
        name == TRAINER or name in MODULES or name.startswith(OWNERS) or "collect_params" in name
        for value in walk_back(values, lambda each: isinstance(each, Opaque))
        for name in (*called_names(value), *methods(value))
    )


def methods(value: object) -> Iterator[str]:
    """The names of the methods that a value is the result of."""
    for callee in getattr(value, "callee", ()):
        if isinstance(callee, Opaque) and callee.kind == "attribute":
            yield callee.name
