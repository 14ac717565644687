"""Batches that are pieces of streams: data folded into columns that lie beside each other in time.

``data.view(batch_size, -1).t()`` makes one column for each sample of a batch. Each step takes the
next rows of all columns, so that a state may go on from one step to the next. What a process can
have of its own are columns.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Call, Event, Loop
from transpile.facts.module import Module
from transpile.facts.values import Instance, Opaque, Sequence, Value, Values, only_constant
from transpile.plan.data.cuts.bounds import Bounds
from transpile.plan.graph import SIZE_OPERATIONS, called_names, method_calls, origin, walk_back
from transpile.plan.model import Backward, Cut, Plan
from transpile.plan.roles.surroundings import inside_module
from transpile.records import dataclass

FOLDS = frozenset({"view", "reshape"})
RANDOM = (
    "random numbers, which differ between the processes, decide how long a piece of the streams is"
)
#: What draws plain numbers.
NUMBERS = ("numpy.random.", "random.")
WHOLE = "what a step takes is no piece of all streams, one behind the other in time"


@dataclass(frozen=True, eq=False)
class Fold:
    """Data that was folded into streams.

    Args:
        value: the streams.
        dim: the dimension that counts them.
        size: the expression that says how many there are.
        module: where that stands.
        sizes: what that expression is where these streams are made.
    """

    value: Opaque
    dim: int
    size: cst.BaseExpression
    module: Module
    sizes: Values


def find_streams(plan: Plan, backward: Backward, happening: dict[int, Event]) -> bool:
    """Find the streams that a backward pass takes its pieces from; False where there are none.

    Args:
        plan: the plan so far.
        backward: the backward pass, which learns its cuts and its loop over the batches.
        happening: the calls of the run by the identity of what they give.
    """
    loops = [frame for frame in backward.event.stack if isinstance(frame, Loop)]
    if not loops or not plan.table.index_draws:
        return False
    folds: dict[int, Fold] = {}
    counted: list[tuple[Value, int]] = []
    problem = ""
    done = False
    for piece, node in pieces(plan, backward):
        bases = [(origin(base), fold_of(behind_share(plan, base))) for base in piece.operands[0]]
        if not bases or any(fold is None for _, fold in bases):
            return False
        for base, fold in bases:
            assert fold is not None
            event = happening.get(id(fold.value))
            if event is None or inside_module(event.stack, plan.table):
                return False
            if any(frame.node is loops[-1].node for frame in event.loops()):
                return False
            done = done or base is not fold.value
            folds[id(fold.value)] = fold
            counted.append((base, fold.dim))
            problem = problem or trouble(plan, node, fold)
    if not folds:
        return False
    if decided_by_chance(plan, loops[-1]):
        problem = problem or RANDOM
    backward.batch_loop = loops[-1]
    backward.epoch_loops = tuple(loops[:-1])
    backward.cut_problem = problem
    backward.cuts = tuple(
        cut_of(plan, fold, happening[id(fold.value)], done=done) for fold in folds.values()
    )
    for cut in backward.cuts:
        if cut.streams is None and not cut.done:
            backward.cut_problem = problem or (
                "the data is folded into streams in code that does so for others, too, and no "
                "expression of the training gives those that it takes its batches from"
            )
    for base, dim in counted:
        plan.samples[id(base)] = dim
        plan.kept.append(base)
    return True


def pieces(plan: Plan, backward: Backward) -> Iterator[tuple[Opaque, cst.Subscript]]:
    """The slices behind a loss that move on with a loop."""
    for value in walk_back(backward.loss, lambda each: not isinstance(each, Instance)):
        if isinstance(value, Opaque) and value.kind == "item":
            node = value.node
            if isinstance(node, cst.Subscript) and any(
                Bounds.of(plan.facts, element.slice).moves()
                for element in node.slice
                if isinstance(element.slice, cst.Slice)
            ):
                yield value, node


def trouble(plan: Plan, node: cst.Subscript, fold: Fold) -> str:
    """Why a slice of streams is no piece of all of them; empty where it is."""
    parts = [element.slice for element in node.slice]
    time = 1 - fold.dim
    if len(parts) > 2 or len(parts) <= time:
        return WHOLE
    for place, part in enumerate(parts):
        if not isinstance(part, cst.Slice) or (place != time and (part.lower or part.upper)):
            return WHOLE
        bounds = Bounds.of(plan.facts, part)
        for value in walk_back((*bounds.lower, *bounds.upper), is_no_size):
            if any(is_random(plan, name) for name in called_names(value)):
                return RANDOM
    return ""


def is_no_size(value: Value) -> bool:
    """Whether a value is made of more than the size of what it is made of."""
    if not isinstance(value, Opaque):
        return True
    if value.kind == "operation":
        return value.name not in SIZE_OPERATIONS
    return value.kind != "attribute" or value.name not in ("size", "shape")


def decided_by_chance(plan: Plan, loop: Loop) -> bool:
    """Whether random numbers may decide what a round of a loop does, outside of models."""
    for event in plan.facts.calls:
        if not any(frame.node is loop.node for frame in event.loops()):
            continue
        if inside_module(event.stack, plan.table):
            continue
        for value in event.result:
            if any(name.startswith(NUMBERS) for name in called_names(value)):
                return True
            for name, receiver in method_calls(value):
                if name == "item" and any(
                    is_random(plan, called)
                    for inner in walk_back(receiver, is_computed)
                    for called in called_names(inner)
                ):
                    return True
    return False


def is_computed(value: Value) -> bool:
    """Whether a value is computed from others by an operator."""
    return isinstance(value, Opaque) and value.kind == "operation"


def is_random(plan: Plan, name: str) -> bool:
    """Whether a function draws random numbers."""
    return name in plan.table.draws or name.startswith(NUMBERS)


# What is folded.


def fold_of(base: Value) -> Fold | None:
    """The fold that a value is, behind moves to a device; None where it is none."""
    value = origin(base)
    if not isinstance(value, Opaque):
        return None
    turned = turned_from(value)
    if turned is not None:
        inner = folded(origin(turned))
        return None if inner is None else Fold(value, 1, *inner)
    inner = folded(value)
    return None if inner is None else Fold(value, 0, *inner)


def turned_from(value: Opaque) -> Value | None:
    """What a matrix was before its two dimensions were exchanged; None for anything else."""
    if value.kind == "attribute" and value.name == "T" and len(value.operands[0]) == 1:
        return value.operands[0][0]
    for name, receiver in method_calls(value):
        given = [only_constant(item.values) for item in value.arguments.items]
        numbers = [one.value for one in given if one is not None]
        if len(receiver) != 1 or len(numbers) != len(given):
            continue
        if name == "t" and not numbers:
            return receiver[0]
        if name in ("transpose", "permute") and sorted(map(str, numbers)) == ["0", "1"]:
            return receiver[0] if name == "transpose" or numbers == [1, 0] else None
    return None


def folded(value: Value) -> tuple[cst.BaseExpression, Module, Values] | None:
    """The number of rows that a value was folded into by ``view(rows, -1)``, and where."""
    if not isinstance(value, Opaque) or not isinstance(value.node, cst.Call):
        return None
    if len(value.callee) != 1 or not any(name in FOLDS for name, _ in method_calls(value)):
        return None
    sizes = [arg.value for arg in value.node.args]
    if len(sizes) == 1 and isinstance(sizes[0], (cst.Tuple, cst.List)):
        sizes = [element.value for element in sizes[0].elements]
    if len(sizes) != 2 or not is_rest(sizes[1]) or is_rest(sizes[0]):
        return None
    given = value.arguments.items[0].values if value.arguments.items else ()
    if len(given) == 1 and isinstance(given[0], Sequence) and given[0].elements:
        given = given[0].elements[0]
    return sizes[0], value.module, given


def is_rest(node: cst.BaseExpression) -> bool:
    """Whether an expression is ``-1``."""
    return (
        isinstance(node, cst.UnaryOperation)
        and isinstance(node.operator, cst.Minus)
        and isinstance(node.expression, cst.Integer)
        and node.expression.evaluated_value == 1
    )


def behind_share(plan: Plan, base: Value) -> Value:
    """The streams of all processes behind the part that one has taken of them by its rank."""
    value = origin(base)
    while isinstance(value, Opaque) and value.kind == "call" and value.inner:
        if len(value.inner) != 1:
            return value
        value = origin(value.inner[0])
    for name, receiver in method_calls(value):
        if name == "narrow" and len(receiver) == 1 and isinstance(value, Opaque):
            given = tuple(v for item in value.arguments.items for v in item.values)
            if any(
                called in plan.table.rank_calls
                for inner in walk_back(given)
                for called in called_names(inner)
            ):
                return receiver[0]
    return value


# Where the part is taken.


def cut_of(plan: Plan, fold: Fold, event: Event, *, done: bool) -> Cut:
    """The cut of streams, at the innermost expression that gives nothing but them."""
    assert isinstance(fold.value.node, cst.BaseExpression)
    if done:
        return Cut(
            fold.module, fold.value.node, fold.size, [fold.value], done=True, streams=fold.dim
        )
    places: list[tuple[Module, cst.CSTNode]] = [outermost(plan, fold)]
    places += [
        (frame.module, frame.node)
        for frame in reversed(event.stack)
        if isinstance(frame, Call) and frame.node is not None
    ]
    for module, node in places:
        if isinstance(node, cst.BaseExpression) and gives_only(plan, node, fold.value):
            return Cut(module, node, fold.size, [fold.value], streams=fold.dim, sizes=fold.sizes)
    return Cut(fold.module, fold.value.node, fold.size, [fold.value])


def outermost(plan: Plan, fold: Fold) -> tuple[Module, cst.CSTNode]:
    """The whole expression around a fold that still gives the same streams."""
    module, node = fold.value.module, fold.value.node
    while True:
        parent = module.source.parent(node)
        call = module.source.parent(parent) if isinstance(parent, cst.Attribute) else None
        if not isinstance(call, cst.Call) or call.func is not parent:
            return module, node
        if not gives_only(plan, call, fold.value):
            return module, node
        node = call


def gives_only(plan: Plan, node: cst.CSTNode, streams: Value) -> bool:
    """Whether an expression gives some streams and nothing else, however often it runs."""
    values = plan.facts.values_of(node)
    return bool(values) and all(origin(behind_calls(value)) is streams for value in values)


def behind_calls(value: Value) -> Value:
    """What a followed call gave."""
    while isinstance(value, Opaque) and len(value.inner) == 1:
        value = value.inner[0]
    return value
