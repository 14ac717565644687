"""Training steps on noise alone, of as many samples as a loader's batches have.

The generator of a GAN learns from what it makes of noise: no batch of a loader enters its loss, but
as many samples as one has. Such a step belongs to the loader: where its batches are sharded, so
is the noise.
"""

from __future__ import annotations

from collections.abc import Iterable

from transpile.facts.events import Event, Loop
from transpile.facts.values import Constant, External, Function, Instance, Opaque, Value, Values
from transpile.facts.walk import descendants
from transpile.plan.graph import identity, walk_back
from transpile.plan.model import Backward, Loader, Plan

#: Functions outside the framework that draw as many random numbers as they are told.
DRAWS = frozenset(
    {
        "numpy.random.rand", "numpy.random.randn", "numpy.random.randint",
        "numpy.random.uniform", "numpy.random.normal", "numpy.random.random",
        "numpy.random.standard_normal", "numpy.random.choice",
    }
)  # fmt: skip


def take_in_noise(plan: Plan) -> None:
    """Give the backward passes through noise alone the loaders whose batch size it has."""
    sizes = batch_sizes(plan.loaders)
    fed = [backward for backward in plan.backwards if backward.loaders]
    if not sizes or not fed:
        return
    for backward in plan.backwards:
        if backward.loaders or backward.event.detached:
            continue
        loaders = loaders_of_noise(plan, backward, sizes)
        beside = next((other for other in fed if share_a_loop(backward, other)), None)
        if loaders and beside is not None:
            backward.loaders = tuple(loaders)
            if beside.batch_loop in backward.event.stack:
                backward.batch_loop = beside.batch_loop
                backward.epoch_loops = beside.epoch_loops
                backward.iteration = beside.iteration


def batch_sizes(loaders: Iterable[Loader]) -> dict[int | str, Loader]:
    """The batch sizes of training loaders, by what tells them apart."""
    found: dict[int | str, Loader] = {}
    for loader in loaders:
        argument = loader.argument("batch_size") if loader.training else None
        for value in whole(argument.values) if argument is not None else ():
            if isinstance(value, (Constant, External, Opaque)):
                found.setdefault(identity(value), loader)
    return found


def whole(values: Values) -> Values:
    """The batch sizes of all processes together, where each takes a part of these."""
    found: list[Value] = []
    for value in values:
        if isinstance(value, Opaque) and value.name == "FloorDivide":
            found.extend(value.operands[0])
        found.append(value)
    return tuple(found)


def loaders_of_noise(
    plan: Plan, backward: Backward, sizes: dict[int | str, Loader]
) -> list[Loader]:
    """The loaders after which all the noise in a loss is sized; none where some is not."""
    loops = {id(frame.node) for frame in backward.event.stack if isinstance(frame, Loop)}
    behind = {id(value) for value in walk_back(backward.loss, enters)}
    found: list[Loader] = []
    for event in plan.facts.events:
        if not draws(plan, event) or not any(id(value) in behind for value in event.result):
            continue
        if not loops.intersection(id(loop.node) for loop in event.loops()):
            return []
        given = tuple(value for item in event.arguments.items for value in item.values)
        # A number that is computed from the batch size still mentions it.
        named = tuple(v for node in descendants(event.node) for v in plan.facts.values_of(node))
        keys = [identity(value) for value in (*walk_back(given, enters), *named)]
        sized = [sizes[key] for key in keys if key in sizes] or written_out(event, sizes)
        if not sized:
            return []
        found.extend(loader for loader in sized if loader not in found)
    return found


def written_out(event: Event, sizes: dict[int | str, Loader]) -> list[Loader]:
    """The loaders whose batch size is written out as the first number of a shape."""
    first = next(iter(event.arguments.positional()), None)
    sized = whole(first.values) if first is not None else ()
    return [
        loader
        for loader in sizes.values()
        for argument in (loader.argument("batch_size"),)
        if argument is not None
        if any(isinstance(v, Constant) and v in sized for v in whole(argument.values))
    ]


def enters(value: object) -> bool:
    """Whether what a value is made of may be data; the inside of models is not."""
    return not isinstance(value, (Instance, Function))


def draws(plan: Plan, event: Event) -> bool:
    """Whether an event draws random numbers, anew or into a tensor that is there."""
    names: Values = event.callee if event.kind == "call" else ()
    return any(
        (isinstance(callee, External) and (callee.name in DRAWS or callee.name in plan.table.draws))
        or (
            isinstance(callee, Opaque)
            and callee.kind == "attribute"
            and callee.name in plan.table.filling_methods
        )
        for callee in names
    )


def share_a_loop(first: Backward, second: Backward) -> bool:
    """Whether two backward passes run in turns, in one loop."""
    around = {id(frame.node) for frame in first.event.stack if isinstance(frame, Loop)}
    return any(isinstance(f, Loop) and id(f.node) in around for f in second.event.stack)
