"""Noise that the program of a script draws, and the seeds that it is given."""

from __future__ import annotations

import libcst as cst

from transpile.facts.values import Constant
from transpile.plan.model import Plan
from transpile.rules.fluid._events import names_of

#: Layers whose operators draw random numbers at each step.
NOISE = frozenset(
    f"paddle.fluid.layers.{name}"
    for name in (
        "dropout", "gaussian_random", "gaussian_random_batch_size_like", "nce", "random_crop",
        "sampling_id", "uniform_random", "uniform_random_batch_size_like",
    )
)  # fmt: skip


def draws_seeded_noise(plan: Plan) -> bool:
    """Whether noise is drawn from a seed, with which all trainers would draw the same."""
    drawing = [event for event in plan.facts.reached_calls if names_of(event) & NOISE]
    for event in drawing:
        seed = event.arguments.keyword("seed")
        if seed is not None and not set(seed.values) <= {Constant(None), Constant(0)}:
            return True
    return bool(drawing) and any(
        isinstance(node, cst.AssignTarget)
        and isinstance(node.target, cst.Attribute)
        and node.target.attr.value == "random_seed"
        for module in {id(event.module): event.module for event in plan.facts.events}.values()
        for node in module.source.nodes
    )
