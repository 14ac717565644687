"""What collate functions make of several samples of a batch, in every framework."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.module import Module
from transpile.facts.values import Constant, External, Function, Opaque, Sequence, Value
from transpile.facts.walk import descendants
from transpile.plan.data.collation import collated_by, returned
from transpile.plan.data.data_code import given_to, held_by, methods
from transpile.plan.data.sources import made_by, sites
from transpile.plan.data.varying_rows import samples_of, varying_rows
from transpile.plan.graph import walk_back
from transpile.plan.model import Loader, Plan
from transpile.quantity.algebra import STATISTIC
from transpile.quantity.asking import Analysis, Kind, Quantity
from transpile.quantity.sample_axis.collation import parts_of
from transpile.quantity.sample_axis.shapes import PIECES
from transpile.quantity.tensors.places import BY_SHARE
from transpile.rule import Remark, Ruling

#: Functions that count up.
COUNTING = frozenset({"arange", "linspace", "logspace"})
#: How reasons begin that tell nothing of the samples.
NOTHING_KNOWN = "nothing is known"
#: What is said of samples that are handled one by one: by a collate function, and by their indices.
COLLATED = frozenset({PIECES})
ONE_BY_ONE = frozenset({PIECES, BY_SHARE})
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
            for who, asked in (
                ("collate function", collated_by(one)),
                ("data set", listed_by(one)),
            ):
                own = asking_for_lists(plan, asked) if who == "data set" and asked else quantities
                for part, why in mixed_rows(plan, asked, own):
                    if id(part.node) not in seen:
                        seen.add(id(part.node))
                        yield Remark.warn(
                            code,
                            part,
                            f"the {who} computes with several samples of a batch, and each "
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


def listed_by(loader: Loader) -> tuple[Function, ...]:
    """The methods of a loader's data set that are asked for all samples of a batch at once."""
    held = tuple(held_by(given_to(loader, "dataset")).values())
    size, order = loader.argument("batch_size"), given_to(loader, "sampler")
    if size is None or size.values != (Constant(None),):
        return tuple(methods(held, ("__getitems__",)))
    # Without a size of batches, the data set is given what the sampler gives.
    lists = any(name.rpartition(".")[2] == "BatchSampler" for one in order for name in made_by(one))
    return tuple(methods(held, ("__getitem__",))) if lists else ()


def asking_for_lists(plan: Plan, asked: tuple[Function, ...]) -> Analysis:
    """The quantities where some methods are given the indices of all samples of a batch."""
    found = Analysis(plan)
    found.passes.update((id(function.node), 0) for function in asked)
    return found


def mixed_rows(
    plan: Plan, functions: tuple[Function, ...], quantities: Analysis
) -> Iterator[tuple[Opaque, str]]:
    """The parts of what functions give in which samples depend on each other, and why."""
    for function in functions:
        for values in returned(plan, function):
            for batch in values:
                for part in given(batch):
                    why = why_mixed(part, quantities, ONE_BY_ONE if quantities.passes else COLLATED)
                    if why and isinstance(part, Opaque):
                        yield part, why


def why_mixed(part: Value, quantities: Analysis, alone: frozenset[str]) -> str:
    """Why the samples of a part of a batch depend on each other; empty where they do not.

    Args:
        part: the part.
        quantities: those of the plan's values.
        alone: the reasons that say that samples are handled one by one.
    """
    found = quantities.of((part,))
    if found.reason in alone:
        # Samples that are handled one by one may meet a number of all of them.
        behind = (quantities.of((value,)) for value in walk_back((part,)))
        found = next((one for one in behind if is_of_several(one)), found)
    if found.reason in alone or found.reason.startswith(NOTHING_KNOWN):
        return ""
    unknown = found.kind is Kind.UNKNOWN and found.sampled
    return (found.reason or STATISTIC) if found.coupled or unknown or is_of_several(found) else ""


def is_of_several(found: Quantity) -> bool:
    """Whether something is made of several samples together."""
    return found.coupled or (found.kind is Kind.PART and found.tensor)


def given(batch: Value) -> Iterator[Value]:
    """The parts of a batch, and what lists of samples are made of."""
    for _, parts in parts_of(batch):
        for part in parts:
            if isinstance(part, Sequence):
                for one in part.every():
                    yield from given(one)
            elif isinstance(part, Opaque) and part.kind == "element":
                yield from part.operands[0]
            else:
                yield part
