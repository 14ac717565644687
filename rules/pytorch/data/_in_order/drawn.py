"""Data sets that give what comes next, whatever index they are asked for."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.module import Module
from transpile.facts.values import Constant, External, Function, Instance, Opaque, Value, Values
from transpile.facts.walk import descendants
from transpile.plan.data.data_code import Reads, body_of, given_to, held_by, methods, reached_by
from transpile.plan.graph import called_names
from transpile.plan.model import Loader, Plan
from transpile.records import dataclass

#: Methods that give what comes next and go on.
ADVANCING = frozenset({"readline", "popleft", "get_nowait", "__next__", "send", "recv"})
#: Those that do so where they are given nothing.
ADVANCING_ALONE = frozenset({"read", "pop", "popitem", "next"})
#: Methods that go to a place before.
SEEKING = frozenset({"seek", "set", "set_frame", "reset"})
#: What makes generators of random numbers of their own, with the parameter of their seed.
GENERATORS = {
    "numpy.random.default_rng": "seed",
    "numpy.random.RandomState": "seed",
    "numpy.random.Generator": "bit_generator",
    "random.Random": "x",
    "torch.Generator": "",
}


@dataclass(frozen=True, eq=False)
class InOrder:
    """One place in a data set that goes on from sample to sample.

    Args:
        module, node: the place.
        draws: it draws from a generator of random numbers that begins alike in every process.
    """

    module: Module
    node: cst.CSTNode
    draws: bool = False


def drawn_in_order(plan: Plan, loader: Loader) -> Iterator[InOrder]:
    """The places at which the data set of a loader goes on, whatever its index."""
    given = held_by(given_to(loader, "dataset")).values()
    reads = reached_by(plan, methods(given, ("__getitem__", "__getitems__")))
    sought = {
        id(function.node)
        for function, node in reads.nodes
        if isinstance(node, cst.Call)
        and isinstance(node.func, cst.Attribute)
        and node.func.attr.value in SEEKING
    }
    for function, node in reads.nodes:
        if isinstance(node, cst.Call):
            if begins_alike(plan, node):
                yield InOrder(function.module, node, draws=True)
            elif id(function.node) not in sought and advances(plan, function, node):
                yield InOrder(function.module, node)
        elif counts_on(plan, reads, node):
            yield InOrder(function.module, node)


def advances(plan: Plan, function: Function, node: cst.Call) -> bool:
    """Whether a call takes what comes next from something that outlives a function."""
    names = {v.name for v in plan.facts.values_of(node.func) if isinstance(v, External)}
    if names == {"builtins.next"} and node.args:
        return outlives(function, node.args[0].value)
    if isinstance(node.func, cst.Attribute):
        word = node.func.attr.value
        if word in ADVANCING or (word in ADVANCING_ALONE and not node.args):
            return outlives(function, node.func.value)
    return False


def outlives(function: Function, node: cst.BaseExpression) -> bool:
    """Whether an expression is an attribute, or a name that a function does not bind itself."""
    if isinstance(node, cst.Attribute):
        return isinstance(node.value, cst.Name)
    if not isinstance(node, cst.Name):
        return False
    bound = {
        each.value
        for part in body_of(function)
        if isinstance(part, (cst.AssignTarget, cst.CompFor, cst.For, cst.AsName, cst.NamedExpr))
        for each in descendants(target_of(part))
        if isinstance(each, cst.Name)
    }
    parameters = {each.name.value for each in function.node.params.params}
    return node.value not in bound | parameters


def target_of(node: cst.CSTNode) -> cst.CSTNode:
    """What a statement or a part of one binds."""
    if isinstance(node, cst.AsName):
        return node.name
    assert isinstance(node, (cst.AssignTarget, cst.CompFor, cst.For, cst.NamedExpr))
    return node.target


def counts_on(plan: Plan, reads: Reads, node: cst.CSTNode) -> bool:
    """Whether a statement moves a number on that an object keeps, and that is read elsewhere."""
    target = moved_on(node)
    if target is None:
        return False
    owners = {id(v) for v in plan.facts.values_of(target.value) if isinstance(v, Instance)}
    inside = set(map(id, descendants(node)))
    return any(
        isinstance(other, cst.Attribute)
        and other.attr.value == target.attr.value
        and id(other) not in inside
        and any(id(v) in owners for v in plan.facts.values_of(other.value))
        for _, other in reads.nodes
    )


def moved_on(node: cst.CSTNode) -> cst.Attribute | None:
    """The attribute that a statement computes from what it was, as in ``self.n += 1``."""
    if isinstance(node, cst.AugAssign):
        return node.target if isinstance(node.target, cst.Attribute) else None
    if not isinstance(node, cst.Assign) or len(node.targets) != 1:
        return None
    target = node.targets[0].target
    if not isinstance(target, cst.Attribute) or not isinstance(target.value, cst.Name):
        return None
    computed = isinstance(node.value, cst.BinaryOperation) and any(
        isinstance(part, cst.Attribute) and part.deep_equals(target)
        for part in descendants(node.value)
    )
    return target if computed else None


def begins_alike(plan: Plan, node: cst.Call) -> bool:
    """Whether a call draws from a generator that outlives it and has one seed in every process."""
    drawn_from = [
        argument.value
        for argument in node.args
        if argument.keyword is not None and argument.keyword.value == "generator"
    ]
    if isinstance(node.func, cst.Attribute) and not is_seeding(node.func.attr.value):
        drawn_from.append(node.func.value)
    for expression in drawn_from:
        values = plan.facts.values_of(expression)
        if any(map(is_seeded, values)) and made_outside(values, node):
            return True
    return False


def is_seeding(name: str) -> bool:
    """Whether a method sets the state of a generator."""
    return name in ("seed", "manual_seed", "setstate", "set_state", "get_state", "getstate")


def made_outside(values: Values, node: cst.Call) -> bool:
    """Whether values come about elsewhere than in the function that a node stands in."""
    return all(
        not isinstance(value, Opaque) or id(value.node) not in around(value.module, node)
        for value in values
    )


def around(module: Module, node: cst.CSTNode) -> set[int]:
    """The nodes of the innermost function around a node; none where it is of another module."""
    for parent in module.source.parents_of(id(node)):
        if isinstance(parent, (cst.FunctionDef, cst.Lambda)):
            return set(map(id, descendants(parent)))
    return set()


def is_seeded(value: Value) -> bool:
    """Whether a value is a generator of random numbers that has a seed."""
    for name in called_names(value):
        if name in GENERATORS and isinstance(value, Opaque):
            if name == "torch.Generator":
                return True
            seed = value.arguments.get(GENERATORS[name], 0)
            return seed is not None and seed.values != (Constant(None),)
    return bool(
        isinstance(value, Opaque)
        and value.kind == "call"
        and any(
            isinstance(callee, Opaque)
            and callee.name == "manual_seed"
            and any("torch.Generator" in called_names(one) for one in callee.operands[0])
            for callee in value.callee
        )
    )
