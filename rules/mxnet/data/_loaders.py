"""What several rules ask about the training data."""

from __future__ import annotations

import libcst as cst

from transpile.facts.module import Module
from transpile.facts.values import Argument, Class, Instance, Opaque, Values
from transpile.plan.graph import called_names, walk_back
from transpile.plan.model import Loader, Plan
from transpile.plan.query import query
from transpile.records import dataclass
from transpile.rules.mxnet._roles import training_loaders
from transpile.rules.mxnet._vocabulary import STORE

GLUON = "mxnet.gluon.data.DataLoader"
ARRAYS = "mxnet.io.NDArrayIter"


@dataclass(frozen=True, eq=False)
class Site:
    """One place in the text that makes training data."""

    module: Module
    node: cst.Call
    loaders: tuple[Loader, ...]

    @property
    def loader(self) -> Loader:
        """One of its loaders: their texts are the same."""
        return self.loaders[0]

    @property
    def kind(self) -> str:
        """The dotted name of the class; empty for one of the project."""
        names = called_names(self.loader.value)
        return names[0] if names and not isinstance(self.loader.value, Instance) else ""


def sites(plan: Plan) -> list[Site]:
    """The places that make training data, in the order of the run."""
    found: dict[int, list[Loader]] = {}
    for loader in training_loaders(plan):
        if isinstance(loader.node, cst.Call):
            found.setdefault(id(loader.node), []).append(loader)
    return [
        Site(loaders[0].event.module, loaders[0].node, tuple(loaders))  # type: ignore[arg-type]
        for loaders in found.values()
    ]


def also_evaluates(plan: Plan, site: Site) -> bool:
    """Whether the place makes data, too, that nothing is trained on."""
    own = {id(loader) for loader in site.loaders}
    return any(each.node is site.node and id(each) not in own for each in plan.loaders)


def from_store(values: Values, attribute: str) -> bool:
    """Whether values come from an attribute of a store, such as ``rank``."""
    return any(
        isinstance(value, Opaque)
        and value.kind == "attribute"
        and value.name == attribute
        and any(STORE in called_names(base) for base in value.operands[0])
        for value in walk_back(values)
    )


def asks_rank(plan: Plan, cls: Class) -> bool:
    """Whether a class of the project asks for the rank, to give each worker its part."""
    return any(
        event.kind == "call"
        and any(frame.function.owner is cls for frame in event.calls())
        and from_store(event.result, "rank")
        for event in plan.facts.events
    )


def is_shared_out(plan: Plan, site: Site) -> bool:
    """Whether something that asks for the rank takes a part of what a call delivers.

    It is the iterator itself, its sampler, or an iterator that holds it.
    """
    own = [*site.loaders]
    given = [loader.argument(name) for loader in own for name in ("sampler", "batch_sampler")]
    values = [value for argument in given if argument is not None for value in argument.values]
    values.extend(loader.value for loader in own)
    if any(isinstance(value, Instance) and asks_rank(plan, value.cls) for value in values):
        return True
    made = {id(loader.value) for loader in own}
    return any(
        isinstance(holder.value, Instance)
        and any(id(v) in made for group in holder.value.attributes.values() for v in group)
        and asks_rank(plan, holder.value.cls)
        for holder in plan.loaders
    )


def asks_workers(plan: Plan, call: cst.Call) -> bool:
    """Whether a call pushes something to a store."""
    return any(
        event.kind == "call"
        and any(frame.node is call for frame in event.calls())
        and any(getattr(callee, "name", "") == "push" for callee in event.callee)
        for event in plan.facts.events
    )


@query
def counts_workers(plan: Plan) -> bool:
    """Whether the script asks a store for the number of workers: its batches are those of one."""
    return any(
        isinstance(value, Opaque) and from_store((value,), "num_workers")
        for module in plan.facts.modules.values()
        for node in module.source.nodes
        if isinstance(node, cst.Attribute) and node.attr.value == "num_workers"
        for value in plan.facts.values_of(node)
    )


def written(site: Site, argument: Argument) -> bool:
    """Whether an argument stands in the call itself."""
    return argument.mapping is None and any(arg.value is argument.node for arg in site.node.args)


def is_simple(node: cst.CSTNode) -> bool:
    """Whether an expression may be written twice: names, attributes, literals."""
    if isinstance(node, (cst.Name, cst.Integer, cst.SimpleString)):
        return True
    return isinstance(node, cst.Attribute) and is_simple(node.value)
