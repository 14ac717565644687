"""Refuse samples that are moved along gradients of their own.

What:
    A tensor of samples that is changed in place by its gradient, as attacks and Langevin dynamics
    do it, is an error, unless the size of the gradient does not matter, as where its sign is taken.

Why:
    The gradient of a mean over a process's share of the batch is larger than that of the mean over
    the whole batch by the number of processes. So is that of a sum, which is multiplied for the
    sake of the parameters, whose gradients are averaged. Nothing averages those of samples.

Before:
    out = model(fake)
    out.sum().backward()
    fake.data.sub_(fake.grad, alpha=0.1)

After:
    out = model(fake)
    (gradient,) = torch.autograd.grad(out.sum(), fake)
    fake.data.sub_(gradient, alpha=0.1)

Refuses when:
    samples that training draws or makes up are changed in place by gradients of their own.

Source:
    https://pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html
    ("gradients are averaged")
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.facts.events import Event
from transpile.facts.values import Opaque, Values
from transpile.plan.graph import walk_back
from transpile.plan.model import Plan
from transpile.plan.models.noise import changes
from transpile.quantity.asking import Kind, analysis
from transpile.rule import Answer, Ruling

#: Where calls are sharded, every rank has the whole batch.
WAYS = ("data",)
CODES = {"PT410": "samples are moved along gradients of their own"}


def decide(plan: Plan) -> Iterator[Answer]:
    """One refusal for each place that changes samples by their gradients."""
    seen: set[int] = set()
    loops = {id(loop.node) for each in plan.backwards for loop in each.event.loops()}
    for event in plan.facts.events:
        if event.detached or id(event.node) in seen:
            continue
        if not any(id(loop.node) in loops for loop in event.loops()):
            continue
        if any(is_moved(plan, target, by) for target, by, _ in changes(plan, event)):
            seen.add(id(event.node))
            yield refusal(event)


def is_moved(plan: Plan, target: Values, by: Values) -> bool:
    """Whether samples are changed by gradients that are larger the smaller the share is."""
    gradients = tuple(value for value in by if comes_from_gradient(value))
    if not gradients:
        return False
    quantities = analysis(plan)
    samples, moved = quantities.of(target), quantities.of(gradients)
    if samples.kind is not Kind.SAMPLE:
        return False
    if moved.kind is Kind.SAMPLE:
        return bool(samples.degrees != moved.degrees)
    return moved.kind is Kind.UNKNOWN and moved.certain


def comes_from_gradient(value: object) -> bool:
    """Whether a value is made of what a backward pass has left at a tensor."""
    return any(
        isinstance(behind, Opaque) and behind.kind == "attribute" and behind.name == "grad"
        for behind in walk_back((value,))  # type: ignore[arg-type]
    )


def refusal(event: Event) -> Ruling:
    """What is said of one place."""
    return Ruling.refuse(
        "PT410",
        event,
        "samples are moved here along gradients of their own, which backward() makes larger for "
        "the share of one process than for the whole batch",
        "take them by torch.autograd.grad of a sum over the samples",
    )
