"""Give every process its own shard of the training set.

What:
    A ``DistributedSampler`` is made for the dataset of each training loader and handed to it.
    Shuffling moves to the sampler, dropping the incomplete last batch goes to both. In a single
    process there is no sampler and the loader does what it did.

Why:
    Without a sampler every process trains on every sample: N times the work for the same model.
    A sampler beside ``shuffle=True`` is an error, and ``drop_last`` on the loader alone lets the
    processes take different numbers of steps.

Before:
    train_loader = DataLoader(train_set, batch_size=64, shuffle=True)

After:
    train_sampler = None
    if get_world_size() > 1:
        train_sampler = DistributedSampler(train_set, seed=shared_seed())
    train_loader = DataLoader(
        train_set, batch_size=64, shuffle=train_sampler is None, sampler=train_sampler
    )

Refuses when:
    the dataset, the shuffling or a sampler of the loader cannot be followed; its class is the
    script's own; the training batches come from no loader at all.

Source:
    https://pytorch.org/docs/stable/data.html#torch.utils.data.distributed.DistributedSampler
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.values import Constant, Instance, Mapping, Unknown
from transpile.layout import add_argument, insert_before, replace_argument_value
from transpile.layout.calls import LINE_LENGTH, written_call
from transpile.layout.lines import statement_indentation
from transpile.layout.long_lines import limit_of
from transpile.layout.moves import bind_above
from transpile.plan.data.batch_kinds import Batch, batch_of
from transpile.plan.data.passes import handed_out, passes_for_training
from transpile.plan.data.sources import (
    Site,
    constant_of,
    given,
    is_indirect,
    is_simple,
    sampler_name,
    sites,
)
from transpile.plan.effects.treatment import parameters_of
from transpile.plan.flow.places import function_of, insertion_place
from transpile.plan.model import Plan
from transpile.rule import Answer, Change, Helper, In, Remark, Ruling, Rulings
from transpile.rules.pytorch.data._cuts.search import sharing
from transpile.rules.pytorch.data._loaders import (
    Sharding,
    has_own_way,
    is_distributed_sampler,
    is_iterable_dataset,
    unknown_kind,
)
from transpile.rules.pytorch.data._phases import evaluating_phase
from transpile.rules.pytorch.data.share_sampler import compared, of_the_library
from transpile.rules.pytorch.devices._model_places import makes_tensors_on_gpu
from transpile.rules.pytorch.randomness._seeds import seed_text

#: Where calls are sharded, every rank has the whole batch.
WAYS = ("data",)
CODES = {
    "PT201": "each process draws its own shard of the training set",
    "PT202": "a training loader cannot be sharded",
    "PT203": "training draws its batches from no loader",
    "PT216": "a call out of the project is given a training loader",
    "PT214": "it is not known whether a data set can be indexed",
    "PT215": "training uses numbers that a separate pass takes from the training loader",
}
#: Functions of PyTorch that draw nothing from a loader, or whose result draws it in the script.
KNOWN = ("torch.utils.data.",)
BY_HAND = "give the loader a DistributedSampler by hand"
IN_BATCHES = "draw the batches from a DataLoader that the script makes itself"
IN_ROWS = f"{IN_BATCHES}; rows that a model keeps apart are shared out by --shard calls"


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each call that makes training loaders, and for training without any."""
    for site in sites(plan):
        if has_own_way(plan, site):
            continue
        if not is_indirect(plan, site) or obstacle(plan, site):
            yield decide_site(plan, site)
        dataset = site.loader.argument("dataset")
        maker = unknown_kind(dataset.values) if dataset is not None else ""
        if maker:
            yield Remark.warn(
                "PT214",
                site,
                f"what '{maker}' gives is sharded by index, and nothing is known of it: a stream "
                "has no length and cannot be indexed",
                "share a stream out by rank and by worker where it is made",
            )
    reached = [backward for backward in plan.backwards if not backward.event.detached]
    for backward in reached:
        if not backward.loaders and sharing(plan, backward).why_not:
            yield Ruling.refuse(
                "PT203",
                backward.event,
                sharing(plan, backward).why_not,
                IN_ROWS if batch_of(plan, backward) is Batch.FIXED else IN_BATCHES,
                decisive=not any(other.loaders or other.cuts for other in reached),
            )
    for event in handed_out(plan, KNOWN):
        yield Remark.warn(
            "PT216",
            event,
            "this call is given the training loader, and with several processes it sees only one "
            "process's share of the data",
            "give it a second DataLoader over the whole data set",
        )
    for event in passes_for_training(plan):
        yield Remark.warn(
            "PT215",
            event,
            "training uses what this pass over the training loader computes, and with several "
            "processes each computes it from its own share of the data",
            "compute it from the dataset, or through a second DataLoader that only this pass uses",
        )


def decide_site(plan: Plan, site: Site) -> Ruling:
    """The answer for one call."""
    why = obstacle(plan, site)
    if why == "done":
        return Ruling.done(
            "PT201", site, "the loader has a DistributedSampler", claims=(site.node,)
        )
    if why:
        return Ruling.refuse("PT202", site, why, BY_HAND)
    dataset = site.loader.argument("dataset")
    assert dataset is not None and isinstance(dataset.node, cst.BaseExpression)
    shuffle, drop_last = site.loader.argument("shuffle"), site.loader.argument("drop_last")
    options = options_text(site)
    data = Sharding(
        site,
        plan.names_in(site.module).fresh(sampler_name(site), f"sampler {id(site.node)}"),
        dataset.node,
        shuffle.node if shuffle is not None and shuffle.mapping is None else None,
        drop_last.node if drop_last is not None and drop_last.mapping is None else None,
        options,
    )
    return Ruling.apply(
        "PT201", site, "its dataset is sharded over the processes", data=data, claims=(site.node,)
    )


def obstacle(plan: Plan, site: Site) -> str:
    """Why a loader cannot be sharded; empty where it can, ``done`` where it is."""
    loader = site.loader
    if loader.foreign:
        return ""
    if any(isinstance(each.value, Instance) for each in site.loaders):
        return "the loader's class is the script's own, which may deliver batches in its own way"
    sampler, batch_sampler = given(site, "sampler"), given(site, "batch_sampler")
    if sampler is not None and is_distributed_sampler(sampler.values):
        return fixed_rank(sampler.values) or "done"
    phase: str = evaluating_phase(plan, site)
    if phase:
        return phase
    unknown = loader.event.arguments.unknown_because
    if unknown and not is_indirect(plan, site):
        return f"the arguments of this loader are not known: {unknown}"
    if is_indirect(plan, site) and (sampler is not None or batch_sampler is not None):
        return compared_in_batches(plan, site)
    if batch_sampler is not None:
        return "the loader has a batch sampler of its own, whose batches would have to be sharded"
    if sampler is not None:
        return "the loader has a sampler of its own, whose meaning a DistributedSampler would lose"
    dataset = loader.argument("dataset")
    if dataset is None or not (
        isinstance(dataset.node, cst.BaseExpression) or is_indirect(plan, site)
    ):
        return "it is not clear which dataset this loader draws from"
    if dataset.values and all(isinstance(value, Constant) for value in dataset.values):
        return "what is given for its dataset is a text or a number, and no data set"
    if is_iterable_dataset(dataset.values):
        return "the dataset is iterated, not indexed, and the loader is made together with others"
    if is_indirect(plan, site):
        return ""
    for name in ("shuffle", "drop_last"):
        argument = loader.argument(name)
        if argument is None:
            continue
        if any(isinstance(value, Unknown) for value in argument.values):
            return f"it is not known whether {name} is on"
        if argument.mapping is None and argument.node is None:
            return f"it is not known where {name} comes from"
    if options_text(site) is not None and not own_mapping(site):
        return "the dict that says whether to shuffle is unpacked elsewhere, too"
    return ""


def compared_in_batches(plan: Plan, site: Site) -> str:
    """Why a sampler of a loader that is rebuilt cannot be sharded; empty where it can."""
    for name in ("sampler", "batch_sampler"):
        argument = given(site, name)
        if argument is not None and not of_the_library(argument.values):
            why = compared(plan, site)
            if why:
                return (
                    f"the {name} puts together batches in a way of its own, and the loss may "
                    f"depend on what is in one batch: {why}"
                )
    return ""


def fixed_rank(values: object) -> str:
    """The complaint about a DistributedSampler whose rank is a number; empty for others."""
    for value in values:  # type: ignore[attr-defined]
        arguments = getattr(value, "arguments", None)
        rank = arguments.get("rank", 2) if arguments is not None else None
        if isinstance(constant_of(rank, None), int):
            return "the DistributedSampler has a fixed rank: every process draws the same shard"
    return ""


def options_text(site: Site) -> str | None:
    """The text of the dict through which shuffle or drop_last reaches the call."""
    for name in ("shuffle", "drop_last"):
        argument = site.loader.argument(name)
        if argument is not None and argument.mapping is not None:
            for arg in site.node.args:
                if arg.star == "**" and is_simple(arg.value):
                    text: str = site.module.source.code(arg.value)
                    return text
            return ""
    return None


def own_mapping(site: Site) -> bool:
    """Whether the dict is unpacked into this call alone."""
    for name in ("shuffle", "drop_last"):
        argument = site.loader.argument(name)
        if argument is None or not isinstance(argument.mapping, Mapping):
            continue
        if any(use is not site.node for use in argument.mapping.uses):
            return False
        stars = [arg for arg in site.node.args if arg.star == "**"]
        if len(stars) != 1 or not is_simple(stars[0].value):
            return False
    return True


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The sampler above the call, and the call's arguments."""
    data: Sharding = ruling.data
    source = data.site.module.source
    module = data.site.module
    statement = insertion_place(module, data.site.node)
    assert statement is not None
    # One statement may make several loaders: what is moved above it stands in their order.
    beside = [
        site.node
        for site in sites(plan)
        if site.module is module and insertion_place(module, site.node) is statement
    ]
    yield Helper("get_world_size", data.site.module)
    world_size = f"{plan.names_in(data.site.module).fresh('get_world_size')}()"
    if makes_tensors_on_gpu(plan):
        yield Helper("SamplerOnCpu", module)
        sampler_class = plan.names_in(module).fresh("SamplerOnCpu")
    else:
        sampler_class = plan.names_in(module).imported(
            "torch.utils.data.distributed.DistributedSampler", "DistributedSampler"
        )
    dataset = source.code(data.dataset)
    indentation = statement_indentation(source, statement)
    if not is_simple(data.dataset):
        name = plan.names_in(data.site.module).fresh(
            "train_dataset", f"dataset {id(data.site.node)}"
        )
        order = 3 * beside.index(data.site.node)
        for edit in bind_above(source, statement, data.dataset, name, order):
            yield In(module, edit)
        dataset = name
    seed, helpers = seed_text(plan, data.site)
    arguments = [dataset, *sampler_arguments(data, seed)]
    for helper in helpers:
        if any(seed in argument for argument in arguments[1:]):
            yield Helper(helper, data.site.module)
    columns = len(indentation.expandtabs(4))
    if data.options is not None:
        head = f'{data.options}["sampler"] = {sampler_class}'
        lines = [f"if {world_size} > 1:"]
        lines += [f"    {line}" for line in written_call(head, arguments, columns + 4)]
    else:
        head = f"{data.sampler} = {sampler_class}"
        lines = [f"{head}({', '.join(arguments)}) if {world_size} > 1 else None"]
        limit = limit_of(source.text.splitlines()) or LINE_LENGTH
        if columns + len(lines[0]) > limit:
            lines = [f"{data.sampler} = None", f"if {world_size} > 1:"]
            lines += [f"    {line}" for line in written_call(head, arguments, columns + 4)]
    for edit in insert_before(source, statement, lines, order=7 + 3 * len(beside)):
        yield In(module, edit)
    if data.options is None:
        yield from argument_edits(data)


def sampler_arguments(data: Sharding, seed: str) -> list[str]:
    """The sampler's keyword arguments: only those that differ from its defaults."""
    source = data.site.module.source
    found = []
    shuffle = data.site.loader.argument("shuffle")
    if data.options is not None and shuffle is not None and shuffle.mapping is not None:
        found.append(f'shuffle={data.options}.pop("shuffle", False)')
    elif data.shuffle is None or said(data.site, "shuffle") in (False, 0, None):
        found.append("shuffle=False")
    elif said(data.site, "shuffle") is not True:
        found.append(f"shuffle={source.code(data.shuffle)}")
    if "shuffle=False" not in found:
        found.append(f"seed={seed}")
    drop_last = data.site.loader.argument("drop_last")
    if drop_last is not None and drop_last.mapping is not None:
        found.append(f'drop_last={data.options}.get("drop_last", False)')
    elif data.drop_last is not None and said(data.site, "drop_last") not in (False, 0):
        found.append(f"drop_last={source.code(data.drop_last)}")
    return found


def said(site: Site, name: str) -> object:
    """The constant that all loaders of a place are given; ``...`` where it is not one.

    A parameter keeps its meaning for whoever calls the function with something else.
    """
    argument = site.loader.argument(name)
    if argument is not None and is_parameter(site, argument.node):
        return ...
    found = [constant_of(loader.argument(name), False) for loader in site.loaders]
    return found[0] if all(each == found[0] for each in found) else ...


def is_parameter(site: Site, node: cst.CSTNode | None) -> bool:
    """Whether an expression is a parameter of the function that a loader is made in."""
    function = function_of(site.module, site.node)
    return (
        isinstance(node, cst.Name)
        and function is not None
        and any(each.name.value == node.value for each in parameters_of(function))
    )


def argument_edits(data: Sharding) -> Iterator[Change]:
    """The sampler goes into the call, and shuffling out of it."""
    source, module, call = data.site.module.source, data.site.module, data.site.node
    if data.shuffle is not None and said(data.site, "shuffle") not in (False, 0, None):
        text = f"{data.sampler} is None"
        if said(data.site, "shuffle") is not True:
            written = source.code(data.shuffle)
            if not isinstance(data.shuffle, (cst.Name, cst.Attribute, cst.Call, cst.Subscript)):
                written = f"({written})"
            text = f"{text} and {written}"
        argument = next(arg for arg in call.args if arg.value is data.shuffle)
        for edit in replace_argument_value(source, call, argument, text):
            yield In(module, edit)
    existing = next(
        (arg for arg in call.args if arg.keyword and arg.keyword.value == "sampler"), None
    )
    if existing is not None:
        for edit in replace_argument_value(source, call, existing, data.sampler):
            yield In(module, edit)
        return
    for edit in add_argument(source, call, f"sampler={data.sampler}"):
        yield In(module, edit)
