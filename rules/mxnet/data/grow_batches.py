"""Let every device of a worker take the script's batch size.

What:
    With ``--batch-size per-device`` a script that splits its batches over several devices takes a
    batch of its size for each of them: the size is multiplied by the number of devices where the
    script says it, so that divisors and counts of batches follow. Without a launcher it stays.

Why:
    A GPU is best used with the batch that was chosen for it: 64 samples on each of 4 GPUs are 256
    for a worker, and 512 for two workers.

Before:
    batch_size = 64

After:
    batch_size = times_devices(64, 4)

Refuses when:
    it cannot be seen where the script says how large a batch is.

Source:
    https://mxnet.apache.org/versions/1.9.1/api/faq/distributed_training
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.layout import wrap_expression
from transpile.plan.data.batch_size.said import Said, said_at
from transpile.plan.model import Plan
from transpile.rule import Answer, Change, Helper, In, Remark, Ruling, Rulings
from transpile.rules.mxnet._roles import updates
from transpile.rules.mxnet.data._batch_shapes import batch_size, binds, bound_to_batch
from transpile.rules.mxnet.data._devices import count_of_devices, counts_devices
from transpile.rules.mxnet.data._draws import bound_lengths
from transpile.rules.mxnet.data._loaders import counts_workers, sites
from transpile.rules.mxnet.gradients._divisors import is_batch_size
from transpile.rules.mxnet.losses._losses import is_size

CODES = {
    "MX216": "every device of a worker takes the batch size of the script",
    "MX217": "a worker takes the batch size of the script for all its devices",
    "MX218": "it is not seen where the script says how large a batch is",
}
#: Where calls are split, every worker has whole batches.
WAYS = ("data",)


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each place that says how large a batch is."""
    if plan.options.batch_size != "per-device" or counts_workers(plan):
        return
    devices = count_of_devices(plan)
    found: dict[int, Said] = {}
    for site in sites(plan):
        argument = batch_size(site)
        if devices == 1 or argument is None or counts_devices(plan, argument.values):
            continue
        if devices is None:
            yield Remark.warn(
                "MX217",
                site,
                "how many devices a worker has shows when the script runs: all of them together "
                "take the batch size of the script",
                "multiply the batch size by the number of devices, where the script says it",
            )
        elif isinstance(argument.node, cst.BaseExpression):
            for said in said_at(plan, site.module, argument.node, site.loader.event.stack):
                found.setdefault(id(said.node), said)
    for said in (*said_by_steps(plan), *said_by_shapes(plan)) if found else ():
        found.setdefault(id(said.node), said)
    for said in found.values():
        yield answer(said, devices)


def said_by_steps(plan: Plan) -> Iterator[Said]:
    """Where the batch sizes are said that steps divide by."""
    for update in updates(plan):
        given = update.event.arguments.get("batch_size", 0) if update.trainer else None
        if given is None or not isinstance(given.node, cst.BaseExpression):
            continue
        # The rows of what a loader gives are as many as it was told.
        if is_batch_size(plan, given.values) and not is_size(given.values):
            yield from said_at(plan, update.event.module, given.node, update.event.stack)


def said_by_shapes(plan: Plan) -> Iterator[Said]:
    """Where the batch sizes are said that modules are bound to."""
    for event in binds(plan):
        for node in (bound_lengths(event) or ()) if bound_to_batch(plan, event) else ():
            yield from said_at(plan, event.module, node, event.stack)


def answer(said: Said, devices: int | None) -> Ruling:
    """The answer for one place that says a size."""
    if said.why_not:
        return Ruling.refuse(
            "MX218", said, said.why_not, "give the size of a batch a name where it is assigned once"
        )
    return Ruling.apply(
        "MX216",
        said,
        f"each of the {devices} devices of a worker takes the batch size of the script",
        data=(said, devices),
    )


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The number of devices beside the size."""
    said, devices = ruling.data
    yield Helper("times_devices", said.module)
    name = plan.names_in(said.module).fresh("times_devices")
    for edit in wrap_expression(said.module.source, said.node, f"{name}(", f", {devices})"):
        yield In(said.module, edit)
