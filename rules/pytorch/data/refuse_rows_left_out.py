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

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.module import Module
from transpile.facts.values import External, Opaque
from transpile.facts.walk import descendants
from transpile.plan.data.collation import functions_of, returned
from transpile.plan.data.data_code import given_to
from transpile.plan.data.sources import sites
from transpile.plan.data.varying_rows import varying_rows
from transpile.plan.model import Loader, Plan
from transpile.quantity.algebra import STATISTIC
from transpile.quantity.asking import Kind, analysis
from transpile.quantity.sample_axis.collation import parts_of
from transpile.quantity.sample_axis.shapes import PIECES
from transpile.rule import Answer, Remark, Ruling
from transpile.rules.pytorch.data._data import names_called
from transpile.rules.pytorch.data._joined_rows import counted_rows, joined_rows

CODES = {
    "PT220": "samples are left out while a batch is put together",
    "PT236": "samples are computed from others while a batch is put together",
}
#: Where calls are sharded, every rank has the whole batch.
WAYS = ("data",)
#: Functions that count up.
COUNTING = frozenset(
    {"torch.arange", "torch.linspace", "torch.logspace", "numpy.arange", "numpy.linspace"}
)
#: The beginnings of the names of collate functions that give a row for each sample.
ROW_BY_ROW = ("torch.", "torchvision.", "transformers.", "timm.", "datasets.", "builtins.")
#: How reasons begin that tell nothing of the samples.
NOTHING_KNOWN = "nothing is known"


def decide(plan: Plan) -> Iterator[Answer]:
    """One refusal for each place that leaves out samples."""
    seen: set[int] = set()
    for site in sites(plan):
        rows = next((found for one in site.loaders for found in varying_rows(plan, one)), None)
        if rows is None or id(rows.node) in seen:
            continue
        seen.add(id(rows.node))
        yield Ruling.refuse(
            "PT220",
            rows,
            "the collate function of the training loader leaves out samples here: the shares of "
            "the processes would be of different sizes, some perhaps empty",
            "leave them out of the data set, before the loader is made",
        )
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
    for site in sites(plan):
        for one in site.loaders:
            for part, why in mixed_rows(plan, one):
                if id(part.node) not in seen:
                    seen.add(id(part.node))
                    yield Remark.warn(
                        "PT236",
                        part,
                        "the collate function computes with several samples of a batch, and each "
                        f"process sees its share of them only: {why}",
                        "compute it for each sample, or over the whole data set",
                    )
            for where in places_counted(plan, one):
                if id(where[1]) not in seen:
                    seen.add(id(where[1]))
                    yield Remark.warn(
                        "PT236",
                        where,
                        "the collate function computes here with the places of samples in their "
                        "batch: in the share of one process they stand at others",
                        "compute it for each sample, or over the whole data set",
                    )


def unknown_collates(plan: Plan) -> Iterator[tuple[Event, str]]:
    """The training loaders whose batches a library that is not known puts together."""
    for loader in plan.training_loaders:
        for value in given_to(loader, "collate_fn"):
            name = value.name if isinstance(value, External) else ""
            if name and not name.startswith(ROW_BY_ROW):
                yield loader.event, name
                break


def places_counted(plan: Plan, loader: Loader) -> Iterator[tuple[Module, cst.CSTNode]]:
    """Where a collate function counts up over its samples, or cuts off a part of them."""
    for function in functions_of(given_to(loader, "collate_fn")):
        parameters = function.node.params
        names = {each.name.value for each in (*parameters.posonly_params, *parameters.params)}
        for node in descendants(function.node):
            parts: list[cst.CSTNode] = []
            if isinstance(node, cst.Call):
                if not COUNTING.isdisjoint(names_called(plan, node)):
                    parts = [argument.value for argument in node.args]
            elif isinstance(node, cst.Slice):
                # So many of them may be all.
                parts = [b for b in (node.lower, node.upper) if isinstance(b, cst.BinaryOperation)]
            if any(counts(part, names) for part in parts):
                yield function.module, node


def counts(node: cst.CSTNode, names: set[str]) -> bool:
    """Whether an expression is made of how many samples a collate function is given."""
    return any(
        isinstance(call, cst.Call)
        and isinstance(call.func, cst.Name)
        and call.func.value == "len"
        and any(isinstance(a.value, cst.Name) and a.value.value in names for a in call.args)
        for call in descendants(node)
    )


def mixed_rows(plan: Plan, loader: Loader) -> Iterator[tuple[Opaque, str]]:
    """The parts of a batch in which samples depend on each other, and why."""
    quantities = analysis(plan)
    for function in functions_of(given_to(loader, "collate_fn")):
        for values in returned(plan, function):
            for batch in values:
                for _, parts in parts_of(batch):
                    for part in parts:
                        found = quantities.of((part,))
                        unknown = found.kind is Kind.UNKNOWN and found.sampled
                        if not isinstance(part, Opaque) or not (found.coupled or unknown):
                            continue
                        if found.reason == PIECES or found.reason.startswith(NOTHING_KNOWN):
                            continue
                        yield part, found.reason or STATISTIC
