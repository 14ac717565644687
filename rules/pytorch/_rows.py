"""Whether a model maps sample i of its inputs to sample i of its outputs, and along which axes."""

from __future__ import annotations

from typing import Literal, Union

import libcst as cst

from transpile.facts.module import Module
from transpile.facts.values import Arguments, Constant, Values
from transpile.plan.model import Model, Plan
from transpile.records import dataclass, field
from transpile.rules.pytorch._quantity import Kind, quantity

#: The axis of an output, nested as the outputs are; None for what is whole.
Axes = Union[int, None, "tuple[Axes, ...]", "dict[str, Axes]"]
Verdict = Literal["apart", "check", "coupled"]


@dataclass(frozen=True, eq=False)
class CallRows:
    """What the calls of a model do with the samples of a batch.

    Args:
        verdict: ``apart``: sample i of the outputs is made of sample i of the inputs alone;
            ``coupled``: it is shown not to be; ``check``: neither is shown.
        inputs: the sample axis of each positional argument; None for one that is given whole.
        keywords: the same for the arguments with keywords.
        outputs: the axis of the output, nested as the outputs are; None for whole parts.
        noise: something is drawn at random.
        batch_norm: it holds batch norm, whose statistics must be those of the whole batch.
        reason: what mixes the samples, or what cannot be looked into.
        module: where that stands.
        node: the operation or call that does.
    """

    verdict: Verdict
    inputs: tuple[int | None, ...] = (0,)
    keywords: dict[str, int | None] = field(default_factory=dict)
    outputs: Axes = 0
    noise: bool = False
    batch_norm: bool = False
    reason: str = ""
    module: Module | None = None
    node: cst.CSTNode | None = None


def rows_of(plan: Plan, model: Model) -> CallRows:
    """What the calls of a model do with the samples of a batch."""
    arguments = model.forwards[0].arguments if model.forwards else Arguments()
    keywords = {one.keyword: axis_of(plan, one.values) for one in arguments.items if one.keyword}
    inputs = tuple(axis_of(plan, one.values) for one in arguments.positional())
    return CallRows("check", inputs, keywords, 0, noise=True, reason="it is not looked into")


def axis_of(plan: Plan, values: Values) -> int | None:
    """The axis of the samples of an argument, as far as the training loop tells."""
    if all(isinstance(value, Constant) for value in values):
        return None
    found = quantity(plan, values)
    return None if found.kind in (Kind.EQUAL, Kind.NOTHING) else found.dim or 0
