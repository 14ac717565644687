"""What a data set keeps of the samples that it was asked for, and the script reads elsewhere."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.module import Module
from transpile.facts.values import (
    Class,
    External,
    Function,
    Instance,
    Mapping,
    ModuleValue,
    Sequence,
    Values,
)
from transpile.facts.walk import descendants
from transpile.plan.data.collation import collated_by
from transpile.plan.data.data_code import reached_by
from transpile.plan.data.in_order.carried import carried
from transpile.plan.data.in_order.sampling import outlives, sampling, stands_in_body
from transpile.plan.model import Loader, Plan

Place = tuple[Module, cst.CSTNode]
#: Methods that put something into a container.
FILLING = frozenset({"append", "appendleft", "add", "update", "extend", "setdefault", "insert"})


def kept_beside(plan: Plan, loader: Loader) -> Iterator[Place]:
    """The places at which the data set of a loader keeps what the script reads outside of it."""
    collating = {id(function.node) for function in collated_by(loader)}
    reads = reached_by(plan, (*sampling(loader), *collated_by(loader)))
    inside = {id(each) for _, each in reads.nodes}
    for function, node in reads.nodes:
        if id(function.node) in collating and counts_batches(function, node):
            continue
        kept = changed(node)
        if isinstance(kept, cst.Attribute):
            read = read_outside(plan, kept, inside)
        elif kept is not None and outlives(function, kept) and is_kept_here(plan, kept):
            read = named_outside(plan, function.module, kept, inside)
        else:
            read = False
        if read:
            yield function.module, node


def carried_on(plan: Plan, loader: Loader) -> Iterator[Place]:
    """The places at which a data set keeps something for the next sample that it is asked for."""
    roots = tuple(sampling(loader))
    for write in carried(plan, reached_by(plan, roots), roots):
        yield write.function.module, write.node


def carried_over(plan: Plan, loader: Loader) -> Iterator[Place]:
    """The places at which a collate function keeps something for the next batch.

    Batches that it counts are as many in every process.
    """
    roots = collated_by(loader)
    collating = {id(function.node) for function in roots}
    for write in carried(plan, reached_by(plan, roots), roots):
        if id(write.function.node) in collating and counts_batches(write.function, write.node):
            continue
        yield write.function.module, write.node


def counts_batches(function: Function, node: cst.CSTNode) -> bool:
    """Whether a statement of a collate function adds a fixed number in each of its calls."""
    return (
        isinstance(node, cst.AugAssign)
        and isinstance(node.value, (cst.Integer, cst.Float))
        and stands_in_body(function.module, node)
    )


def changed(node: cst.CSTNode) -> cst.Attribute | cst.Name | None:
    """What a statement or call changes: a number that is moved on, a container that is filled."""
    target: cst.CSTNode | None = None
    if isinstance(node, cst.AugAssign):
        target = node.target
    elif isinstance(node, cst.AssignTarget) and isinstance(node.target, cst.Subscript):
        target = node.target
    elif isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
        target = node.func.value if node.func.attr.value in FILLING else None
    while isinstance(target, cst.Subscript):
        target = target.value
    return target if isinstance(target, (cst.Attribute, cst.Name)) else None


def is_kept_here(plan: Plan, kept: cst.Name) -> bool:
    """Whether a name stands for something of the script's own, and no module of a library."""
    values = plan.facts.values_of(kept)
    return not any(isinstance(value, (External, ModuleValue)) for value in values)


def named_outside(plan: Plan, module: Module, kept: cst.Name, inside: set[int]) -> bool:
    """Whether a global name is read outside of the code of the data, in any module."""
    held = {id(v) for v in plan.facts.values_of(kept) if isinstance(v, (Mapping, Sequence))}

    def reads(where: Module, node: cst.CSTNode) -> bool:
        if isinstance(node, cst.Attribute):
            return node.attr.value == kept.value and any(
                isinstance(value, ModuleValue) and value.module is module
                for value in plan.facts.values_of(node.value)
            )
        if not isinstance(node, cst.Name):
            return False
        if where is not module:
            return any(id(value) in held for value in plan.facts.values_of(node))
        around = module.source.parent(node)
        return node.value == kept.value and not isinstance(around, (cst.AssignTarget, cst.NameItem))

    return any(
        id(node) not in inside and reads(where, node)
        for where in plan.facts.modules.values()
        for node in where.source.nodes
    )


def read_outside(plan: Plan, kept: cst.Attribute, inside: set[int]) -> bool:
    """Whether the script reads an attribute of what has it, outside of its class."""
    held = plan.facts.values_of(kept.value)
    owners = identities(held)
    own = {
        id(node)
        for one in held
        if isinstance(one, (Class, Instance))
        for node in descendants(one.node if isinstance(one, Class) else one.cls.node)
    }
    return bool(owners) and any(
        isinstance(node, cst.Attribute)
        and node.attr.value == kept.attr.value
        and id(node) not in inside | own
        and not isinstance(module.source.parent(node), cst.AssignTarget)
        and bool(owners & identities(plan.facts.values_of(node.value), inherited=True))
        for module in plan.facts.modules.values()
        for node in module.source.nodes
    )


def identities(values: Values, inherited: bool = False) -> set[int]:
    """What attributes are set on: objects, classes and modules of the project, by identity.

    Args:
        values: what has the attribute.
        inherited: whether what objects and classes are derived from is meant, too.
    """
    found: set[int] = set()
    for value in values:
        if isinstance(value, ModuleValue):
            found.add(id(value.module))
        elif isinstance(value, (Instance, Class)):
            found.add(id(value))
            if inherited:
                cls = value.cls if isinstance(value, Instance) else value
                found.update(id(one) for one in cls.ancestry() if isinstance(one, Class))
    return found
