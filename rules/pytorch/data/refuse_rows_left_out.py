"""Refuse batches from which samples are left out while they are put together.

What:
    A ``collate_fn`` of a training loader that leaves out samples, by a condition on what they are,
    is an error, and so is one that cuts off some of them, or that joins rows of samples where the
    loss is taken over the rows. Numbers of joined rows that are reported are a warning, and so are
    samples that are computed from the others of their batch, such as by taking off its mean.

Why:
    Each process leaves out some of its own share. The shares are then of different sizes, and the
    average over processes is no longer the mean over the batch. Where a share has none left, its
    process may skip a step that the others wait in.

Before:
    def collate(batch):
        batch = [sample for sample in batch if sample is not None]
        return default_collate(batch)

After:
    def collate(batch):
        batch = [blank if sample is None else sample for sample in batch]
        return default_collate(batch)

Refuses when:
    the number of rows depends on the samples, or is not that of the samples.

Source:
    https://pytorch.org/docs/stable/data.html#working-with-collate-fn
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.backends.collations import leaving_out, mixing
from transpile.facts.events import Event
from transpile.facts.values import External
from transpile.plan.data.data_code import given_to
from transpile.plan.data.sources import sites
from transpile.plan.model import Plan
from transpile.quantity.asking import analysis
from transpile.rule import Answer, Remark, Ruling
from transpile.rules.pytorch.data._joined_rows import counted_rows, joined_rows

CODES = {
    "PT220": "samples are left out while a batch is put together",
    "PT236": "samples are computed from others while a batch is put together",
}
#: Where calls are sharded, every rank has the whole batch.
WAYS = ("data",)
#: The beginnings of the names of collate functions that give a row for each sample.
ROW_BY_ROW = ("torch.", "torchvision.", "transformers.", "timm.", "datasets.", "builtins.")


def decide(plan: Plan) -> Iterator[Answer]:
    """One refusal for each place that leaves out samples."""
    left_out = list(leaving_out(plan, "PT220"))
    yield from left_out
    seen = {id(each.node) for each in left_out}
    for site in sites(plan):
        joined = next((found for one in site.loaders for found in joined_rows(plan, one)), None)
        if joined is None or id(joined.node) in seen:
            continue
        seen.add(id(joined.node))
        yield Ruling.refuse(
            "PT220",
            joined,
            "the collate function joins rows of samples, each of which may have another number of "
            "them, and the loss is taken over the rows: the shares would be of different sizes",
            "let every sample have as many rows, and stack them",
        )
    for event, name in unknown_collates(plan):
        yield Remark.warn(
            "PT220",
            event,
            f"nothing is known of '{name}', which puts batches together: where it leaves out "
            "samples or joins rows of them, the shares of the processes are of different sizes",
            "put it into the project, or use --shard calls",
        )
    for node, module in () if seen else counted_rows(plan):
        if id(node) not in seen:
            seen.add(id(node))
            yield Remark.warn(
                "PT220",
                (module, node),
                "the collate function joins rows of samples, each of which may have another number "
                "of them, and what is reported is made of the rows: it is that of one process",
                "count samples, not rows, or use --shard calls",
            )
    yield from mixing(plan, "PT236", analysis(plan))


def unknown_collates(plan: Plan) -> Iterator[tuple[Event, str]]:
    """The training loaders whose batches a library that is not known puts together."""
    for loader in plan.training_loaders:
        for value in given_to(loader, "collate_fn"):
            name = value.name if isinstance(value, External) else ""
            if name and not name.startswith(ROW_BY_ROW):
                yield loader.event, name
                break
