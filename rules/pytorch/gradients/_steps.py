"""Where a script counts batches by a number that does not follow from the data."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event, Loop
from transpile.facts.module import Module
from transpile.facts.values import Argument, Constant, Opaque, Sequence, Value, Values
from transpile.facts.walk import descendants
from transpile.plan.data.sources import depends_on_world_size
from transpile.plan.flow.places import function_of
from transpile.plan.graph import called_names, walk_back
from transpile.plan.model import Plan
from transpile.records import dataclass

#: Schedulers to the parameters that count their steps, with positions.
STEP_COUNTS = {
    "StepLR": (("step_size", 1),),
    "MultiStepLR": (("milestones", 1),),
    "ConstantLR": (("total_iters", 2),),
    "LinearLR": (("total_iters", 3),),
    "PolynomialLR": (("total_iters", 1),),
    "CosineAnnealingLR": (("T_max", 1),),
    "CosineAnnealingWarmRestarts": (("T_0", 1),),
    "CyclicLR": (("step_size_up", 3), ("step_size_down", 4)),
    "OneCycleLR": (("total_steps", 2), ("steps_per_epoch", 4)),
    "SequentialLR": (("milestones", 2),),
    "get_linear_schedule_with_warmup": (("num_warmup_steps", 1), ("num_training_steps", 2)),
    "get_cosine_schedule_with_warmup": (("num_warmup_steps", 1), ("num_training_steps", 2)),
    "get_constant_schedule_with_warmup": (("num_warmup_steps", 1),),
    "get_polynomial_decay_schedule_with_warmup": (
        ("num_warmup_steps", 1),
        ("num_training_steps", 2),
    ),
}
SCHEDULERS = ("torch.optim.lr_scheduler.", "transformers.")
ORDERINGS = (cst.LessThan, cst.LessThanEqual, cst.GreaterThan, cst.GreaterThanEqual)


@dataclass(frozen=True, eq=False)
class Count:
    """A fixed number of batches.

    Args:
        module: where it is.
        node: the expression.
        what: what counts, in words.
        number: the number, where it is known.
        text: the expression's text.
    """

    module: Module
    node: cst.CSTNode
    what: str
    number: int | None
    text: str


def counted_batches(plan: Plan) -> Iterator[Count]:
    """The places that count batches by a fixed number, each once."""
    seen: set[int] = set()
    for found in (*scheduled(plan), *looped(plan), *compared(plan)):
        if id(found.node) not in seen:
            seen.add(id(found.node))
            yield found


def scheduled(plan: Plan) -> Iterator[Count]:
    """The counts of schedulers that are stepped with every batch."""
    stepped = {id(value) for event in plan.facts.events for value in stepped_by(plan, event)}
    for event in plan.facts.calls:
        for value in event.result:
            if id(value) not in stepped:
                continue
            for name in called_names(value):
                if not name.startswith(SCHEDULERS):
                    continue
                word = name.rpartition(".")[2]
                for parameter, position in STEP_COUNTS.get(word, ()):
                    argument = event.arguments.get(parameter, position)
                    if argument is not None and is_fixed(plan, argument.values):
                        yield count(event, argument, f"'{parameter}' of {word}")


def stepped_by(plan: Plan, event: Event) -> Iterator[Value]:
    """The objects whose ``step`` a call in the batch loop is."""
    if event.kind == "call" and plan.in_training(event.stack):
        for callee in event.callee:
            if isinstance(callee, Opaque) and callee.name == "step" and callee.operands:
                yield from callee.operands[0]


def count(event: Event, argument: Argument, what: str) -> Count:
    """The count that an argument is."""
    node = argument.node if argument.node is not None else event.node
    return Count(event.module, node, what, number_of(argument.values), text_of(event.module, node))


def looped(plan: Plan) -> Iterator[Count]:
    """Loops over a fixed number of batches: ``for step in range(10000): batch = next(it)``."""
    for backward in plan.backwards:
        loop = backward.batch_loop
        iteration = backward.iteration
        if loop is None or iteration is None or iteration.node is loop.node:
            continue
        if not isinstance(loop.node, cst.For) or not isinstance(loop.node.iter, cst.Call):
            continue
        call = loop.node.iter
        name = call.func.value if isinstance(call.func, cst.Name) else ""
        if name not in ("range", "trange") or not call.args:
            continue
        bound = call.args[1 if len(call.args) > 1 else 0].value
        values = plan.facts.values_of(bound)
        if is_fixed(plan, values):
            yield Count(
                loop.module, bound, "this loop", number_of(values), text_of(loop.module, bound)
            )


def compared(plan: Plan) -> Iterator[Count]:
    """Comparisons of a counter of batches with a fixed number."""
    for loop in {id(b.batch_loop): b.batch_loop for b in plan.backwards}.values():
        if loop is None:
            continue
        counters = set(counters_of(loop))
        if not counters:
            continue
        owner = function_of(loop.module, loop.node) or loop.module.source.tree
        for node in descendants(owner):
            if not isinstance(node, cst.Comparison) or len(node.comparisons) != 1:
                continue
            target = node.comparisons[0]
            if not isinstance(target.operator, ORDERINGS):
                continue
            for one, other in ((node.left, target.comparator), (target.comparator, node.left)):
                if loop.module.source.code(one) not in counters:
                    continue
                values = plan.facts.values_of(other)
                if is_fixed(plan, values) and number_of(values) not in (0, 1):
                    yield Count(
                        loop.module,
                        other,
                        f"'{text_of(loop.module, node)}'",
                        number_of(values),
                        text_of(loop.module, other),
                    )


def counters_of(loop: Loop) -> Iterator[str]:
    """The variables that a batch loop itself counts up by one."""
    for node in descendants(loop.node):
        if (
            isinstance(node, cst.AugAssign)
            and isinstance(node.operator, cst.AddAssign)
            and isinstance(node.value, cst.Integer)
            and node.value.value == "1"
        ):
            yield loop.module.source.code(node.target)


def is_fixed(plan: Plan, values: Values) -> bool:
    """Whether a number follows neither from the length of something nor from the processes."""
    if not values or any(isinstance(v, Constant) and v.value is None for v in values):
        return False
    if depends_on_world_size(plan, values):
        return False
    return not any(
        isinstance(value, Opaque) and value.kind == "operation" and value.name == "len"
        for value in walk_back(values)
    )


def number_of(values: Values) -> int | None:
    """The number that values are; None where it is not known, or several."""
    if len(values) == 1 and isinstance(values[0], Constant) and type(values[0].value) is int:
        return values[0].value
    if len(values) == 1 and isinstance(values[0], Sequence):
        return None
    return None


def text_of(module: Module, node: cst.CSTNode) -> str:
    """The first line of a node's text."""
    return module.source.code(node).partition("\n")[0]
