"""How the loaders of a distributed script shard their data."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

import libcst as cst

from transpile.audit.model import Audit
from transpile.audit.ranks import Ranks
from transpile.facts.values import (
    Class,
    Constant,
    External,
    Function,
    Instance,
    Opaque,
    Unknown,
    Value,
    Values,
)
from transpile.facts.walk import descendants
from transpile.plan.graph import behind, called_names, method_calls, walk_back
from transpile.plan.model import Loader
from transpile.plan.query import query
from transpile.plan.roles.surroundings import gradients_off
from transpile.rules.pytorch.audit._splits import called

SAMPLER = "torch.utils.data.distributed.DistributedSampler"
#: Samplers that know nothing of other processes.
PLAIN_SAMPLERS = frozenset(
    f"torch.utils.data.{name}"
    for name in (
        "RandomSampler", "SequentialSampler", "SubsetRandomSampler", "WeightedRandomSampler",
        "BatchSampler",
    )
)  # fmt: skip
BATCHES = "torch.utils.data.BatchSampler"
#: Methods that give the samples of a data set.
GIVES_SAMPLES = ("__iter__", "__getitem__", "__getitems__")
#: Packages whose data sets go through all of their data on every process.
WHOLE_DATA = ("torchvision.datasets.", "torch.utils.data.", "torchaudio.datasets.")
#: Packages whose loaders go through all of the data that they are given.
WHOLE_LOADERS = ("torch_geometric.loader.",)
#: Methods that give the same data elsewhere.
MOVING = frozenset({"to", "cuda", "pin_memory", "xpu"})
#: Packages whose functions change one sample at a time.
CHANGES = ("torchvision.transforms.", "torchaudio.transforms.", "albumentations.")


class Sharing(Enum):
    """What a loader gives to each process."""

    SHARE = "its share"
    WHOLE = "everything"
    UNKNOWN = "nobody can tell"


class Loaders:
    """Answers what the loaders of a script give to each process.

    Args:
        audit: the script.
    """

    def __init__(self, audit: Audit) -> None:
        self.audit = audit
        self.ranks = Ranks(audit.vocabulary)
        self.worlds = {
            name for name, word in audit.vocabulary.calls.items() if word != "local_world_size"
        }
        self.aware = aware_objects(audit, self.worlds)

    def samplers(self, loader: Loader) -> list[Opaque]:
        """The distributed samplers that a loader may have."""
        found: list[Opaque] = []
        for name in ("sampler", "batch_sampler"):
            argument = loader.argument(name)
            for value in walk_back(argument.values) if argument is not None else ():
                if isinstance(value, Opaque) and SAMPLER in called_names(value):
                    found.append(value)
        return found

    def own_samplers(self, loader: Loader) -> list[Instance]:
        """The samplers of the script's own that go by the epoch, as the distributed one does."""
        found: list[Instance] = []
        for name in ("sampler", "batch_sampler"):
            argument = loader.argument(name)
            for value in walk_back(argument.values) if argument is not None else ():
                if isinstance(value, Instance) and SAMPLER in value.cls.external_bases():
                    if goes_by_epoch(value.cls):
                        found.append(value)
        return found

    def sharing(self, loader: Loader) -> Sharing:
        """What a loader gives to each process."""
        value = loader.value
        if not isinstance(value, Opaque) or value.arguments.unknown_because or loader.wrapped:
            return Sharing.UNKNOWN
        if self.samplers(loader):
            return Sharing.SHARE
        if not all(name.startswith("torch.") for name in called_names(value)):
            return self.of_library(value)
        for name in ("dataset", "sampler", "batch_sampler"):
            argument = loader.argument(name)
            if argument is None:
                continue
            found = self.tells(argument.values, name != "dataset")
            if found is not Sharing.WHOLE:
                return found
        return Sharing.WHOLE

    def of_library(self, value: Opaque) -> Sharing:
        """What a loader of another library gives to each process: it may know of them by itself.

        Not where the process's number picks what it is given, nor where the library's loaders are
        known to go through all that they are given.
        """
        given = tuple(v for item in value.arguments.items for v in item.values)
        if any(self.is_own_part(one) for one in but_for_devices(given)):
            return Sharing.SHARE
        if not all(name.startswith(WHOLE_LOADERS) for name in called_names(value)):
            return Sharing.UNKNOWN
        known = any(self.knows(one) or isinstance(one, Unknown) for one in but_for_devices(given))
        return Sharing.UNKNOWN if known else Sharing.WHOLE

    def is_own_part(self, value: Value) -> bool:
        """Whether a value is picked out of another by the number of the process."""
        return (
            isinstance(value, Opaque)
            and value.kind == "item"
            and any(map(self.ranks.tells, walk_back(index_of(self.audit, value), is_of_numbers)))
        )

    def tells(self, values: Values, is_sampler: bool) -> Sharing:
        """Whether a data set or a sampler knows of other processes."""
        known = Sharing.WHOLE
        given: list[tuple[Values, bool]] = []

        def enters(value: Value) -> bool:
            if not is_sampler or not is_plain_sampler(value):
                return True
            assert isinstance(value, Opaque)
            # What a sampler draws from is data, unless it makes batches of what another one draws.
            of_samplers = BATCHES in called_names(value)
            given.extend((item.values, of_samplers) for item in value.arguments.items[:1])
            return False

        for value in walk_back(values, enters):
            if self.knows(value):
                return Sharing.SHARE
            if isinstance(value, Unknown) or self.asks(value):
                known = Sharing.UNKNOWN
            elif isinstance(value, Opaque) and value.kind in ("call", "parameter"):
                names = called_names(value)
                if is_sampler and not set(names) <= PLAIN_SAMPLERS:
                    known = Sharing.UNKNOWN
                elif not is_sampler and any(not is_plain(name) for name in names):
                    known = Sharing.UNKNOWN
            elif isinstance(value, Instance) and is_sampler:
                known = Sharing.UNKNOWN
        for drawn, of_samplers in given:
            found = self.tells(drawn, of_samplers)
            if found is Sharing.SHARE:
                return found
            known = known if found is Sharing.WHOLE else found
        return known

    def knows(self, value: Value) -> bool:
        """Whether a value is, or was told, the number of a process."""
        if id(value) in self.aware or self.ranks.tells(value):
            return True
        if isinstance(value, Instance):
            given = value.arguments.items if value.arguments is not None else ()
            return any(self.told(item.values) for item in given) or any(
                self.told(values) for values in value.attributes.values()
            )
        return False

    def asks(self, value: Value) -> bool:
        """Whether what gives the samples of a data set asks which process this is."""
        if not isinstance(value, Instance):
            return False
        classes = [one for one in value.cls.ancestry() if isinstance(one, Class)]
        return any(
            not self.worlds.isdisjoint(called(one, self.audit.plan.table.dialect))
            for cls in classes
            for word in GIVES_SAMPLES
            for one in cls.scope.names.get(word, ())
            if isinstance(one, Function)
        )

    def told(self, values: Values) -> bool:
        """Whether values say which process this is, other than by its device."""
        return any(self.ranks.tells(value) for value in walk_back(values, is_no_device))


def is_plain_sampler(value: Value) -> bool:
    """Whether a value is a sampler of the framework that knows nothing of other processes."""
    names = called_names(value)
    return bool(names) and PLAIN_SAMPLERS.issuperset(names)


def goes_by_epoch(sampler: Class) -> bool:
    """Whether the order that a sampler gives depends on the epoch that it was told."""
    for cls in sampler.ancestry():
        if not isinstance(cls, Class):
            return True
        for function in cls.scope.names.get("__iter__", ()):
            return isinstance(function, Function) and any(
                isinstance(node, cst.Attribute) and node.attr.value == "epoch"
                for node in descendants(function.node)
            )
    return True


def but_for_devices(values: Values) -> Iterator[Value]:
    """What values came from, but for the devices that it was moved to."""
    seen: set[int] = set()
    pending = list(values)
    while pending:
        value = pending.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        moved = [one for name, owner in method_calls(value) if name in MOVING for one in owner]
        if moved:
            pending.extend(moved)
        else:
            yield value
            pending.extend(behind(value))


def is_no_device(value: Value) -> bool:
    """Whether a value is not one of ``torch.device``."""
    return not isinstance(value, Opaque) or "torch.device" not in called_names(value)


def is_plain(name: str) -> bool:
    """Whether a call outside the project gives data that knows nothing of other processes."""
    packages = (*WHOLE_DATA, "builtins.", "torch.", "numpy.", "os.", "glob.", "random.", "json.")
    others = ("PIL.", "pandas.", "sklearn.", "pickle.", "argparse.", *CHANGES)
    return name.startswith((*packages, *others))


def aware_objects(audit: Audit, calls: set[str]) -> frozenset[int]:
    """The objects whose methods ask for the number of a process or of all."""
    found: set[int] = set()
    for event in audit.facts.calls_to(*calls):
        for frame in event.calls():
            found.update(id(value) for value in frame.receiver)
    classes = frozenset(id(value.cls) for value in receivers(audit) if id(value) in found)
    found.update(id(value) for value in receivers(audit) if id(value.cls) in classes)
    return frozenset(found)


def receivers(audit: Audit) -> Iterator[Instance]:
    """The objects whose methods run."""
    for event in audit.facts.calls:
        for frame in event.calls():
            for value in frame.receiver:
                if isinstance(value, Instance):
                    yield value


@query
def takes_parts(audit: Audit) -> bool:
    """Whether each process takes its part of batches that all have: ``labels[own_slice]``."""
    ranks = Ranks(audit.vocabulary)
    return any(
        isinstance(value, Opaque)
        and value.kind == "item"
        and any(isinstance(one, Opaque) and one.kind == "element" for one in walk_back((value,)))
        and any(map(ranks.tells, walk_back(index_of(audit, value), is_of_numbers)))
        for backward in audit.plan.backwards
        for value in walk_back(backward.loss)
    )


def is_of_numbers(value: Value) -> bool:
    """Whether a value is computed of numbers alone: a mask on a device of one's own is not."""
    if not isinstance(value, Opaque):
        return False
    names = called_names(value)
    return value.kind == "operation" or (
        bool(names) and all(name.startswith("builtins.") for name in names)
    )


def index_of(audit: Audit, value: Opaque) -> Values:
    """What picks an item, or the ends of a slice."""
    if not isinstance(value.node, cst.Subscript):
        return value.index
    ends = [
        end
        for element in value.node.slice
        if isinstance(element.slice, cst.Slice)
        for end in (element.slice.lower, element.slice.upper)
        if end is not None
    ]
    return (*value.index, *(one for end in ends for one in audit.facts.values_of(end)))


@query
def loaders_of(audit: Audit) -> Loaders:
    """The answers, found once for all checks."""
    return Loaders(audit)


def evaluates_parts(audit: Audit) -> bool:
    """Whether a loader that nothing is trained on gives each process its share."""
    loaders = loaders_of(audit)
    return any(
        (not loader.training or without_gradients(audit, loader))
        and isinstance(loader.value, Opaque)
        and loader.iterations
        and loaders.sharing(loader) is Sharing.SHARE
        for loader in audit.plan.loaders
    )


def without_gradients(audit: Audit, loader: Loader) -> bool:
    """Whether all that is computed from the batches of a loader is computed without gradients."""
    table = audit.plan.table
    return bool(loader.iterations) and all(
        gradients_off(event.stack, table) for event in loader.iterations
    )


def is_certain(values: Values) -> bool:
    """Whether values are certainly something, and not None."""
    return bool(values) and not any(isinstance(value, (Constant, Unknown)) for value in values)


def engines(audit: Audit) -> bool:
    """Whether a library shards data and gradients by itself."""
    prefixes = tuple(audit.plan.table.distributed_engines)
    known = (*prefixes, "torch.distributed.rpc", "torch.distributed.pipelin", "megatron.",
             "torch.distributed.tensor", "fairscale.", "torch.distributed._tensor",
             "horovod.", "deepspeed.", "torchdata.", "webdataset.", "nvidia.dali")  # fmt: skip
    apart = ("apex.parallel.",)
    for event in audit.facts.events:
        if event.kind in ("call", "import"):
            for callee in event.callee:
                if isinstance(callee, External) and callee.name.startswith(known):
                    if not callee.name.startswith(apart):
                        return True
                if isinstance(callee, Function):
                    break
    return False
