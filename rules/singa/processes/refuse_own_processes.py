"""Refuse scripts that train in processes of their own, or with others by a socket.

What:
    Training that runs in what the script itself starts with ``multiprocessing`` or ``threading`` is
    an error, and so is a script that opens a socket, as clients of federated learning do.

Why:
    Such a script shares its work in its own way. Every process of a job would do so again.

Before:
    Process(target=train).start()

After:
    train()

Refuses when:
    training is reached only through a process or a thread that the script starts, or a socket is
    opened.

Source:
    https://docs.python.org/3/library/multiprocessing.html
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.facts.events import Event
from transpile.plan.flow.own_processes import MODULES, started_by
from transpile.plan.model import Plan
from transpile.rule import Answer, Ruling
from transpile.rules.singa._roles import names_of, updates
from transpile.rules.singa.gradients.share_optimizer import is_shared

CODES = {"SG124": "the script shares its work with others in its own way"}
SOCKETS = frozenset({"socket.socket", "socket.create_connection", "grpc.insecure_channel"})


def decide(plan: Plan) -> Iterator[Answer]:
    """One refusal for each place that starts training elsewhere, or turns to others."""
    if is_shared(plan):
        return
    entered = {id(frame.node) for update in updates(plan) for frame in update.event.calls()}
    seen: set[int] = set()
    for event in plan.facts.reached_calls:
        name = next(filter(None, (started_by(callee, MODULES) for callee in event.callee)), "")
        if name and id(event.node) in entered - seen:
            seen.add(id(event.node))
            yield refusal(event, f"the script trains in processes or threads of its own ({name})")
    for event in plan.facts.reached_calls:
        name = next((name for name in names_of(event) if name in SOCKETS), "")
        if name and id(event.node) not in seen:
            seen.add(id(event.node))
            yield refusal(event, f"the script turns to other processes ({name})")


def refusal(event: Event, why: str) -> Ruling:
    """The refusal of a place."""
    return Ruling.refuse(
        "SG124",
        event,
        f"{why}: it is parallel in its own way already",
        "train in the process that was started; a launcher starts the others",
        decisive=True,
    )
