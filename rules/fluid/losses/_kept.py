"""What a training keeps from one batch to the next: in its program, or in what it feeds."""

from __future__ import annotations

from collections.abc import Iterator

from transpile.facts.events import Event
from transpile.facts.values import Class, Constant, Function, Instance, Opaque, Value, Values
from transpile.plan.graph import called_names, walk_back
from transpile.plan.model import Plan
from transpile.rules.fluid._events import names_of
from transpile.rules.fluid._roles import roles_of
from transpile.rules.fluid.data._shapes import numbers
from transpile.rules.fluid.losses._averages import averaged
from transpile.rules.fluid.losses._losses import DATA, LAYERS
from transpile.rules.fluid.programs._runs import Run

#: Layers that write into a variable which they are given: its names, and its place.
WRITING = {f"{LAYERS}assign": ("output", 1), f"{LAYERS}sums": ("out", 1)}
#: What makes variables of the program, with the place of `persistable`.
VARIABLES = {
    f"{LAYERS}create_global_var": 3,
    f"{LAYERS}create_tensor": 2,
}
#: Methods that keep what they are given in what they belong to.
KEEPING = frozenset(
    {"append", "extend", "insert", "add", "update", "appendleft", "put", "push", "setdefault"}
)


def states(plan: Plan) -> Iterator[Event]:
    """The layers that keep something of a batch in the program, for batches that come later."""
    seen: set[int] = set()
    for event in plan.facts.reached_calls:
        for name in names_of(event) & set(WRITING):
            given = event.arguments.get("input", 0)
            kept = event.arguments.get(*WRITING[name])
            if given is None or kept is None or id(event.node) in seen:
                continue
            if any(map(is_kept, kept.values)) and is_of_batch(given.values):
                seen.add(id(event.node))
                yield event


def is_kept(value: Value) -> bool:
    """Whether a variable lives from one run to the next."""
    if not isinstance(value, Opaque):
        return False
    for name in called_names(value):
        if name in VARIABLES:
            told = value.arguments.get("persistable", VARIABLES[name])
            return told is not None and told.values != (Constant(False),)
    told = value.arguments.keyword("persistable")
    return told is not None and told.values != (Constant(False),)


def is_of_batch(values: Values) -> bool:
    """Whether something is computed from samples: what is fed as one number has none."""
    return any(
        f"{LAYERS}read_file" in called_names(value)
        or (not DATA.isdisjoint(called_names(value)) and has_samples(value))
        for value in walk_back(values)
    )


def has_samples(value: Value) -> bool:
    """Whether the first dimension of what is fed counts samples."""
    if f"{LAYERS}data" in called_names(value) and isinstance(value, Opaque):
        told = value.arguments.get("append_batch_size", 2)
        if told is None or told.values != (Constant(False),):
            return True
    shape = numbers(value, "shape", 1)
    first = shape[0] if shape else None
    return first is None or first < 0


def fed_back(plan: Plan) -> Iterator[tuple[Run, int]]:
    """The training runs that feed what was made of an earlier one, and the line of that."""
    shared = {id(each.event.node) for each in averaged(plan) if each.whole}
    training = [run for run in roles_of(plan).training if not run.whole]
    fetching = [
        run
        for run in training
        if run.event.arguments.get("fetch_list", 2) is not None and id(run.event.node) not in shared
    ]
    if not fetching:
        return
    seen: set[int] = set()
    for run in fetching:
        made = kept_from(plan, {id(value) for value in run.event.result})
        for other in training:
            if other.feed is None or id(other.event.node) in seen:
                continue
            if any(id(value) in made for value in walk_back(other.feed.values, is_data)):
                seen.add(id(other.event.node))
                source = run.event.module.source
                line, _ = source.position(source.span(run.event.node).start)
                yield other, line


def is_data(value: Value) -> bool:
    """Whether what a value is made of may be data."""
    return not isinstance(value, (Function, Class, Instance))


def kept_from(plan: Plan, made: set[int]) -> set[int]:
    """The identities of some values, and of what they are put into."""
    found = set(made)
    puts = list(putting(plan))
    grown = True
    while grown:
        grown = False
        for into, values in puts:
            fresh = {id(value) for value in into} - found
            if fresh and any(id(value) in found for value in walk_back(values, is_data)):
                found |= fresh
                grown = True
    return found


def putting(plan: Plan) -> Iterator[tuple[Values, Values]]:
    """What is put into what, by items, by attributes and by methods of containers."""
    for event in plan.facts.events:
        if event.detached:
            continue
        if event.kind in ("store", "operate"):
            yield event.callee, event.result
        elif event.kind == "call":
            for callee in event.callee:
                if isinstance(callee, Opaque) and callee.name in KEEPING:
                    if callee.kind == "attribute":
                        given = tuple(v for each in event.arguments.items for v in each.values)
                        yield callee.operands[0], given
