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

from transpile.facts.events import Call
from transpile.facts.values import External, Opaque, Value
from transpile.plan.graph import called_names
from transpile.plan.model import Plan
from transpile.result import Verdict
from transpile.rule import Answer, Ruling

CODES = {"PT104": "the script trains in processes or threads of its own"}
MODULES = ("multiprocessing.", "torch.multiprocessing.", "concurrent.futures.", "threading.")
#: Constructors and methods that run a function elsewhere.
STARTS = frozenset(
    {
        "Process", "Thread", "Timer", "spawn", "start_processes", "submit", "map", "starmap",
        "imap", "imap_unordered", "apply", "apply_async", "map_async", "starmap_async",
    }
)  # fmt: skip


def decide(plan: Plan) -> Iterator[Answer]:
    """One refusal for each place that starts training elsewhere."""
    entered = {
        id(frame.node): frame
        for backward in plan.backwards
        if not backward.event.detached
        for frame in backward.event.stack
        if isinstance(frame, Call) and frame.node is not None
    }
    seen: set[int] = set()
    for event in plan.facts.events:
        if event.kind != "call" or id(event.node) not in entered or id(event.node) in seen:
            continue
        name = next(filter(None, map(started_by, event.callee)), "")
        if name:
            seen.add(id(event.node))
            yield Ruling(
                "PT104",
                Verdict.REFUSE,
                event.module,
                event.node,
                f"the script trains in processes or threads of its own ({name}): it is parallel in "
                "its own way already",
                "call the training function directly; the launcher starts the processes",
                decisive=True,
            )


def started_by(callee: Value) -> str:
    """The name of what starts a process or thread; empty for other callees."""
    if isinstance(callee, External):
        starts = callee.name.rpartition(".")[2] in STARTS
        return callee.name if starts and callee.name.startswith(MODULES) else ""
    if isinstance(callee, Opaque) and callee.kind == "attribute" and callee.name in STARTS:
        for receiver in callee.operands[0]:
            for made in called_names(receiver):
                if made.startswith(MODULES):
                    return f"{made}().{callee.name}"
    return ""
