"""What collate functions make of several samples of a batch, in every framework."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.module import Module
from transpile.facts.values import External, Opaque
from transpile.facts.walk import descendants
from transpile.plan.data.collation import collated_by, returned
from transpile.plan.data.sources import sites
from transpile.plan.data.varying_rows import samples_of, varying_rows
from transpile.plan.model import Loader, Plan
from transpile.quantity.algebra import STATISTIC
from transpile.quantity.asking import Analysis, Kind
from transpile.quantity.sample_axis.collation import parts_of
from transpile.quantity.sample_axis.shapes import PIECES
from transpile.rule import Remark, Ruling

#: Functions that count up.
COUNTING = frozenset({"arange", "linspace", "logspace"})
#: How reasons begin that tell nothing of the samples.
NOTHING_KNOWN = "nothing is known"
BEFORE = "compute it for each sample, or over the whole data set"


def leaving_out(plan: Plan, code: str) -> Iterator[Ruling]:
    """One refusal for each place of a collate function that leaves out samples."""
    seen: set[int] = set()
    for site in sites(plan):
        rows = next((found for one in site.loaders for found in varying_rows(plan, one)), None)
        if rows is None or id(rows.node) in seen:
            continue
        seen.add(id(rows.node))
        yield Ruling.refuse(
            code,
            rows,
            "the collate function of the training loader leaves out samples here: the shares of "
            "the processes would be of different sizes, some perhaps empty",
            "leave them out of the data set, before the loader is made",
        )


def mixing(plan: Plan, code: str, quantities: Analysis) -> Iterator[Remark]:
    """One warning for each part of a batch that is made of several samples.

    Args:
        plan: the plan.
        code: that of the warnings.
        quantities: those of the plan's values.
    """
    seen: set[int] = set()
    for site in sites(plan):
        for one in site.loaders:
            for part, why in mixed_rows(plan, one, quantities):
                if id(part.node) not in seen:
                    seen.add(id(part.node))
                    yield Remark.warn(
                        code,
                        part,
                        "the collate function computes with several samples of a batch, and each "
                        f"process sees its share of them only: {why}",
                        BEFORE,
                    )
            for where in places_counted(plan, one):
                if id(where[1]) not in seen:
                    seen.add(id(where[1]))
                    yield Remark.warn(
                        code,
                        where,
                        "the collate function computes here with the places of samples in their "
                        "batch: in the share of one process they stand at others",
                        BEFORE,
                    )


def places_counted(plan: Plan, loader: Loader) -> Iterator[tuple[Module, cst.CSTNode]]:
    """Where a collate function counts up over its samples, or cuts off a part of them."""
    for function in collated_by(loader):
        names = samples_of(function)
        for node in descendants(function.node):
            parts: list[cst.CSTNode] = []
            if isinstance(node, cst.Call):
                called = plan.facts.values_of(node.func)
                words = {v.name.rpartition(".")[2] for v in called if isinstance(v, External)}
                if not COUNTING.isdisjoint(words):
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


def mixed_rows(plan: Plan, loader: Loader, quantities: Analysis) -> Iterator[tuple[Opaque, str]]:
    """The parts of a batch in which samples depend on each other, and why."""
    for function in collated_by(loader):
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
