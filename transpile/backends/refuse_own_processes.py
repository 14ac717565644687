"""Refuse scripts that train in processes or threads of their own.

What:
    A backward pass that runs in what the script itself starts with $starters is an error.

Why:
    Such a script shares its work in its own way, as Hogwild does with a model in shared memory. The
    launcher starts the whole script once for each GPU, and each of these would start workers again.

Before:
    $starting

After:
    train(model)

Refuses when:
    training is reached only through a process or a thread that the script starts.

Source:
    $starters_source
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.backends.backend import Backend
from transpile.plan.flow.own_processes import started_elsewhere
from transpile.plan.model import Plan
from transpile.rule import Ruling

CODES = {"104": "the script trains in processes or threads of its own"}


def decide(backend: Backend, plan: Plan) -> Iterator[Ruling]:
    """One refusal for each place that starts training elsewhere."""
    for event, name in started_elsewhere(plan, backend.starters):
        yield Ruling.refuse(
            f"{backend.prefix}104",
            event,
            f"the script trains in processes or threads of its own ({name}): it is parallel in "
            "its own way already",
            "call the training function directly; the launcher starts the processes",
            decisive=True,
        )
