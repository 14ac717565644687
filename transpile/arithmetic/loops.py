"""How often loops run, and how often something in them happens."""

from __future__ import annotations

from collections.abc import Iterable

import libcst as cst

from transpile.arithmetic.branches import happens
from transpile.arithmetic.formula import (
    Formula,
    add,
    name,
    number,
    operation,
    subtract,
    unanimous,
)
from transpile.arithmetic.lengths import length_of_range
from transpile.arithmetic.reading import Reader
from transpile.arithmetic.windows import counted_up
from transpile.facts.events import Branch, Call, Loop
from transpile.facts.values import Constant, External, Opaque, Sequence, Value, Values
from transpile.facts.walk import descendants
from transpile.plan.graph import called_names
from transpile.records import dataclass

RANGES = frozenset({"builtins.range", "tqdm.trange"})
ENDLESS = frozenset({"itertools.cycle", "itertools.count", "itertools.repeat"})
ISLICE = "itertools.islice"
LONGEST = 60


@dataclass(frozen=True, eq=False)
class Times:
    """How often something happens.

    Args:
        count: the number.
        at_most: it may happen less often.
        because: why it may, or what else there is to say.
        gathered: the rounds of the batch loop that come to one of them, where a window over
            several rounds was recognised.
    """

    count: Formula
    at_most: bool = False
    because: tuple[str, ...] = ()
    gathered: Formula | None = None


# Rounds of a loop.


def rounds(reader: Reader, loop: Loop, drawn: Values | None = None) -> Times:
    """How often the body of a loop runs.

    Args:
        reader: reads the numbers.
        loop: the loop.
        drawn: what it iterates over in the context in question; default: in all contexts.
    """
    ends = early_ends(reader, loop)
    count: Formula | None = None
    goes = for_of(loop)
    if goes is not None and not getattr(goes, "ifs", ()):
        values = drawn if drawn is not None else reader.plan.facts.values_of(goes.iter)
        count = rounds_over_any(reader, values)
    elif isinstance(loop.node, cst.While):
        count = counted_rounds(reader, loop.node, loop)
    if count is None:
        head = head_of(loop)
        count = name(f"rounds({head})", f"how often '{head}' runs is known when the script runs")
    return Times(count, bool(ends), ends)


def counted_rounds(reader: Reader, node: cst.While, loop: Loop) -> Formula | None:
    """The rounds of ``while step < steps``, where each round adds 1 to what began at a number."""
    test = node.test
    if not isinstance(test, cst.Comparison) or len(test.comparisons) != 1:
        return None
    operator, bound = test.comparisons[0].operator, test.comparisons[0].comparator
    if not isinstance(operator, (cst.LessThan, cst.LessThanEqual)):
        return None
    source = loop.module.source
    if not isinstance(test.left, (cst.Name, cst.Attribute)):
        return None
    variable = source.code(test.left)
    line = counted_up(loop, variable)
    parent = source.parent(line) if line is not None else None
    in_every_round = parent is not None and source.parent(source.parent(parent)) is node  # type: ignore[arg-type]
    begun = {
        source.code(found.value)
        for found in descendants(source.tree)
        if isinstance(found, cst.Assign)
        and any(source.code(target.target) == variable for target in found.targets)
    }
    if not in_every_round or len(begun) != 1 or not (start := begun.pop()).isdigit():
        return None
    last = reader.formula(reader.plan.facts.values_of(bound), bound)
    count = subtract(last, number(int(start)))
    return add(count, number(1)) if isinstance(operator, cst.LessThanEqual) else count


def rounds_over(reader: Reader, value: Value) -> Formula | None:
    """How many elements iterating over a value gives; None where it is not known."""
    if isinstance(value, Opaque):
        names = {*called_names(value), *called_by_node(reader, value)}
        if names & ENDLESS:
            return None
        if value.kind == "operation" and value.name in ("iterate", "enumerate") and value.operands:
            inner = rounds_over_any(reader, value.operands[0])
            if ISLICE in names:
                return sliced(reader, value.node, inner)
            return inner
        if value.kind == "operation" and value.name == "zip":
            ending = [each for each in value.operands if not is_endless(reader, each)]
            lengths = [rounds_over_any(reader, operand) for operand in ending]
            known = [each for each in lengths if each is not None]
            return operation("min", *known) if known and len(known) == len(lengths) else None
        if value.kind == "call" and set(called_names(value)) & RANGES:
            return length_of_range(reader, value.arguments)
    if isinstance(value, Sequence) and value.kind == "generator":
        return None
    return reader.length_of(value)


def rounds_over_any(reader: Reader, values: Values) -> Formula | None:
    """The same for alternatives, which must agree."""
    return unanimous(rounds_over(reader, value) for value in values)


def is_endless(reader: Reader, values: Values) -> bool:
    """Whether iterating never ends, as over ``cycle(loader)``."""
    return bool(values) and all(
        isinstance(value, Opaque)
        and bool({*called_names(value), *called_by_node(reader, value)} & ENDLESS)
        for value in values
    )


def called_by_node(reader: Reader, value: Opaque) -> tuple[str, ...]:
    """The outside functions that the call at a value's place may be of."""
    if not isinstance(value.node, cst.Call):
        return ()
    values = reader.plan.facts.values_of(value.node.func)
    return tuple(each.name for each in values if isinstance(each, External))


def sliced(reader: Reader, node: cst.CSTNode, inner: Formula | None) -> Formula | None:
    """``islice(iterable, stop)``."""
    if not isinstance(node, cst.Call) or len(node.args) != 2:
        return None
    stop = reader.formula(reader.plan.facts.values_of(node.args[1].value), node.args[1].value)
    return operation("min", inner, stop) if inner is not None else None


def head_of(loop: Loop) -> str:
    """The first line of a loop."""
    source, goes = loop.module.source, for_of(loop)
    if goes is not None:
        drawn = " ".join(source.code(goes.iter).split())
        return shortened(f"for {' '.join(source.code(goes.target).split())} in {drawn}")
    if isinstance(loop.node, cst.While):
        return shortened(f"while {' '.join(source.code(loop.node.test).split())}")
    return "loop"


def for_of(loop: Loop) -> cst.For | cst.CompFor | None:
    """The ``for`` of a loop, or the only one of a comprehension."""
    if isinstance(loop.node, cst.For):
        return loop.node
    if isinstance(loop.node, (cst.BaseSimpleComp, cst.DictComp)):
        part = loop.node.for_in
        return part if part.inner_for_in is None else None
    return None


def shortened(words: str) -> str:
    """A text on one line, cut where it is long."""
    return words if len(words) <= LONGEST else f"{words[: LONGEST - 3]}..."


def early_ends(reader: Reader, loop: Loop) -> tuple[str, ...]:
    """Where a loop may end before its last round."""
    found = []
    for event in reader.plan.facts.exits:
        if event.detached or event.name not in ("break", "return"):
            continue
        own = frames_of_function(event.stack)
        loops = [frame.node for frame in own if isinstance(frame, Loop)]
        ends = loops[-1:] if event.name == "break" else loops
        if loop.node in ends and happens(reader, event.stack):
            line = event.module.source.position(event.module.source.span(event.node).start)[0]
            found.append(f"'{head_of(loop)}' may end early: {event.name} in line {line}")
    return tuple(dict.fromkeys(found))


def frames_of_function(stack: Iterable[object]) -> list[object]:
    """The frames within the innermost function."""
    found: list[object] = []
    for frame in stack:
        if isinstance(frame, Call):
            found = []
        found.append(frame)
    return found


def is_one_arm(loop: Loop, stack: Iterable[object], reader: Reader) -> bool:
    """Whether a loop goes through words of which one leads to a place: ``if phase == "train"``."""
    if not isinstance(loop.node, cst.For) or not isinstance(loop.node.target, cst.Name):
        return False
    target = loop.node.target.value
    inside = False
    for frame in stack:
        if isinstance(frame, Loop) and frame.node is loop.node:
            inside = True
        elif inside and isinstance(frame, Branch) and isinstance(frame.node, cst.If):
            test = frame.node.test
            if isinstance(test, cst.Comparison) and len(test.comparisons) == 1:
                compared = test.comparisons[0]
                words = reader.plan.facts.values_of(compared.comparator)
                if (
                    frame.arm == "then"
                    and isinstance(compared.operator, cst.Equal)
                    and isinstance(test.left, cst.Name)
                    and test.left.value == target
                    and len(words) == 1
                    and isinstance(words[0], Constant)
                ):
                    return True
    return False
