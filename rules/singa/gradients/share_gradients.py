"""Average gradients that the script updates with by itself.

What:
    The pairs of parameter and gradient that ``autograd.backward`` gives are averaged over all
    processes before the script goes through them.

Why:
    ``update`` and ``apply`` of an optimizer take the gradients that they are given: each process
    would train a model of its own.

Before:
    for p, g in autograd.backward(loss):
        sgd.apply(p.name, p, g)

After:
    for p, g in share_gradients(autograd.backward(loss)):
        getattr(sgd, "opt", sgd).apply(p.name, p, g)

Refuses when:
    never: losses that cannot be averaged are refused elsewhere.

Source:
    https://singa.apache.org/docs/dist-train/
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.layout import wrap_expression
from transpile.plan.model import Plan
from transpile.rule import Answer, Change, Helper, In, Ruling, Rulings
from transpile.rules.singa._roles import backwards
from transpile.rules.singa.gradients.share_optimizer import is_shared

CODES = {"SG111": "gradients are averaged over all processes"}


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each backward pass of the script itself."""
    seen: set[int] = set()
    for event in backwards(plan):
        if id(event.node) not in seen:
            seen.add(id(event.node))
            yield Ruling.apply(
                "SG111",
                event,
                "gradients are averaged over all processes",
                data=event.node,
                claims=(event.node,),
                done=is_shared(plan),
            )


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The helper around the backward pass."""
    yield Helper("share_gradients", ruling.module)
    name = plan.names_in(ruling.module).fresh("share_gradients")
    for edit in wrap_expression(ruling.module.source, ruling.data, f"{name}(", ")"):
        yield In(ruling.module, edit)
