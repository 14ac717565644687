"""Compress gradients on their way to the servers.

What:
    With ``--compression 2bit`` trainers and modules get ``compression_params`` where there is a
    shared store. What they are given already stays.

Why:
    Each gradient then takes 2 bits instead of 32; what is lost is added to the next one.

Before:
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})

After:
    trainer = gluon.Trainer(
        net.collect_params(),
        "sgd",
        {"learning_rate": 0.1},
        compression_params={"type": "2bit", "threshold": 0.5} if store else None,
    )

Refuses when:
    a ``FeedForward`` trains: it takes no compression.

Source:
    https://mxnet.apache.org/versions/1.9.1/api/faq/gradient_compression
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.values import External
from transpile.layout import add_argument
from transpile.plan.model import Plan
from transpile.rule import Answer, Change, Helper, In, Ruling, Rulings
from transpile.rules.mxnet._roles import fits, trainer_argument, trainers
from transpile.rules.mxnet._vocabulary import MODULES

CODES = {
    "MX121": "gradients are compressed on their way",
    "MX122": "gradients cannot be compressed here",
}


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each trainer and module, if gradients are to be compressed."""
    if plan.options.compression != "2bit":
        return
    seen: set[int] = set()
    for event, given in makers(plan):
        if id(event.node) in seen or event.detached:
            continue
        seen.add(id(event.node))
        yield Ruling.apply("MX121", event, "gradients are compressed", data=event.node, done=given)
    for fit in fits(plan):
        if fit.word.startswith("FeedForward"):
            yield Ruling.refuse(
                "MX122",
                fit.event,
                "a FeedForward has no way to compress its gradients",
                "train with a Module, or without --compression",
            )


def makers(plan: Plan) -> Iterator[tuple[Event, bool]]:
    """The calls that make trainers and modules, and whether these compress already."""
    for trainer in trainers(plan):
        yield trainer.event, trainer_argument(trainer, "compression_params") is not None
    for event in plan.facts.calls:
        if any(isinstance(callee, External) and callee.name in MODULES for callee in event.callee):
            yield event, event.arguments.keyword("compression_params") is not None


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The argument that says how to compress."""
    node: cst.Call = ruling.data
    yield Helper("store", ruling.module)
    store = plan.names_in(ruling.module).fresh("store")
    settings = f'{{"type": "{plan.options.compression}", "threshold": 0.5}}'
    text = f"compression_params={settings} if {store} else None"
    for edit in add_argument(ruling.module.source, node, text, order=3):
        yield In(ruling.module, edit)
