"""Find data that is not sharded as the author meant it.

What:
    For each loader it is worked out whether a process gets its share or everything, and whether
    its sampler is told the right number of processes and the epoch.

Why:
    A loader without a distributed sampler lets each process go through all data: N processes do
    the work N times. A sampler that is told a fixed rank gives all processes the same part, and the
    rest is never seen. One that is not told the epoch gives the same order in every epoch; one that
    is told with each batch is told in vain, as its order was drawn before. One whose seed differs
    between processes makes each process shard another order: samples come twice and never.

Before:
    loader = DataLoader(dataset, batch_size=32, shuffle=True)

After:
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, batch_size=32, sampler=sampler)

Refuses when:
    a sampler is told a constant rank or a seed of each process's own, or a loader is given a
    sampler and shuffles, which PyTorch refuses, too; the rest are warnings.

Source:
    https://pytorch.org/docs/stable/data.html#torch.utils.data.distributed.DistributedSampler
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.audit.model import Audit
from transpile.audit.ranks import Ranks
from transpile.facts.events import Event, Loop
from transpile.facts.values import (
    BoundMethod,
    Constant,
    Instance,
    Opaque,
    Settled,
    Unknown,
    Value,
    only_constant,
)
from transpile.finding import Fix
from transpile.layout.arguments import remove_argument
from transpile.layout.fixes import fix_of
from transpile.plan.graph import called_names, walk_back
from transpile.plan.model import Loader
from transpile.rule import Remark
from transpile.rules.pytorch.audit._data import (
    SAMPLER,
    Loaders,
    Sharing,
    engines,
    is_certain,
    loaders_of,
    takes_parts,
    without_gradients,
)
from transpile.rules.pytorch.audit._fixes import told_the_epoch
from transpile.rules.pytorch.audit._splits import splits_calls

CODES = {
    "AU201": "every process goes through all training data",
    "AU202": "set_epoch of a sampler is not called",
    "AU203": "num_replicas or rank of a sampler is a constant",
    "AU204": "a loader is given a sampler and shuffles",
    "AU206": "a sampler is seeded differently on each process",
    "AU207": "set_epoch of a sampler is called with each batch",
}


def decide(audit: Audit) -> Iterator[Remark]:
    """One remark for each loader and each sampler."""
    loaders = loaders_of(audit)
    for event in audit.facts.calls_to(SAMPLER):
        yield from fixed(audit, event)
        yield from seeded_apart(audit, event)
    for loader in audit.plan.loaders:
        yield from shuffled(loader)
    if engines(audit) or splits_calls(audit):
        return
    apart = takes_parts(audit)
    for loader in audit.plan.training_loaders:
        if without_gradients(audit, loader):
            continue
        whole = loaders.sharing(loader) is Sharing.WHOLE and not apart
        if whole and audit.on_all(loader.node):
            yield Remark.warn(
                "AU201",
                (loader.event.module, loader.node),
                "every process goes through all of this training data, as the loader has no "
                "distributed sampler",
                "give it a DistributedSampler, and call its set_epoch in the loop of epochs",
            )
        yield from without_epoch(audit, loaders, loader)


def fixed(audit: Audit, event: Event) -> Iterator[Remark]:
    """A sampler that is told constants."""
    told = event.arguments.get("num_replicas", 1)
    own = event.arguments.get("rank", 2)
    if told is not None and told.values == (Constant(1),):
        if own is not None and own.values == (Constant(0),):
            # The sampler of a run with one process, written out: all of the data is wanted.
            if not any(trains_on(audit, value) for value in event.result):
                return
    for name, position in (("rank", 2), ("num_replicas", 1)):
        argument = event.arguments.get(name, position)
        if argument is None:
            continue
        constants = [value for value in argument.values if isinstance(value, Constant)]
        if len(constants) != len(argument.values) or any(
            isinstance(value, Settled) or value.value is None for value in constants
        ):
            continue
        if name == "num_replicas" and any(value.value != 1 for value in constants):
            continue
        word = constants[0].value
        what = (
            f"every process is given the part of the data that is for rank {word}, and nobody sees "
            "the rest"
            if name == "rank"
            else "this sampler is told of one process, so that every process gets all of the data"
        )
        yield Remark.error(
            "AU203",
            event,
            what,
            "leave rank and num_replicas out: the sampler asks the process group",
            fix=without(event, ("num_replicas", "rank")),
        )
        return


def without(event: Event, names: tuple[str, ...]) -> Fix | None:
    """The change that takes arguments out of a call, where they are written with their names."""
    if not isinstance(event.node, cst.Call) or event.arguments.unknown_because:
        return None
    found = [one for one in event.node.args if one.keyword and one.keyword.value in names]
    if not found or len([one for one in names if event.arguments.get(one)]) != len(found):
        return None
    source = event.module.source
    edits = [edit for one in found for edit in remove_argument(source, event.node, one)]
    return fix_of(source, edits, f"Leave {' and '.join(names)} out.")


def trains_on(audit: Audit, sampler: Value) -> bool:
    """Whether a loader that is trained on draws through a sampler."""
    loaders = loaders_of(audit)
    return any(sampler in loaders.samplers(loader) for loader in audit.plan.training_loaders)


def seeded_apart(audit: Audit, event: Event) -> Iterator[Remark]:
    """A sampler that is told a seed of each process's own."""
    seed = event.arguments.get("seed", 4)
    if seed is not None and Ranks(audit.vocabulary).depend(seed.values):
        yield Remark.error(
            "AU206",
            event,
            "the seed of this sampler differs between processes: each shards another order, so "
            "that some samples come twice in an epoch and others never",
            "give it the same seed on every process",
            fix=without(event, ("seed",)),
        )


def shuffled(loader: Loader) -> Iterator[Remark]:
    """A loader that is given both a sampler and the order to shuffle."""
    sampler, shuffle = loader.argument("sampler"), loader.argument("shuffle")
    if sampler is None or shuffle is None or not is_certain(sampler.values):
        return
    constant = only_constant(shuffle.values)
    if constant is not None and bool(constant.value):
        yield Remark.error(
            "AU204",
            (loader.event.module, loader.node),
            "a loader that has a sampler cannot shuffle: PyTorch raises a ValueError here",
            "leave shuffle out: the sampler decides the order",
            fix=without(loader.event, ("shuffle",)),
        )


def without_epoch(audit: Audit, loaders: Loaders, loader: Loader) -> Iterator[Remark]:
    """The samplers of a training loader that nobody tells the epoch."""
    if not list(loops_of_epochs(audit, loader)):
        return
    for sampler in (*loaders.samplers(loader), *loaders.own_samplers(loader)):
        given = sampler.arguments
        shuffle = given.get("shuffle", 3) if given is not None else None
        constant = only_constant(shuffle.values) if shuffle is not None else None
        if constant is not None and not constant.value:
            continue
        told = [e for e in audit.facts.calls if tells_epoch(e, sampler, loader.value)]
        late = [event for event in told if in_loop_over(audit, event, loader)]
        if late and len(late) == len(told):
            yield Remark.warn(
                "AU207",
                late[0],
                "the sampler is told this with each batch, when the order of the epoch is drawn "
                "already: every epoch begins with what the last batch said",
                "call set_epoch(epoch) above the loop over the batches",
            )
            continue
        if any(not says_nothing_new(event) for event in told):
            continue
        yield Remark.warn(
            "AU202",
            (sampler.module, sampler.node),
            "nobody tells this sampler the epoch: it gives the same order in every epoch",
            "call set_epoch(epoch) on it at the top of the loop of epochs",
            fix=(
                told_the_epoch(sampler, loops_of_epochs(audit, loader))
                if not told and isinstance(sampler, Opaque)
                else None
            ),
        )


def loops_of_epochs(audit: Audit, loader: Loader) -> Iterator[Loop]:
    """The loops over epochs around the training with a loader.

    Where a generator draws the batches, they are those around both it and the backward pass.
    """
    for backward in audit.plan.backwards:
        if loader not in backward.loaders:
            continue
        if backward.batch_loop is not None:
            yield from backward.epoch_loops
            continue
        around = {id(loop.node) for loop in backward.event.loops()}
        for iteration in loader.iterations:
            if iteration.name != "next":
                yield from (loop for loop in iteration.loops() if id(loop.node) in around)


def loops_over(audit: Audit, loader: Loader) -> set[int]:
    """The loops over the batches of a loader, also those that a generator draws, by identity."""
    found = {id(iteration.node) for iteration in loader.iterations}
    for backward in audit.plan.backwards:
        if loader in backward.loaders and backward.batch_loop is None:
            drawn = [one for one in loader.iterations if one.name != "next"]
            outer = {id(loop.node) for one in drawn for loop in one.loops()}
            own = [loop for loop in backward.event.loops() if id(loop.node) not in outer]
            if outer:
                found.update(id(loop.node) for loop in own)
    return found


def says_nothing_new(event: Event) -> bool:
    """Whether ``set_epoch`` is told the same number each time."""
    epoch = event.arguments.get("epoch", 0)
    return (
        epoch is not None
        and bool(epoch.values)
        and len(epoch.values) == 1
        and type(epoch.values[0]) is Constant
        and any(isinstance(frame, Loop) for frame in event.stack)
    )


def in_loop_over(audit: Audit, event: Event, loader: Loader) -> bool:
    """Whether an event happens in a loop over the batches of a loader."""
    loops = loops_over(audit, loader)
    return any(isinstance(frame, Loop) and id(frame.node) in loops for frame in event.stack)


def names_epoch(event: Event) -> bool:
    """Whether a call of something unknown is written as one of ``set_epoch``."""
    function = getattr(event.node, "func", None)
    return isinstance(function, cst.Attribute) and function.attr.value == "set_epoch"


def tells_epoch(event: Event, sampler: Opaque | Instance, loader: Value) -> bool:
    """Whether a call is ``set_epoch`` of a sampler, also through its loader."""
    for callee in event.callee:
        if isinstance(callee, Unknown) and names_epoch(event):
            return True
        if isinstance(callee, BoundMethod) and callee.function.name == "set_epoch":
            if callee.receiver is sampler:
                return True
        if isinstance(callee, Opaque) and callee.name == "set_epoch" and callee.operands:
            for value in walk_back(callee.operands[0]):
                if value is sampler or value is loader or isinstance(value, Unknown):
                    return True
                if isinstance(value, Opaque) and SAMPLER in called_names(value):
                    if value.node is sampler.node:
                        return True
    return False
