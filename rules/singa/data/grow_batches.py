"""Let every process take the script's batch size.

What:
    With ``--batch-size per-device`` the size of a batch is multiplied by the number of processes
    where the script says it, so that everything on the host follows: each process takes its share
    of the larger batch, which is the script's size. Scripts with a path of their own for several
    processes part the data by rank instead, as the examples of SINGA do.

Why:
    A GPU is best used with the batch that was chosen for it. What N processes train is then what
    one would train with an N times larger batch, and is printed so.

Before:
    batch_size = 64

After:
    batch_size = 64 * get_world_size()

Refuses when:
    it cannot be seen where the script says how large a batch is.

Source:
    https://singa.apache.org/docs/dist-train/
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.layout import multiply_expression
from transpile.plan.data.batch_size.said import Said, said_at
from transpile.plan.model import Plan
from transpile.result import Verdict
from transpile.rule import Answer, Change, Helper, In, Ruling, Rulings
from transpile.rules.singa.data._batches import shares
from transpile.rules.singa.gradients.share_optimizer import is_shared
from transpile.rules.singa.processes._own_path import own_path

CODES = {
    "SG191": "every process takes the script's batch size",
    "SG192": "it is not seen where the script says how large a batch is",
}


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each place that says how large a batch is."""
    if plan.options.batch_size != "per-device" or own_path(plan) is not None or is_shared(plan):
        return
    sizes = [share for share in shares(plan) if share.helper == "share_size"]
    if not sizes:
        yield Ruling.refuse(
            "SG192",
            (plan.entry, plan.entry.source.tree),
            "no tensor says how large a batch is, which --batch-size per-device would change",
            "choose --batch-size global",
        )
    found: dict[int, Said] = {}
    for share in sizes:
        assert isinstance(share.node, cst.BaseExpression)
        for said in said_at(plan, share.module, share.node):
            found.setdefault(id(said.node), said)
    for said in found.values():
        yield Ruling(
            "SG192" if said.why_not else "SG191",
            Verdict.REFUSE if said.why_not else Verdict.APPLY,
            said.module,
            said.node,
            said.why_not or "every process takes the script's batch size",
            "give the size of a batch a name where it is assigned once",
            data=said,
        )


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The number of processes behind the size."""
    said: Said = ruling.data
    yield Helper("get_world_size", said.module)
    name = plan.names_in(said.module).fresh("get_world_size")
    for edit in multiply_expression(said.module.source, said.node, f"{name}()"):
        yield In(said.module, edit)
