"""Shapes that are written for a whole batch, of which each trainer has a share."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.values import (
    Constant,
    External,
    Opaque,
    Sequence,
    Value,
    Values,
    only_constant,
)
from transpile.facts.walk import descendants
from transpile.plan.graph import called_names, method_calls, walk_back
from transpile.plan.model import Plan
from transpile.plan.query import query
from transpile.records import dataclass
from transpile.rules.fluid._events import loops_around, names_of
from transpile.rules.fluid._roles import roles_of
from transpile.rules.fluid.data._divisions import Division, Undivided
from transpile.rules.fluid.data._shapes import ALIKE, input_of, rank_of
from transpile.rules.fluid.losses._losses import DATA, LABELLED, LAYERS

#: Layers that make a variable of a shape, and where among their arguments it stands.
MAKING = {
    "fill_constant": 0,
    "ones": 0,
    "zeros": 0,
    "uniform_random": 0,
    "gaussian_random": 0,
}
BATCHES = frozenset({"paddle.batch", "paddle.fluid.io.batch", "paddle.reader.batch"})
GENERATORS = frozenset({"set_sample_generator", "decorate_sample_generator"})
RANGE = External("builtins.range")
WHOLE = "this is made for the rows of a whole batch, and each trainer has a share of them"


@dataclass(frozen=True, eq=False)
class Shaped:
    """A variable whose first dimension is a number.

    Args:
        event: the call that makes it.
        size: what the number is.
        node: where it is written; None where that is not in the call.
        rank: how many dimensions it has.
        name: the name of what is fed; None of other variables, and where it is not known.
    """

    event: Event
    size: Values
    node: cst.BaseExpression | None
    rank: int
    name: str | None = None


@dataclass(frozen=True, eq=False)
class Known:
    """A number of samples in a batch, as the script writes it."""

    size: Values
    text: str


@query
def fixed_sizes(plan: Plan) -> list[tuple[Shaped, Division | Undivided]]:
    """The shapes that say how many samples a whole batch has, and how each is made a share's."""
    roles = roles_of(plan)
    training = [run for run in roles.training if not run.whole]
    if not training or roles.transpiles or plan.options.batch_size == "per-device":
        return []
    around = {id(run.event) for run in (*training, *roles.starts)}
    others = [run.event for run in roles.runs if id(run.event) not in around]
    found = []
    for shaped, sure in batches_of(plan):
        answer: Division | Undivided
        module, node = shaped.event.module, shaped.node
        fed = bool(DATA & names_of(shaped.event))
        if not sure:
            answer = undivided(shaped, "this may be made for the rows of a whole batch, of which "
                               "each trainer has a share")  # fmt: skip
        elif others:
            answer = undivided(shaped, f"{WHOLE}; other runs, such as those that test, have whole "
                               "batches")  # fmt: skip
        elif node is None or not module.is_entry or (fed and shaped.name is None):
            answer = undivided(shaped, WHOLE)
        else:
            answer = Division("share_size", module, node)
        found.append((shaped, answer))
    return found


def fixed_names(plan: Plan) -> tuple[str, ...]:
    """The names of what is fed whose declared size is made that of a share."""
    return tuple(
        shaped.name
        for shaped, answer in fixed_sizes(plan)
        if shaped.name is not None and isinstance(answer, Division)
    )


def undivided(shaped: Shaped, why: str) -> Undivided:
    """The answer for a shape that cannot be made one of a share."""
    return Undivided(
        shaped.event.module,
        shaped.event.node,
        why,
        "declare what is fed with None or -1 rows, and make what goes with it by "
        "fill_constant_batch_size_like",
    )


def batches_of(plan: Plan) -> Iterator[tuple[Shaped, bool]]:
    """The variables that have, or may have, a row for each sample of a whole batch."""
    fed = [one for event in plan.facts.reached_calls if (one := fed_by(event)) is not None]
    fixed = [one for one in fed if is_fixed(one)]
    growing = {id(v) for one in fed if not is_fixed(one) for v in one.event.result}
    known = list(known_sizes(plan))
    sure = [one for one in fixed if is_named(one, known)]
    if fixed and not growing and all(same(one.size, fixed[0].size) for one in fixed):
        sure = fixed
    batch = growing | {id(value) for one in sure for value in one.event.result}
    sure += [one for one in fixed if one not in sure and meets(plan, one, batch) is True]
    for one in fixed:
        if one in sure:
            yield one, True
        elif not growing or any(same(one.size, each.size) for each in known):
            yield one, False
    batch |= {id(value) for one in sure for value in one.event.result}
    for event in plan.facts.reached_calls:
        made = made_by(event) or written_by(event, batch)
        if made is None or not is_fixed(made):
            continue
        met = meets(plan, made, batch)
        if met or is_named(made, known):
            yield made, True
        elif met is None and any(same(made.size, each.size) for each in known):
            yield made, False


def fed_by(event: Event) -> Shaped | None:
    """What a call declares to be fed, where its shape is written with all dimensions."""
    names = names_of(event)
    if not names & DATA:
        return None
    shaped = shaped_by(event, 1)
    if shaped is None:
        return None
    given = event.arguments.get("append_batch_size", 2)
    if f"{LAYERS}data" in names and (given is None or given.values != (Constant(False),)):
        # A dimension for the samples is put before these.
        return Shaped(event, (Constant(-1),), None, shaped.rank + 1)
    called = event.arguments.get("name", 0)
    name = only_constant(called.values) if called is not None else None
    word = name.value if name is not None and isinstance(name.value, str) else None
    return Shaped(event, shaped.size, shaped.node, shaped.rank, word)


def made_by(event: Event) -> Shaped | None:
    """The variable of a written shape that a layer makes."""
    for name in names_of(event):
        position = MAKING.get(name.removeprefix(LAYERS)) if name.startswith(LAYERS) else None
        if position is not None:
            return shaped_by(event, position)
    return None


def written_by(event: Event, batch: set[int]) -> Shaped | None:
    """The variable that a layer makes of rows which are written out, each of its own kind."""
    names = {name.removeprefix(LAYERS) for name in names_of(event) if name.startswith(LAYERS)}
    if "reshape" in names:
        given = event.arguments.get("x", 0)
        if given is None or any(id(value) in batch for value in walk_back(given.values)):
            return None
        shaped = shaped_by(event, 1)
        return None if shaped is None else Shaped(event, shaped.size, None, shaped.rank)
    if "range" in names:
        bounds = [event.arguments.get(word, place) for place, word in enumerate(("start", "end"))]
        if bounds[0] is None or bounds[1] is None or bounds[0].values != (Constant(0),):
            return None
        return Shaped(event, bounds[1].values, None, 1)
    if "linspace" in names:
        number = event.arguments.get("num", 2)
        return None if number is None else Shaped(event, number.values, None, 1)
    if "assign" in names:
        given = event.arguments.get("input", 0)
        shape = shape_of_array(given.values) if given is not None else []
        return Shaped(event, (shape[0],), None, len(shape)) if shape else None
    return None


def shape_of_array(values: Values) -> list[Constant]:
    """The shape of an array of NumPy that is written out; empty where it is not seen."""
    value = values[0] if len(values) == 1 else None
    if not isinstance(value, Opaque) or value.kind != "call":
        return []
    for word, receivers in method_calls(value):
        if word != "reshape":
            return shape_of_array(receivers)
        numbers_given = [
            one
            for item in value.arguments.items
            for held in item.values
            for one in (only_of(held) if isinstance(held, Sequence) else [held])
        ]
        return [one for one in numbers_given if isinstance(one, Constant)]
    if any(name in ("numpy.arange", "numpy.linspace") for name in called_names(value)):
        place = 2 if "numpy.linspace" in called_names(value) else 0
        counted = value.arguments.get("num" if place else "stop", place)
        found = only_constant(counted.values) if counted is not None else None
        return [found] if isinstance(found, Constant) else []
    return []


def only_of(held: Sequence) -> list[Value]:
    """The entries of a tuple or list that are known."""
    return [values[0] for values in held.elements if len(values) == 1]


def shaped_by(event: Event, position: int) -> Shaped | None:
    """The shape that a call is given as a list."""
    given = event.arguments.get("shape", position)
    only = given.values[0] if given is not None and len(given.values) == 1 else None
    if given is None or not isinstance(only, Sequence) or not only.elements or only.rest:
        return None
    written = given.node
    node = None
    if isinstance(written, (cst.List, cst.Tuple)) and written.elements:
        first = written.elements[0]
        node = first.value if isinstance(first, cst.Element) else None
    return Shaped(event, only.elements[0], node, len(only.elements))


def is_fixed(shaped: Shaped) -> bool:
    """Whether the first dimension is a number of several rows, or one that is not known."""
    known = only_constant(shaped.size)
    if known is None:
        return bool(shaped.size)
    return isinstance(known.value, int) and known.value > 1


def known_sizes(plan: Plan) -> Iterator[Known]:
    """How many samples a batch of the training has, wherever the script says so."""
    for event in plan.facts.reached_calls:
        method = any(getattr(callee, "name", "") in GENERATORS for callee in event.callee)
        if method or names_of(event) & BATCHES:
            given = event.arguments.get("batch_size", 1)
            if given is not None and isinstance(given.node, cst.BaseExpression):
                yield Known(given.values, event.module.source.code(given.node).strip())
    for run in roles_of(plan).training:
        module = run.event.module
        nodes = [step for loop in loops_around(run.event) for step in steps_of(plan, loop.node)]
        nodes += widths_of(run.feed.node) if run.feed is not None and run.feed.node else []
        for node in nodes:
            yield Known(plan.facts.values_of(node), module.source.code(node).strip())


def steps_of(plan: Plan, loop: cst.CSTNode) -> Iterator[cst.BaseExpression]:
    """The steps of a loop over a ``range``."""
    call = loop.iter if isinstance(loop, (cst.For, cst.CompFor)) else None
    if isinstance(call, cst.Call) and plan.facts.values_of(call.func) == (RANGE,):
        yield from (arg.value for arg in call.args[2:3])


def widths_of(node: cst.CSTNode) -> list[cst.BaseExpression]:
    """How long slices are that are written ``rows[start : start + length]``."""
    return [
        inner.upper.right
        for inner in descendants(node)
        if isinstance(inner, cst.Slice)
        and isinstance(inner.upper, cst.BinaryOperation)
        and isinstance(inner.upper.operator, cst.Add)
        and inner.lower is not None
        and inner.lower.deep_equals(inner.upper.left)
    ]


def is_named(shaped: Shaped, known: list[Known]) -> bool:
    """Whether a dimension is written by the name by which the script calls the batch's size."""
    if not isinstance(shaped.node, (cst.Name, cst.Attribute)):
        return False
    text = shaped.event.module.source.code(shaped.node).strip()
    return any(each.text == text and same(each.size, shaped.size) for each in known)


def same(one: Values, other: Values) -> bool:
    """Whether two numbers are the same, for all that is known."""
    first, second = only_constant(one), only_constant(other)
    if first is not None and second is not None:
        return bool(first.value == second.value)
    return bool(one) and {id(value) for value in one} == {id(value) for value in other}


def meets(plan: Plan, shaped: Shaped, batch: set[int]) -> bool | None:
    """Whether a layer takes the rows of a variable together with those of what is fed.

    Returns:
        None where it depends on a number of dimensions that is not known.
    """
    made = {id(value) for value in shaped.event.result}
    answer: bool | None = False
    for elementwise, sides in meetings(plan):
        if not any(is_alike(side, made) for side in sides):
            continue
        others = [
            side
            for side in sides
            if not is_alike(side, made) and any(id(v) in batch for v in walk_back(side))
        ]
        if not others:
            continue
        if not elementwise:
            return True
        ranks = {rank_of(side) for side in others}
        if shaped.rank in ranks:
            return True
        answer = None if None in ranks else answer
    return answer


@query
def meetings(plan: Plan) -> list[tuple[bool, list[Values]]]:
    """What goes through the rows of its inputs together, with those, and whether one by one."""
    found = [
        (any(name.startswith(f"{LAYERS}elementwise_") for name in names_of(event)), sides)
        for event in plan.facts.reached_calls
        if (sides := list(sides_of(event)))
    ]
    for module in plan.facts.modules.values():
        for node in module.source.nodes_of(cst.BinaryOperation):
            found.append((True, [plan.facts.values_of(each) for each in (node.left, node.right)]))
    return found


def sides_of(event: Event) -> Iterator[Values]:
    """The inputs of a layer that goes through the rows of all of them together."""
    names = names_of(event)
    words: tuple[str, ...] = ()
    if names & LABELLED:
        words = ("input", "label")
    elif any(name.startswith(f"{LAYERS}elementwise_") for name in names):
        words = ("x", "y")
    elif f"{LAYERS}concat" in names:
        axis = event.arguments.get("axis", 1)
        given = event.arguments.get("input", 0)
        if axis is not None and axis.values != (Constant(0),) and given is not None:
            for value in given.values:
                yield from getattr(value, "elements", ())
    for position, word in enumerate(words):
        for keyword in (word, "x") if word == "input" else (word,):
            side = event.arguments.get(keyword, position)
            if side is not None:
                yield side.values
                break


def is_alike(values: Values, made: set[int]) -> bool:
    """Whether something is a variable, or is made of it row by row."""
    for _ in range(20):
        if any(id(value) in made for value in values):
            return True
        value = values[0] if len(values) == 1 else None
        if isinstance(value, Opaque) and value.kind == "operation":
            return any(is_alike(each, made) for each in value.operands)
        if len(values) != 1 or not any(name in ALIKE for name in called_names(values[0])):
            return False
        assert isinstance(values[0], Opaque)
        values = input_of(values[0])
    return False
