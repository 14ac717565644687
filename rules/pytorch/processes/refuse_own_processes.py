"""Refuse scripts that train in processes or threads of their own.

What:
    A backward pass that runs in what the script itself starts with ``multiprocessing``,
    ``torch.multiprocessing`` or ``threading`` is an error.

Why:
    Such a script shares its work in its own way, as Hogwild does with a model in shared memory. A
    launcher starts the whole script once for each GPU, and each of these would start workers again.

Before:
    mp.Process(target=train, args=(model,)).start()

After:
    train(model)

Refuses when:
    training is reached only through a process or a thread that the script starts.

Source:
    https://pytorch.org/docs/stable/notes/multiprocessing.html
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.plan.flow.own_processes import started_elsewhere
from transpile.plan.model import Plan
from transpile.rule import Answer, Ruling

CODES = {"PT104": "the script trains in processes or threads of its own"}


def decide(plan: Plan) -> Iterator[Answer]:
    """One refusal for each place that starts training elsewhere."""
    for event, name in started_elsewhere(plan, ("torch.multiprocessing.",)):
        yield Ruling.refuse(
            "PT104",
            event,
            f"the script trains in processes or threads of its own ({name}): it is parallel in "
            "its own way already",
            "call the training function directly; the launcher starts the processes",
            decisive=True,
        )
