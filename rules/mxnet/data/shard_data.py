"""Give every worker its own part of the training data.

What:
    A Gluon ``DataLoader`` gets a sampler of this worker's samples of each batch, in an order that
    rank 0 redraws for every epoch. ``NDArrayIter`` gets this worker's samples of its arrays.
    The record iterators, ``MNISTIter`` and ``LibSVMIter`` get ``num_parts`` and ``part_index``,
    and as many batches as the worker with the fewest has. Data for evaluation stays whole.

Why:
    Without it every worker trains on every sample: N times the work for the same model. Workers
    with different numbers of batches wait for each other for ever.

Before:
    loader = gluon.data.DataLoader(train_set, 64, shuffle=True)

After:
    train_sampler = None
    if get_num_workers() > 1:
        train_sampler = ShardSampler(len(train_set), shuffle=True)
    loader = gluon.data.DataLoader(
        train_set, 64, shuffle=train_sampler is None, sampler=train_sampler
    )

Refuses when:
    the data comes from no loader at all, from one that takes no part, or its arguments cannot be
    followed.

Source:
    https://mxnet.apache.org/versions/1.9.1/api/faq/distributed_training#distributed-training
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.values import Argument, Constant
from transpile.layout import add_argument, insert_before, replace_argument_value, wrap_expression
from transpile.layout.calls import written_call
from transpile.layout.lines import statement_indentation
from transpile.layout.moves import bind_above
from transpile.plan.data.sources import constant_of
from transpile.plan.flow.places import insertion_place
from transpile.plan.graph import called_names
from transpile.plan.model import Plan
from transpile.records import dataclass
from transpile.rule import Answer, Change, Helper, In, Ruling, Rulings
from transpile.rules.mxnet._roles import Fit, Update, fed, fits, fits_at
from transpile.rules.mxnet._vocabulary import PARTS
from transpile.rules.mxnet.data._loaders import (
    ARRAYS,
    GLUON,
    Site,
    also_evaluates,
    asks_workers,
    from_store,
    is_shared_out,
    is_simple,
    sites,
    written,
)
from transpile.rules.mxnet.data._shares import way
from transpile.rules.mxnet.data._slices import NOT_SEEN, cuts_of
from transpile.rules.mxnet.data._unknown_data import unknown_sources

CODES = {
    "MX201": "each worker draws its own part of the training data",
    "MX202": "the training data cannot be parted",
    "MX203": "training draws its batches from no loader",
}
#: Where calls are split, every worker has whole batches.
WAYS = ("data",)
BY_HAND = "give each worker its part by hand, by the rank and num_workers of the store"
#: What gives an iterator a number of batches.
RESIZED = "mxnet.io.ResizeIter"
#: Iterators whose parts have equal lengths.
EQUAL = frozenset({"mxnet.image.ImageIter", "mxnet.image.ImageDetIter"})


@dataclass(frozen=True, eq=False)
class Shard:
    """How a call is to be changed.

    Args:
        site: the call.
        sampler: the variable of a Gluon loader's sampler.
        parted: the script gives each worker its part already.
    """

    site: Site
    sampler: str = ""
    parted: bool = False

    @property
    def dataset(self) -> cst.BaseExpression | None:
        """The data set of a Gluon loader, where it is bound to a name first."""
        dataset = self.site.loader.argument("dataset") if self.site.kind == GLUON else None
        node = dataset.node if dataset is not None else None
        return node if isinstance(node, cst.BaseExpression) and not is_simple(node) else None


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each call that makes training data, and for training without any."""
    for site in sites(plan):
        if is_done(plan, site) and may_differ(plan, site):
            yield Ruling.apply(
                "MX201",
                site,
                "all workers draw as many batches as the one with the fewest",
                data=Shard(site, parted=True),
                claims=(site.node,),
            )
            continue
        if is_done(plan, site):
            yield Ruling.done("MX201", site, "each worker has its part", claims=(site.node,))
            continue
        if way(plan, site):
            continue
        why = obstacle(plan, site)
        if why:
            yield Ruling.refuse("MX202", site, why, BY_HAND)
            continue
        sampler = plan.names_in(site.module).fresh("train_sampler", f"sampler {id(site.node)}")
        yield Ruling.apply(
            "MX201",
            site,
            "each worker draws its own part",
            data=Shard(site, sampler),
            claims=(site.node,),
        )
    yield from without_data(plan)


def without_data(plan: Plan) -> Iterator[Ruling]:
    """Refusals of training whose batches come from nowhere that could be parted."""
    unfed: list[tuple[Update | Fit, str]] = [
        (cuts.update, cuts.why_not) for cuts in cuts_of(plan) if cuts.why_not
    ]
    unfed.extend(
        (fit, NOT_SEEN)
        for fit in fits(plan)
        if fit.data and not all(fed(plan, each) for each in fits_at(plan, fit))
    )
    seen: set[int] = set()
    for each, name in unknown_sources(plan):
        if id(each.event.node) not in seen:
            seen.add(id(each.event.node))
            why = f"this training may draw its batches from {name}, too, which cannot be analysed"
            unfed.append((each, why))
    for each, why in unfed:
        yield Ruling.refuse(
            "MX203",
            each.event,
            why,
            "draw the batches from a DataLoader or an iterator that the script makes itself",
        )


def is_done(plan: Plan, site: Site) -> bool:
    """Whether a call gives each worker its part already."""
    shared: bool = is_shared_out(plan, site)
    if site.kind in (GLUON, "") or shared:
        return shared
    name = "data" if site.kind == ARRAYS else "part_index"
    argument = site.loader.argument(name) or site.loader.event.arguments.keyword(name)
    done: bool = argument is not None and from_store(argument.values, "rank")
    return done


def may_differ(plan: Plan, site: Site) -> bool:
    """Whether workers may have different numbers of batches of data that the script parts itself.

    Not where it says how many an epoch has.
    """
    if site.kind not in PARTS - EQUAL or plan.options.kvstore == "dist_async":
        return False
    made = {id(loader.value) for loader in site.loaders}
    if any(fit.argument("epoch_size") or fit.event.arguments.rest for fit in fits(plan)):
        return False
    for event in plan.facts.calls:
        given = [value for each in event.arguments.items for value in each.values]
        resized = any(name == RESIZED for value in event.result for name in called_names(value))
        if resized and any(id(value) in made for value in given):
            return False
    around = site.module.source.parent(site.node)
    call = site.module.source.parent(around) if isinstance(around, cst.Arg) else None
    return not (isinstance(call, cst.Call) and asks_workers(plan, call))


def obstacle(plan: Plan, site: Site) -> str:
    """Why the data of a call cannot be parted; empty where it can."""
    loader, kind = site.loader, site.kind
    if kind not in (GLUON, ARRAYS) and kind not in PARTS:
        return f"{kind.rpartition('.')[2]} cannot be given a part of the data"
    unknown = loader.event.arguments.unknown_because
    if unknown:
        return f"the arguments of this call are not known: {unknown}"
    if also_evaluates(plan, site):
        return "the same call makes data for evaluation, which must stay whole"
    if kind == GLUON:
        return gluon_obstacle(site)
    if kind == ARRAYS:
        return array_obstacle(site)
    for name in ("num_parts", "part_index"):
        if loader.event.arguments.keyword(name) is not None:
            return f"{name} is given already, and does not come from a store"
    return ""


def gluon_obstacle(site: Site) -> str:
    """Why a Gluon loader cannot be parted."""
    loader = site.loader
    dataset = loader.argument("dataset")
    if dataset is None or not written(site, dataset):
        return "it is not clear which data set this loader draws from"
    for name in ("shuffle", "last_batch"):
        argument = loader.argument(name)
        if argument is not None and not written(site, argument):
            return f"it is not known where {name} comes from"
    if constant_of(loader.argument("last_batch"), "keep") not in ("keep", "discard", None):
        return "samples that roll over into the next epoch would do so for each worker apart"
    return ""


def array_obstacle(site: Site) -> str:
    """Why an iterator over arrays cannot be parted."""
    for name in ("data", "label"):
        argument = site.loader.argument(name)
        if argument is not None and not written(site, argument):
            return f"it is not known where {name} comes from"
    if site.loader.argument("data") is None:
        return "it is not known which arrays this iterator goes through"
    if constant_of(site.loader.argument("last_batch_handle"), "pad") not in ("pad", "discard"):
        return "samples that roll over into the next epoch would do so for each worker apart"
    return ""


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The part of one call."""
    data: Shard = ruling.data
    if data.site.kind == GLUON:
        yield from gluon_edits(plan, data)
    elif data.site.kind == ARRAYS:
        yield from array_edits(plan, data.site)
    elif not data.parted:
        yield from part_edits(plan, data.site)
    else:
        yield from length_edits(plan, data.site)


def gluon_edits(plan: Plan, data: Shard) -> Iterator[Change]:
    """The sampler above the call, and the call's arguments."""
    site = data.site
    module, source = site.module, site.module.source
    statement = insertion_place(module, site.node)
    dataset = site.loader.argument("dataset")
    assert statement is not None and dataset is not None
    assert isinstance(dataset.node, cst.BaseExpression)
    yield Helper("ShardSampler", module)
    yield Helper("get_num_workers", module)
    text = source.code(dataset.node)
    if not is_simple(dataset.node):
        text = plan.names_in(site.module).fresh("train_dataset", f"dataset {id(site.node)}")
        for edit in bind_above(source, statement, dataset.node, text):
            yield In(module, edit)
    shuffle, last = site.loader.argument("shuffle"), site.loader.argument("last_batch")
    arguments = [f"len({text})"]
    if constant_of(shuffle, False) not in (False, 0, None):
        assert shuffle is not None
        arguments.append(f"shuffle={source.code(shuffle.node)}")
    if constant_of(last, "keep") == "discard":
        arguments.append("drop_last=True")
    elif constant_of(last, "keep") is ...:
        assert last is not None
        arguments.append(f'drop_last={source.code(last.node)} == "discard"')
    columns = len(statement_indentation(source, statement)) + 4
    names = plan.names_in(module)
    head = f"{data.sampler} = {names.fresh('ShardSampler')}"
    lines = [f"{data.sampler} = None", f"if {names.fresh('get_num_workers')}() > 1:"]
    lines += [f"    {line}" for line in written_call(head, arguments, columns)]
    for edit in insert_before(source, statement, lines, order=10):
        yield In(module, edit)
    yield from sampler_arguments(site, data.sampler, shuffle)


def sampler_arguments(site: Site, sampler: str, shuffle: Argument | None) -> Iterator[Change]:
    """The sampler goes into the call, and shuffling out of it."""
    source, module, call = site.module.source, site.module, site.node
    if shuffle is not None and constant_of(shuffle, False) not in (False, 0, None):
        text = f"{sampler} is None"
        if constant_of(shuffle, False) is not True:
            text += f" and ({source.code(shuffle.node)})"
        argument = next(arg for arg in call.args if arg.value is shuffle.node)
        for edit in replace_argument_value(source, call, argument, text):
            yield In(module, edit)
    given = site.loader.argument("sampler")
    existing = next((arg for arg in call.args if given and arg.value is given.node), None)
    changes = (
        replace_argument_value(source, call, existing, sampler)
        if existing is not None
        else add_argument(source, call, f"sampler={sampler}")
    )
    for edit in changes:
        yield In(module, edit)


def array_edits(plan: Plan, site: Site) -> Iterator[Change]:
    """This worker's samples of the arrays of a call."""
    yield Helper("shard", site.module)
    shard = plan.names_in(site.module).fresh("shard")
    cut = constant_of(site.loader.argument("last_batch_handle"), "pad") == "discard"
    for name in ("data", "label"):
        argument = site.loader.argument(name)
        if argument is None or argument.values == (Constant(None),):
            continue
        assert isinstance(argument.node, cst.BaseExpression)
        closing = ", drop_last=True)" if cut else ")"
        for edit in wrap_expression(site.module.source, argument.node, f"{shard}(", closing):
            yield In(site.module, edit)


def part_edits(plan: Plan, site: Site) -> Iterator[Change]:
    """The part of an iterator that knows parts, and the number of its batches."""
    source, module = site.module.source, site.module
    yield Helper("get_num_workers", site.module)
    yield Helper("get_rank", site.module)
    for order, text in enumerate(
        (
            f"num_parts={plan.names_in(site.module).fresh('get_num_workers')}()",
            f"part_index={plan.names_in(site.module).fresh('get_rank')}()",
        )
    ):
        for edit in add_argument(source, site.node, text, order):
            yield In(module, edit)
    if site.kind not in EQUAL and plan.options.kvstore != "dist_async":
        yield from length_edits(plan, site)


def length_edits(plan: Plan, site: Site) -> Iterator[Change]:
    """The number of batches of an iterator that knows parts."""
    yield Helper("agree_on_length", site.module)
    opening = f"{plan.names_in(site.module).fresh('agree_on_length')}("
    for edit in wrap_expression(site.module.source, site.node, opening, ")"):
        yield In(site.module, edit)
