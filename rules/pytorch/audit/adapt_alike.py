"""Find learning rates that follow what one process alone has seen.

What:
    ``ReduceLROnPlateau.step`` is given a number of this process's batches, or of its part of an
    evaluation.

Why:
    Each process sees another number, so that the learning rate drops on one and not on another. The
    gradients are averaged, the steps are not the same any more: the models diverge, and nothing
    says so.

Before:
    scheduler.step(val_loss)

After:
    dist.all_reduce(val_loss, op=dist.ReduceOp.AVG)
    scheduler.step(val_loss)

Refuses when:
    the number differs between processes.

Source:
    https://pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.ReduceLROnPlateau.html
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.audit.model import Audit
from transpile.facts.events import Event
from transpile.facts.values import Opaque
from transpile.plan.graph import called_names, walk_back
from transpile.rule import Remark
from transpile.rules.pytorch.agreement._divergence import NOTHING_REDUCED, Cause, Divergence
from transpile.rules.pytorch.audit._data import engines, evaluates_parts
from transpile.rules.pytorch.audit._splits import splits_calls

CODES = {"AU113": "a learning rate follows what this process alone has seen"}
PLATEAU = "torch.optim.lr_scheduler.ReduceLROnPlateau"


def decide(audit: Audit) -> Iterator[Remark]:
    """One remark for each scheduler that is given a number of one process."""
    if engines(audit) or splits_calls(audit):
        return
    divergence: Divergence | None = None
    seen: set[int] = set()
    for event in audit.facts.calls:
        metric = metric_of(event)
        if metric is None or id(event.node) in seen or not audit.on_all(event.node):
            continue
        if divergence is None:
            divergence = Divergence(audit.plan, len(audit.facts.events), reduced=NOTHING_REDUCED)
        cause = divergence.cause(event.module, metric)
        if cause is Cause.BATCH or (cause is Cause.RESULTS and evaluates_parts(audit)):
            seen.add(id(event.node))
            yield Remark.error(
                "AU113",
                event,
                "this scheduler follows a number of this process's own part of the data, so that "
                "the learning rates of the processes part, and the models with them",
                "all-reduce the number before",
            )


def metric_of(event: Event) -> cst.BaseExpression | None:
    """What a call of ``ReduceLROnPlateau.step`` is given, as it is written."""
    for callee in event.callee:
        if not isinstance(callee, Opaque) or callee.kind != "attribute" or callee.name != "step":
            continue
        made = walk_back(callee.operands[0], lambda value: False)
        if any(PLATEAU in called_names(value) for value in made):
            if isinstance(event.node, cst.Call) and event.node.args:
                return event.node.args[0].value
    return None
