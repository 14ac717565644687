"""Warn of noise for samples that all processes draw from generators with the same seed.

What:
    Noise with an entry for each sample that a loss depends on, and that is drawn in training from
    a generator of the script's own whose seed is the same on all processes, is warned of. Where
    the calls of models are sharded, that is noise drawn within a model alone.

Why:
    Each process has other samples. Equal generators give them equal noise: the first sample of
    one process gets what the first of every other gets, and there is less noise than there was.

Before:
    noise = torch.randn(x.shape, generator=generator)
    loss = criterion(model(x + noise), y)

After:
    noise = torch.randn(x.shape)
    loss = criterion(model(x + noise), y)

Refuses when:
    never: it is a warning, as what is drawn is noise all the same.

Source:
    https://pytorch.org/docs/stable/generated/torch.Generator.html
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.values import Constant, Opaque, Value
from transpile.facts.walk import descendants
from transpile.plan.data.collation import functions_of
from transpile.plan.graph import called_names, walk_back
from transpile.plan.model import Plan
from transpile.plan.models.learning import reached_by_losses
from transpile.quantity.asking import Kind, analysis
from transpile.rule import Answer, Remark
from transpile.rules.pytorch.randomness._drawn_data import DRAWING
from transpile.rules.pytorch.randomness._private_chance import GENERATORS as OWN_GENERATORS
from transpile.rules.pytorch.randomness._private_chance import differs

CODES = {"PT704": "all processes draw the same noise for their samples"}
#: What makes a generator with a seed of its own.
GENERATORS = OWN_GENERATORS | {"torch.Generator"}
#: What goes over an iterable.
LOOPS = (cst.For, cst.CompFor)


def decide(plan: Plan) -> Iterator[Answer]:
    """One warning for each place that draws such noise."""
    reached = reached_by_losses(plan)
    found = analysis(plan)
    collating = in_collate_functions(plan) if plan.way == "data" else set()
    seen: set[int] = set()
    for event in plan.facts.calls:
        if id(event.node) in seen or not is_seeded(plan, event):
            continue
        if id(event.node) not in collating:
            if event.detached or (
                plan.way == "calls" and not found.is_model_code(event.module, event.node)
            ):
                continue
            drawn = tuple(value for value in event.result if id(value) in reached)
            noise = any(is_noise(found.of((value,))) for value in drawn)
            if not (noise and plan.in_training(event.stack)) and not (
                drawn and is_drawn_for_each(plan, event)
            ):
                continue
        seen.add(id(event.node))
        yield Remark.warn(
            "PT704",
            event,
            "the generator of this noise has the same seed on every process: the samples of "
            "one process get the noise of those of the others",
            "draw it without a generator, or seed the generator with the rank, too",
        )


def in_collate_functions(plan: Plan) -> set[int]:
    """The identities of the calls in functions that put the batches of training together."""
    return {
        id(node)
        for loader in plan.training_loaders
        for collate in (loader.argument("collate_fn"),)
        if collate is not None
        for function in functions_of(collate.values)
        for node in descendants(function.node)
        if isinstance(node, cst.Call)
    }


def is_drawn_for_each(plan: Plan, event: Event) -> bool:
    """Whether something is drawn once for each sample, or in the shape of a batch."""
    found = analysis(plan)
    if event.arguments.rest and found.of(event.arguments.rest).kind is not Kind.EQUAL:
        return True
    for frame in event.loops():
        node: cst.CSTNode = frame.node
        if isinstance(node, cst.BaseComp):
            node = node.for_in
        iterated = plan.facts.values_of(node.iter) if isinstance(node, LOOPS) else ()
        if found.of(iterated).kind is Kind.SAMPLE or any(
            found.of(item.values).degrees - {0}
            for value in iterated
            if isinstance(value, Opaque)
            for item in value.arguments.items
        ):
            return True
    return False


def is_noise(quantity: object) -> bool:
    """Whether something drawn has an entry for each sample, and says no positions."""
    kind = getattr(quantity, "kind", None)
    return kind is Kind.SAMPLE and getattr(quantity, "content", "") != "index"


def is_seeded(plan: Plan, event: Event) -> bool:
    """Whether a call draws from a generator of the script's own that has a seed."""
    given = event.arguments.get("generator")
    values = list(given.values) if given is not None else []
    for callee in event.callee:
        if isinstance(callee, Opaque) and callee.kind == "attribute" and callee.name in DRAWING:
            values.extend(callee.operands[0])
    return any(
        GENERATORS.intersection(called_names(behind)) and not differs(behind)
        for value in values
        if value != Constant(None)
        for behind in walk_back((value,), is_generator_call)
    )


def is_generator_call(value: Value) -> bool:
    """Whether a value may be a generator that a method has given back."""
    return isinstance(value, Opaque) and not GENERATORS.intersection(called_names(value))
