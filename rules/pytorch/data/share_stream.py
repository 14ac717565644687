"""Shard a dataset that is iterated, not indexed.

What:
    Every process goes through the whole stream and keeps its part of each group of samples, so
    that all processes together take the batches of the script. The end of the stream that fills
    no group is left out, on every process alike.

Why:
    No sampler can reach into a stream: without this every process trains on every sample. A part
    of unequal length would leave the processes waiting for each other.

Before:
    loader = DataLoader(stream, batch_size=64)

After:
    loader = DataLoader(share_stream(stream), batch_size=split_batch(64))

Refuses when:
    the stream draws random numbers of no seed of its own, so that it differs from process to
    process; its class cannot be looked into.

Source:
    https://pytorch.org/docs/stable/data.html#iterable-style-datasets
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.values import Constant, External, Instance, Opaque, Value, Values
from transpile.facts.walk import descendants
from transpile.layout import wrap_expression
from transpile.plan.data.data_code import held_by, methods, reached_by
from transpile.plan.data.in_order.drawn import GENERATORS, is_seeded
from transpile.plan.data.sources import Site, depends_on_world_size, is_indirect, sites
from transpile.plan.graph import called_names, walk_back
from transpile.plan.model import Plan
from transpile.rule import Answer, Change, Helper, In, Ruling, Rulings
from transpile.rules.pytorch.data._loaders import is_iterable_dataset
from transpile.rules.pytorch.data.refuse_data_in_order import GENERATOR
from transpile.rules.pytorch.randomness._private_chance import is_chance

#: Where calls are sharded, every rank has the whole batch.
WAYS = ("data",)
CODES = {
    "PT209": "every process takes its part of a stream",
    "PT210": "a stream cannot be sharded",
}
RANDOM = ("random.", "numpy.random.", "torch.rand", "torch.bernoulli", "torch.multinomial")
#: What a seed is made of that may be another in each process.
OWN_SEEDS = (*RANDOM, "torch.initial_seed", "torch.utils.data.", "builtins.hash", "builtins.id")


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each training loader over a stream."""
    for site in sites(plan):
        dataset = site.loader.argument("dataset")
        if dataset is None or is_indirect(plan, site):
            continue
        if any(shares_already(plan, value) for value in dataset.values):
            yield Ruling.done(
                "PT209", site, "every process takes its part of the stream", claims=(site.node,)
            )
            continue
        if not is_iterable_dataset(dataset.values):
            continue
        why = obstacle(plan, dataset.values, dataset.node)
        if why:
            yield Ruling.refuse(
                "PT210",
                site,
                f"this dataset is iterated, not indexed, and {why}",
                "share the stream out by rank and by worker inside the dataset",
            )
            continue
        yield Ruling.apply(
            "PT209",
            site,
            "every process takes its part of the stream",
            data=(site, dataset.node),
            claims=(site.node,),
        )


def obstacle(plan: Plan, values: tuple[Value, ...], node: cst.CSTNode | None) -> str:
    """Why a stream cannot be sharded; empty where it can."""
    if node is None:
        return "it has no place in the text of the call"
    if not all(any(True for _ in methods((value,), ("__iter__",))) for value in values):
        return "its class cannot be analysed"
    reads = reached_by(plan, methods(held_by(values).values(), ("__iter__", "__next__")))
    nodes = [node for _, node in reads.nodes]
    for value in values:
        nodes.extend(descendants(value.cls.node) if isinstance(value, Instance) else ())
    made = any(
        name in (*GENERATORS, GENERATOR) and not is_alike(value)
        for value in reads.values.values()
        for name in called_names(value)
    )
    if made or draws(plan, nodes):
        return "it draws random numbers, so that every process would see another stream"
    return ""


def draws(plan: Plan, nodes: list[cst.CSTNode]) -> bool:
    """Whether some code draws random numbers that are not the same in every process."""
    alike: set[int] = set()
    for call in nodes:
        if not isinstance(call, cst.Call):
            continue
        if reseeds(plan, call):
            return True
        given = [one.value for one in call.args if one.keyword and one.keyword.value == "generator"]
        generators = [value for one in given for value in plan.facts.values_of(one)]
        if generators and all(map(is_alike, generators)):
            alike.add(id(call.func))
    return any(
        isinstance(value, External)
        and value.name.startswith(RANDOM)
        and value.name not in GENERATORS
        and id(node) not in alike
        for node in nodes
        for value in plan.facts.values_of(node)
    ) or any(
        name in (*GENERATORS, GENERATOR) and not is_alike(value)
        for node in nodes
        for value in (plan.facts.values_of(node) if isinstance(node, cst.Call) else ())
        for name in called_names(value)
    )


def is_alike(value: Value) -> bool:
    """Whether a generator of random numbers begins alike in every process."""
    if not isinstance(value, Opaque) or not is_seeded(value, GENERATOR):
        return False
    seeds = tuple(one for item in value.arguments.items for one in item.values)
    return not is_own(seeds)


def reseeds(plan: Plan, call: cst.Call) -> bool:
    """Whether a call gives a generator a seed that may be another in each process."""
    word = call.func.attr.value if isinstance(call.func, cst.Attribute) else ""
    if word not in ("seed", "manual_seed"):
        return False
    seeds = tuple(value for one in call.args for value in plan.facts.values_of(one.value))
    return not seeds or Constant(None) in seeds or is_own(seeds)


def is_own(seeds: Values) -> bool:
    """Whether a seed is made of what may be another in each process."""
    return is_chance(seeds) or any(
        name.startswith(OWN_SEEDS) for value in walk_back(seeds) for name in called_names(value)
    )


def shares_already(plan: Plan, value: Value) -> bool:
    """Whether a stream already gives each process its part."""
    return isinstance(value, Instance) and any(
        depends_on_world_size(plan, held) for held in value.attributes.values()
    )


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The dataset within the helper."""
    data: tuple[Site, cst.BaseExpression] = ruling.data
    site, node = data
    yield Helper("share_stream", site.module)
    name = plan.names_in(site.module).fresh("share_stream")
    for edit in wrap_expression(site.module.source, node, f"{name}(", ")"):
        yield In(site.module, edit)
