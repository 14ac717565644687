"""Batches that are made up from random numbers in each step, as in ``x = torch.randn(size, 4)``.

What a step of a script without loaders trains on is a fresh sample then. A process that draws its
share of each batch for itself, from random numbers of its own, trains on samples like those of one
process.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event, Loop
from transpile.facts.values import (
    Argument,
    Constant,
    Function,
    Instance,
    Opaque,
    Sequence,
    Value,
    Values,
)
from transpile.plan.data.batch_sources import CHOICES, cut_by_index, enters
from transpile.plan.data.cuts.bounds import same
from transpile.plan.data.sources import depends_on_world_size
from transpile.plan.graph import called_names, method_calls, walk_back
from transpile.plan.model import Backward, Cut, Plan
from transpile.plan.roles.surroundings import inside_module

SEVERAL = (
    "the script makes up its batches by random numbers of several sizes in each step, so that it "
    "is not known which of them counts samples"
)
SEEDED = (
    "the script makes up its batches by random numbers that it seeds itself in each step, so that "
    "every process would make up the same ones"
)
OTHERWISE = (
    "beside the random numbers that it makes up, each step trains on what it gets in another way, "
    "which every process would get for a whole batch of its own"
)
#: Packages whose functions give the same on all processes for what they are given, but for draws.
REPEATABLE = frozenset({"numpy", "math", "copy", "functools", "itertools", "operator"})


def find_fresh_batches(plan: Plan, backward: Backward, happening: dict[int, Event]) -> None:
    """Find what a step redraws, where that is all that it trains on.

    Args:
        plan: the plan so far.
        backward: a backward pass without loaders, which learns of what it draws.
        happening: the calls of the run by the identity of what they give.
    """
    loops = [frame for frame in backward.event.stack if isinstance(frame, Loop)]
    if not loops or not plan.table.index_draws or backward.cuts or backward.cut_problem:
        return
    cuts: list[Cut] = []
    for value in walk_back(backward.loss, lambda v: not isinstance(v, (Instance, Function))):
        if not isinstance(value, Opaque) or not is_draw(plan, value):
            continue
        event = happening.get(id(value))
        if event is None or inside_module(event.stack, plan.table):
            continue
        if not any(frame.node is loops[-1].node for frame in event.loops()):
            continue
        found = drawn(plan, value)
        if found is None:
            return
        cuts.append(found)
    if not cuts:
        return
    backward.batch_loop, backward.epoch_loops = loops[-1], tuple(loops[:-1])
    backward.cuts = tuple(cuts)
    if any(not same(cut.sizes, cuts[0].sizes) for cut in cuts[1:]):
        backward.cut_problem = SEVERAL
    if seeded_within(plan, loops):
        backward.cut_problem = SEEDED
    if not backward.cut_problem and (
        any(drawn_otherwise(plan, backward, loops[-1], happening))
        or cut_by_index(plan, backward, list(walk_back(backward.loss, enters)), CHOICES)
    ):
        backward.cut_problem = OTHERWISE
    for cut in cuts:
        for value in cut.values:
            plan.samples[id(value)] = 0
            plan.kept.append(value)


def is_draw(plan: Plan, value: Opaque) -> bool:
    """Whether a value is a tensor of random numbers of a shape that the call is given."""
    return any(
        name in plan.table.draws
        and name not in plan.table.index_draws
        and not name.endswith("_like")
        for name in called_names(value)
    )


def drawn(plan: Plan, value: Opaque) -> Cut | None:
    """What a call draws, with the number of samples first in its shape; None where it is unclear.

    Draws from a generator of its own are no such batches: that is the same on all processes.
    """
    items = value.arguments.items
    if not isinstance(value.node, cst.Call) or any(arg.star for arg in value.node.args[:1]):
        return None
    if value.arguments.unknown_because or value.arguments.keyword("generator") is not None:
        return None
    given = value.arguments.keyword("size") or (items[0] if items else None)
    if given is None or given.node is None or value.arguments.rest:
        return None
    node, sizes = first_of(given)
    done = depends_on_world_size(plan, sizes)
    if not sizes or not isinstance(node, cst.BaseExpression):
        return None
    if not done and not isinstance(node, (cst.Name, cst.Attribute, cst.Integer)):
        return None
    if all(one == Constant(1) for one in sizes):
        return None
    return Cut(value.module, value.node, node, [value], done=done, fresh=True, sizes=sizes)


def drawn_otherwise(
    plan: Plan, backward: Backward, loop: Loop, happening: dict[int, Event]
) -> Iterator[Value]:
    """What a loss is made of that a loop gets from elsewhere, and not for a share of the batch.

    That is random numbers of other packages, and what objects and functions give that cannot be
    looked into: no process knows which part of it is its own.
    """
    for value in walk_back(backward.loss, lambda v: not isinstance(v, (Instance, Function))):
        if not isinstance(value, Opaque):
            continue
        if value.kind == "element":
            behind = list(walk_back(value.operands[0]))
            names = {name for each in behind for name in called_names(each)}
            if not names & COUNTS and any(is_foreign(plan, name) for name in names):
                yield value
            continue
        event = happening.get(id(value))
        if event is None or inside_module(event.stack, plan.table):
            continue
        if not any(frame.node is loop.node for frame in event.loops()) and not any(
            call.function.is_generator for call in event.calls()
        ):
            continue
        if any(is_foreign(plan, name) for name in (*called_names(value), *owners(value))):
            yield value


RANDOM = ("numpy.random.", "random.")
GENERATORS = frozenset({"numpy.random.RandomState", "numpy.random.default_rng", "random.Random"})
#: Functions that count, whatever counts along with them.
COUNTS = frozenset({"range", "builtins.range", "itertools.count"})


def owners(value: Opaque) -> Iterator[str]:
    """What made the object whose method a call is, but for random data, which is only read."""
    for callee in value.callee:
        base: Values = (callee,)
        while len(base) == 1 and isinstance(base[0], Opaque) and base[0].kind != "call":
            base = base[0].operands[0] if base[0].operands else ()
        for each in base:
            yield from (
                name
                for name in called_names(each)
                if name in GENERATORS or not name.startswith(RANDOM)
            )


def is_foreign(plan: Plan, name: str) -> bool:
    """Whether a function outside the project may give each process something else."""
    if name.startswith(RANDOM):
        return True
    package = name.partition(".")[0]
    known = {packages.partition(".")[0] for packages in plan.table.packages}
    return "." in name and package not in REPEATABLE | known | {"builtins"}


def first_of(given: Argument) -> tuple[cst.CSTNode | None, Values]:
    """The first number of a shape, as an expression and as what it is."""
    node, values = given.node, given.values
    if isinstance(node, (cst.Tuple, cst.List)):
        sequence = values[0] if len(values) == 1 else None
        if not isinstance(sequence, Sequence) or not sequence.elements:
            return None, ()
        if isinstance(node.elements[0], cst.StarredElement):
            return None, ()
        return node.elements[0].value, sequence.elements[0]
    return (None, ()) if any(map(is_shape, values)) else (node, values)


def is_shape(value: Value) -> bool:
    """Whether a value is a whole shape, not one number of it."""
    if isinstance(value, Opaque) and value.kind == "attribute":
        return value.name == "shape"
    sized = any(name == "size" for name, _ in method_calls(value))
    return isinstance(value, Sequence) or (
        sized and isinstance(value, Opaque) and not value.arguments.items
    )


def seeded_within(plan: Plan, loops: list[Loop]) -> bool:
    """Whether a seed is set in each round of some loops."""
    around = {id(loop.node) for loop in loops}
    return any(
        name.rpartition(".")[2] in ("manual_seed", "seed", "manual_seed_all", "set_rng_state")
        for event in plan.facts.calls
        if around.intersection(id(frame.node) for frame in event.loops())
        for value in event.result
        for name in called_names(value)
    )
