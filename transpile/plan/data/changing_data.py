"""Data sets and samplers that change while the loader that draws from them lives."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event, Loop
from transpile.facts.values import Instance, Mapping, Opaque, Sequence, Value, Values
from transpile.facts.walk import descendants
from transpile.plan.data.data_code import DRAWING, Reads, given_to, held_by, methods, reached_by
from transpile.plan.graph import walk_back
from transpile.plan.model import Loader, Plan
from transpile.plan.query import query
from transpile.plan.roles.loaders import enters_iterator
from transpile.records import dataclass, replace

#: Events that change what exists.
CHANGES = frozenset({"store", "delete", "operate", "call"})
#: Methods of containers that change how many elements they have.
RESIZING = frozenset(
    {
        "append", "extend", "insert", "remove", "pop", "clear", "add", "discard", "update",
        "setdefault", "popleft", "appendleft", "extendleft", "popitem", "resize_", "drop",
    }
)  # fmt: skip
#: Other methods that change them in place.
REORDERING = frozenset({"sort", "reverse", "fill", "put", "itemset"})
#: Attributes of data sets of libraries that say nothing of which samples there are.
BESIDE = frozenset({"transform", "target_transform", "transforms", "epoch", "training"})


@dataclass(frozen=True, eq=False)
class Changing:
    """One place that changes what a loader draws from.

    Args:
        event: what changes it.
        length: whether the number of samples may change; else what it is changed by comes from
            training batches.
    """

    event: Event
    length: bool


def changes_while_drawn(plan: Plan, loader: Loader) -> Iterator[Changing]:
    """What changes the data set or the sampler of a loader while the loader lives."""
    data = Drawn(plan, loader, "dataset")
    order = Drawn(plan, loader, "sampler", "batch_sampler")
    if not data.held and not order.held and not data.bare:
        return
    batches: set[int] | None = None
    for event in plan.facts.events:
        if event.detached or event.kind not in CHANGES:
            continue
        if event.kind == "call" and not changed_by_call(event):
            continue
        length = data.resized(event)
        if not length and not data.rewritten(event) and not order.rewritten(event):
            continue
        if not lives(loader, event):
            continue
        if not length:
            if batches is None:
                batches = elements_of_training(plan)
            if not any(id(value) in batches for value in behind_writes(plan, put(plan, event))):
                continue
        yield Changing(event, length)
    for event in bound_anew(plan, data):
        if lives(loader, event):
            batches = elements_of_training(plan) if batches is None else batches
            if any(id(value) in batches for value in behind_writes(plan, event.result)):
                yield Changing(event, length=False)
    for event, value in computed_anew(loader, data):
        batches = elements_of_training(plan) if batches is None else batches
        if any(id(one) in batches for one in behind_writes(plan, (value,))):
            yield Changing(event, length=False)


def computed_anew(loader: Loader, data: Drawn) -> Iterator[tuple[Event, Value]]:
    """What samples read that operators in a loop around the loader's batches make, and those."""
    for value in data.samples.values.values():
        if not isinstance(value, Opaque) or value.kind != "operation":
            continue
        if not value.module.source.has(value.node):
            continue
        around = {id(one) for one in value.module.source.parents(value.node)}
        for iteration in loader.iterations:
            if any(id(loop.node) in around for loop in iteration.loops()):
                yield iteration, value


def bound_anew(plan: Plan, data: Drawn) -> Iterator[Event]:
    """The calls outside of a data set that make what its samples read, under whatever name."""
    for event in plan.facts.reached_calls:
        if any(id(value) in data.samples.values for value in event.result):
            if not any(id(one) in data.held for call in event.calls() for one in call.receiver):
                yield event


def put(plan: Plan, event: Event) -> Values:
    """What an event changes something by, and what says where it is changed."""
    given = [*event.result, *(v for item in event.arguments.items for v in item.values)]
    if event.kind == "operate":
        given.extend(event.callee)
    for element in event.node.slice if isinstance(event.node, cst.Subscript) else ():
        for place in descendants(element) if event.kind == "store" else ():
            given.extend(plan.facts.values_of(place))
    return tuple(given)


def behind_writes(plan: Plan, values: Values) -> Iterator[Value]:
    """What values come from, what was written into any of it before included."""
    writes = written_into(plan)
    pending, seen = [values], set[int]()
    while pending:
        for value in walk_back(pending.pop()):
            if id(value) not in seen:
                seen.add(id(value))
                yield value
                pending.extend(writes.get(id(value), ()))


@query
def written_into(plan: Plan) -> dict[int, list[Values]]:
    """What is written into each array or container in place, by its identity."""
    found: dict[int, list[Values]] = {}
    for event in plan.facts.events:
        by_index = event.kind == "store" and event.name == "[]"
        if event.detached or not (by_index or (event.kind == "call" and changed_by_call(event))):
            continue
        for value in changed(event):
            if isinstance(value, Opaque):
                found.setdefault(id(value), []).append(put(plan, event))
    return found


class Drawn:
    """What the drawing of samples reads: for how many there are, and for what they are."""

    def __init__(self, plan: Plan, loader: Loader, *names: str) -> None:
        given = given_to(loader, *names)
        self.loader = loader
        self.names = names
        self.held = held_by(given)
        #: Lists and dicts that are given as they are.
        self.bare = {id(value) for value in given if isinstance(value, (Mapping, Sequence))}
        everything = self.held.values()
        self.length = self.own(reached_by(plan, methods(everything, ("__len__",))))
        self.samples = self.own(reached_by(plan, methods(everything, (*DRAWING, "__len__"))))
        self.roots = {id(value) for value in self.made(given)}
        #: Those of them that are handed on themselves, not what an attribute of theirs holds.
        self.whole_roots = {id(value) for value in self.made(given, whole=True)}

    def own(self, reads: Reads) -> Reads:
        """What is read here, without what belongs to other objects of the same classes."""
        others = {
            id(value)
            for key, owner in reads.owners.items()
            if key not in self.held
            for values in owner.attributes.values()
            for value in values
        }
        others.difference_update(self.held)
        return replace(
            reads,
            values={key: value for key, value in reads.values.items() if key not in others},
            attributes={
                (key, name)
                for key, name in reads.attributes
                if key in self.held or key not in reads.owners
            },
        )

    def made(self, values: Values, whole: bool = False) -> Iterator[Value]:
        """The objects that libraries make of data, which are data sets or samplers themselves."""
        bound: set[int] = set()

        def enters(one: Value) -> bool:
            if not isinstance(one, Opaque):
                return not isinstance(one, Instance)
            bound.update(map(id, one.callee))
            return not whole or one.kind != "attribute" or id(one) in bound

        for value in walk_back(values, enters):
            if isinstance(value, Opaque) and value.kind == "call" and value.callee:
                yield value

    def resized(self, event: Event) -> bool:
        """Whether an event may change how many samples there are."""
        if event.kind == "store" and event.name != "[]":
            for owner in self.owners(event.callee):
                if (id(owner), event.name) in self.length.attributes:
                    return True
                if id(owner) in self.whole_roots and event.name not in BESIDE:
                    return True
            return False
        grows = (
            event.kind == "delete"
            or changed_by_call(event) in RESIZING
            or (
                event.kind == "operate"
                and (
                    event.name in ("append", "extend")
                    or (event.name == "Add" and not tensor(event.callee))
                )
            )
        )
        return any(
            id(value) in self.length.values or id(value) in self.bare
            for value in changed(event)
            if grows or isinstance(value, Mapping)
        )

    def rewritten(self, event: Event) -> bool:
        """Whether an event changes what the samples are made of."""
        if event.kind == "store" and event.name != "[]":
            return any(
                (id(owner), event.name) in self.samples.attributes or id(owner) in self.whole_roots
                for owner in self.owners(event.callee)
            )
        return any(
            id(value) in self.samples.values or self.belongs(value) for value in changed(event)
        )

    def owners(self, values: Values) -> Iterator[Value]:
        """The objects among values, ``loader.dataset`` being the data set."""
        for value in values:
            yield value
            if isinstance(value, Opaque) and value.kind == "attribute":
                if value.name in self.names and any(
                    v is self.loader.value for v in value.operands[0]
                ):
                    yield from given_to(self.loader, value.name)

    def belongs(self, value: Value) -> bool:
        """Whether a value is an attribute of a data set or sampler that a library made."""
        return (
            isinstance(value, Opaque)
            and value.kind == "attribute"
            and any(id(owner) in self.roots for owner in self.owners(value.operands[0]))
        )


def changed_by_call(event: Event) -> str:
    """The method through which a call changes what it is called on; empty for others."""
    for callee in event.callee if event.kind == "call" else ():
        if isinstance(callee, Opaque) and callee.kind == "attribute":
            name = callee.name
            in_place = name.endswith("_") and not name.startswith("_")
            if in_place or name in RESIZING or name in REORDERING:
                return name
    return ""


def changed(event: Event) -> Values:
    """What an event changes in place."""
    if event.kind != "call":
        return event.callee
    return tuple(
        receiver
        for callee in event.callee
        if isinstance(callee, Opaque) and callee.kind == "attribute"
        for receiver in callee.operands[0]
    )


def tensor(values: Values) -> bool:
    """Whether values are results of calls or operators, which numbers are added to."""
    return all(isinstance(value, Opaque) for value in values)


def lives(loader: Loader, event: Event) -> bool:
    """Whether a loader that was made before an event is drawn from after it."""
    made_in = {id(loop.node) for loop in loader.event.loops()}
    around = {id(loop.node) for loop in event.loops()} - made_in
    for iteration in loader.iterations:
        if iteration.detached:
            continue
        drawn = {id(frame.node) for frame in iteration.stack if isinstance(frame, Loop)}
        if around & (drawn | {id(iteration.node)}):
            return True
        if loader.event.order < event.order < iteration.order:
            return True
    return False


@query
def elements_of_training(plan: Plan) -> set[int]:
    """What loops draw from training loaders, by identity."""
    loaders = {id(loader.value) for loader in plan.training_loaders}
    found: set[int] = set()
    reached = walk_back(tuple(v for each in plan.facts.values.values() for v in each))
    for value in reached:
        if isinstance(value, Opaque) and value.kind == "element":
            sources = walk_back(value.operands[0], enters_iterator)
            if any(id(source) in loaders for source in sources):
                found.add(id(value))
    return found
