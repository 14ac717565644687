"""Refuse decisions on the clock and on what else differs from process to process.

What:
    A test on the time, on the process or on its machine, which ends a loop or decides whether
    something is trained or read from a device, is an error. Prints and records may follow it.

Why:
    Processes add their gradients up together. Where one of them takes a step that another does not
    take, they wait for each other for ever, or train on.

Before:
    if time.time() - start > 3600:
        break

After:
    if epoch == 10:
        break

Refuses when:
    such a test decides how long, or what, is trained.

Source:
    https://singa.apache.org/docs/dist-train/
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Branch, Event, Loop
from transpile.facts.values import Values
from transpile.facts.walk import descendants
from transpile.plan.graph import called_names, walk_back
from transpile.plan.model import Plan
from transpile.rule import Answer, Ruling
from transpile.rules.singa._roles import model_calls, names_of, updates
from transpile.rules.singa._vocabulary import TO_NUMPY

CODES = {"SG222": "a decision differs from process to process"}
#: What differs from process to process, by the first words of a name.
PRIVATE = (
    "time.", "datetime.", "os.getpid", "os.urandom", "os.getloadavg", "psutil.", "socket.",
    "platform.node", "uuid.", "secrets.", "resource.",
)  # fmt: skip
LEAVING = (cst.Break, cst.Continue, cst.Return, cst.Raise)


def decide(plan: Plan) -> Iterator[Answer]:
    """A refusal for each test that decides about the training."""
    seen: set[int] = set()
    for event in plan.facts.tests:
        if event.detached or id(event.node) in seen:
            continue
        name = private(event.callee)
        if name and decides(plan, event):
            seen.add(id(event.node))
            yield Ruling.refuse(
                "SG222",
                event,
                f"this decides about the training by `{name}`, which differs from process to "
                "process: they would not take the same steps",
                "decide on what all processes have, such as the number of the epoch or a loss",
            )


def private(values: Values) -> str:
    """The name of what a value has from its process alone; empty where nothing is."""
    return next(
        (
            name
            for value in walk_back(values)
            for name in called_names(value)
            if name.startswith(PRIVATE)
        ),
        "",
    )


def decides(plan: Plan, event: Event) -> bool:
    """Whether training, or what is read from a device, depends on a test."""
    around = next(
        (
            parent
            for parent in event.module.source.parents(event.node)
            if isinstance(parent, (cst.If, cst.While, cst.IfExp))
        ),
        None,
    )
    if around is None or isinstance(around, cst.While):
        return True
    if isinstance(around, cst.If) and any(
        isinstance(node, LEAVING) for node in descendants(around) if node is not around.test
    ):
        return True
    together = [update.event for update in updates(plan)]
    together += [
        *model_calls(plan),
        *(e for e in plan.facts.reached_calls if TO_NUMPY in names_of(e)),
    ]
    return any(
        isinstance(frame, (Branch, Loop)) and frame.node is around
        for one in together
        for frame in one.stack
    )
