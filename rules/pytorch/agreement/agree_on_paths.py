"""Take what names a file or folder of this run from rank 0.

What:
    The time, the number of the process or what was drawn, where it becomes part of a path that one
    process writes and all read.

Why:
    Each process reads its own clock. Rank 0 makes the folder and writes there; the others look for
    one of another name, in which there is nothing.

Before:
    folder = datetime.now().strftime("runs/%Y%m%d-%H%M%S")

After:
    folder = from_main_process(datetime.now()).strftime("runs/%Y%m%d-%H%M%S")

Refuses when:
    never: a path that is made before the processes know of each other, or by some of them only, is
    a warning where it is read.

Source:
    https://pytorch.org/docs/stable/distributed.html#torch.distributed.broadcast_object_list
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.layout import wrap_expression
from transpile.plan.model import Plan
from transpile.rule import Answer, Change, Helper, In, Ruling, Rulings
from transpile.rules.pytorch.agreement._own_paths import own_paths
from transpile.rules.pytorch.data._data import agreed_nodes

CODES = {"PT742": "what names the files of a run is that of rank 0"}


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each call that makes a path another one in each process."""
    done = agreed_nodes(plan)
    for event in own_paths(plan).agreed.values():
        yield Ruling.apply(
            "PT742",
            event,
            "all processes read what one writes to a path made of this",
            done=id(event.node) in done,
        )


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The call within the helper."""
    assert isinstance(ruling.node, cst.BaseExpression)
    yield Helper("from_main_process", ruling.module)
    name = plan.names_in(ruling.module).fresh("from_main_process")
    for edit in wrap_expression(ruling.module.source, ruling.node, f"{name}(", ")"):
        yield In(ruling.module, edit)
