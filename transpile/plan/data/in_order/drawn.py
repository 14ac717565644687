"""Data sets that give what comes next, whatever index they are asked for."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.module import Module
from transpile.facts.values import Constant, External, Function, Opaque, Value, Values
from transpile.facts.walk import descendants
from transpile.plan.data.data_code import reached_by
from transpile.plan.data.in_order.sampling import outlives, sampling
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


def drawn_in_order(plan: Plan, loader: Loader, generator: str = "") -> Iterator[InOrder]:
    """The places at which the data set of a loader goes on, whatever its index.

    Args:
        plan: the plan.
        loader: the loader.
        generator: what the framework calls its own generators of random numbers.
    """
    reads = reached_by(plan, sampling(loader))
    sought = {
        id(function.node)
        for function, node in reads.nodes
        if isinstance(node, cst.Call)
        and isinstance(node.func, cst.Attribute)
        and node.func.attr.value in SEEKING
    }
    for function, node in reads.nodes:
        if isinstance(node, cst.Call):
            if begins_alike(plan, node, generator):
                yield InOrder(function.module, node, draws=True)
            elif id(function.node) not in sought and advances(plan, function, node):
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


def begins_alike(plan: Plan, node: cst.Call, generator: str) -> bool:
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
        if any(is_seeded(value, generator) for value in values) and made_outside(values, node):
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


def is_seeded(value: Value, generator: str) -> bool:
    """Whether a value is a generator of random numbers that has a seed.

    Args:
        value: the value.
        generator: what the framework calls its own generators, which have one from the start.
    """
    for name in called_names(value):
        if generator and name == generator:
            return True
        if name in GENERATORS and isinstance(value, Opaque):
            seed = value.arguments.get(GENERATORS[name], 0)
            return seed is not None and seed.values != (Constant(None),)
    return bool(
        isinstance(value, Opaque)
        and value.kind == "call"
        and any(
            isinstance(callee, Opaque)
            and callee.name == "manual_seed"
            and any(generator in called_names(one) for one in callee.operands[0])
            for callee in value.callee
        )
    )
