"""Walking the value graph backwards: what a value came from."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from transpile.facts.events import Event
from transpile.facts.values import (
    BoundMethod,
    Constant,
    External,
    Generator,
    Instance,
    Mapping,
    Opaque,
    Partial,
    Sequence,
    Value,
    Values,
)

#: Operations that look at an iterable without drawing from it.
SIZE_OPERATIONS = frozenset({"len", "isinstance"})


def parents(value: Value) -> Iterator[Values]:
    """The groups of values that one value is made of."""
    if isinstance(value, Opaque):
        yield from value.operands
        if value.kind == "call":
            yield value.callee
            for argument in value.arguments.items:
                yield argument.values
            yield value.arguments.rest
        yield value.inner
        yield value.index
        yield value.written
    elif isinstance(value, Sequence):
        yield from value.elements
        yield value.rest
        yield value.picked
    elif isinstance(value, Mapping):
        for entry in value.entries.values():
            yield entry.values
        yield value.rest
    elif isinstance(value, BoundMethod):
        yield (value.receiver,)
    elif isinstance(value, Partial):
        yield value.callee
        for argument in value.arguments.items:
            yield argument.values
    elif isinstance(value, Generator):
        yield value.yields


def behind(value: Value) -> list[Value]:
    """The values that one value is made of, as :func:`parents` groups them."""
    found: list[Value] = []
    if isinstance(value, Opaque):
        for group in value.operands:
            found += group
        if value.kind == "call":
            found += value.callee
            for argument in value.arguments.items:
                found += argument.values
            found += value.arguments.rest
        found += value.inner
        found += value.index
        found += value.written
    elif not isinstance(value, (Constant, External)):
        for group in parents(value):
            found += group
    return found


def walk_back(
    values: Values,
    enter: Callable[[Value], bool] = lambda value: True,
    walked: set[int] | None = None,
) -> Iterator[Value]:
    """Every value that `values` came from, themselves included, each once.

    Args:
        values: where to start.
        enter: whether to go on to what a value is made of.
        walked: the identities of what other walks have met, which is not gone through again; those
            of this one come to them.
    """
    seen: set[int] = set() if walked is None else walked
    stack = list(reversed(values))
    while stack:
        value = stack.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        yield value
        if enter(value):
            stack += behind(value)


class Search:
    """Asks of many values whether they came from one that fits.

    What was walked without finding any is not walked again, so that all questions together cost
    one walk where none fits.

    Args:
        fits: whether a value is what is looked for; of the value alone.
    """

    def __init__(self, fits: Callable[[Value], bool]) -> None:
        self.fits = fits
        #: What came from nothing that fits, by identity; the values are kept, so that no other
        #: takes over theirs.
        self.without: dict[int, Value] = {}

    def finds(self, values: Values) -> bool:
        """Whether values are, or came from, one that fits."""
        walked: dict[int, Value] = {}
        stack = list(values)
        while stack:
            value = stack.pop()
            if id(value) in walked or id(value) in self.without:
                continue
            if self.fits(value):
                return True
            walked[id(value)] = value
            stack += behind(value)
        self.without.update(walked)
        return False


def called_names(value: Value) -> tuple[str, ...]:
    """The external names that a call node calls; empty for anything else."""
    if not isinstance(value, Opaque) or value.kind != "call":
        return ()
    return tuple(callee.name for callee in value.callee if isinstance(callee, External))


def made_by(value: Value) -> Iterator[str]:
    """The external names that make a value, here or in the project's code that returned it."""
    seen: set[int] = set()
    stack = [value]
    while stack:
        one = stack.pop()
        if isinstance(one, Opaque) and id(one) not in seen:
            seen.add(id(one))
            yield from called_names(one)
            stack.extend(one.inner)


def method_calls(value: Value) -> tuple[tuple[str, Values], ...]:
    """The (method, receiver) pairs that a call node calls on something opaque."""
    if not isinstance(value, Opaque) or value.kind != "call":
        return ()
    return tuple(
        (callee.name, callee.operands[0])
        for callee in value.callee
        if isinstance(callee, Opaque) and callee.kind == "attribute"
    )


#: Methods that give back what they are called on: the same object or the same data elsewhere.
SAME_OBJECT = frozenset(
    {
        "to", "cuda", "cpu", "train", "eval", "float", "double", "half", "bfloat16", "apply",
        "requires_grad_", "to_empty", "type", "share_memory", "contiguous", "xpu", "mps",
    }
)  # fmt: skip


def origin(value: Value) -> Value:
    """The object behind ``.to(device)`` and other methods that give back their receiver."""
    for _ in range(50):
        behind = receivers(value)
        if not behind:
            return value
        if len(behind) > 1:
            return common_origin(value)
        value = behind[0]
    return value


def receivers(value: Value) -> Values:
    """What a method may have been called on that gives back its receiver."""
    return tuple(
        one for name, receiver in method_calls(value) if name in SAME_OBJECT for one in receiver
    )


def common_origin(value: Value) -> Value:
    """The one object behind a value whatever the way, as in ``net = net.train()`` in a loop."""
    seen: set[int] = set()
    found: list[Value] = []
    stack = [value]
    while stack:
        one = stack.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        behind = receivers(one)
        if not behind:
            found.append(one)
        stack.extend(behind)
    return found[0] if len(found) == 1 else value


def identity(value: Value) -> int | str:
    """What tells a value from others: names outside the project mean one thing wherever they stand.

    A literal is told from an equal one; the names that lead to it give the very same object.
    """
    return value.name if isinstance(value, External) else id(value)


def origins(values: Values) -> tuple[Value, ...]:
    """The objects behind each alternative, each once."""
    found: list[Value] = []
    for value in values:
        behind = origin(value)
        if not any(behind is other for other in found):
            found.append(behind)
    return tuple(found)


def is_instance_of(value: Value, bases: frozenset[str]) -> bool:
    """Whether a value is an object of a project class that derives from one of `bases`."""
    return isinstance(value, Instance) and any(name in bases for name in value.cls.external_bases())


def made_of(values: Values) -> set[int]:
    """The identities of what values came from; of a part, only what that part came from."""
    seen: set[int] = set()
    stack = list(values)
    while stack:
        value = stack.pop()
        if id(value) in seen or isinstance(value, Instance):
            continue
        seen.add(id(value))
        if isinstance(value, Opaque) and value.kind == "item" and value.inner:
            stack.extend(value.inner)
        else:
            stack += behind(value)
    return seen


def given_by(event: Event, prefixes: tuple[str, ...]) -> bool:
    """Whether an argument of a call is made with a function below one of the dotted prefixes."""
    return any(
        name.startswith(prefixes)
        for argument in event.arguments.items
        for value in walk_back(argument.values)
        for name in called_names(value)
    )
