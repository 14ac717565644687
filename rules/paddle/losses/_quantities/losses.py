"""What losses make of the samples of a batch."""

from __future__ import annotations

from dataclasses import replace

import libcst as cst

from transpile.facts.values import Arguments, Constant, Opaque, Values
from transpile.plan.model import Plan
from transpile.plan.query import query
from transpile.rules.paddle.losses import _words as words
from transpile.rules.paddle.losses._denominators import Pending

from .domain import EQUAL, MEAN, REDUCIBLE, SAMPLES, SUM, Kind, Quantity, mixed, unknown


def of_loss(
    word: str,
    arguments: Arguments,
    given: list[Quantity],
    settings: bool,
    call: Opaque | None = None,
) -> Quantity:
    """A loss function, or the call of a loss object that was made with `arguments`."""
    if settings and not any(one.kind in (Kind.SAMPLES, Kind.UNKNOWN) for one in given):
        return EQUAL if not any(one.kind in REDUCIBLE for one in given) else given[0]
    if not settings and not any(one.kind is Kind.SAMPLES for one in given):
        return mixed(given, f"'{word}'") if given else EQUAL
    tensors = given if settings else given[:2]
    for one in tensors:
        if one.kind is Kind.UNKNOWN:
            return one
    if arguments.unknown_because:
        return unknown(f"the arguments of the loss are not known: {arguments.unknown_because}")
    if word in words.COUPLING:
        return unknown("the loss compares the samples of a batch with each other")
    offset = 0 if settings else 2
    order = words.LOSS_PARAMETERS.get(words.LOSS_CLASSES.get(word, word), ("reduction",))

    def setting(name: str) -> Values:
        position = order.index(name) + offset if name in order else None
        argument = arguments.get(name, position)
        return argument.values if argument is not None else ()

    if len(arguments.positional()) > offset + len(order):
        return unknown("it is not known how the loss is reduced")
    chosen = "none" if not settings and word in words.UNREDUCED else "mean"
    if setting("reduction"):
        constants = [v.value for v in setting("reduction") if isinstance(v, Constant)]
        if len(constants) != 1 or len(setting("reduction")) != 1:
            return unknown("it is not known how the loss is reduced")
        chosen = str(constants[0])
    if chosen == "none":
        return SAMPLES
    if chosen == "sum":
        return SUM
    if word in words.UNREDUCED:
        return unknown("it is not known how the loss is reduced")
    by = [
        name
        for name in ("weight", "ignore_index")
        if setting(name) not in ((), (Constant(None),))
        and not (name == "weight" and word in words.PLAINLY_WEIGHTED)
    ]
    if not by:
        return MEAN
    soft = arguments.get("soft_label", None)
    plain = soft is None or soft.values == (Constant(False),)
    functional = words.LOSS_CLASSES.get(word, word)
    if call is None or functional not in words.BY_TARGETS or not plain:
        return unknown(f"its mean is taken by '{by[0]}', over less or more than the samples")
    if functional == "cross_entropy" and by == ["ignore_index"]:
        # Measured: 2.6 divides by the targets that are kept, 3.3 by all unless it is 0 or more.
        kept = [v.value for v in setting("ignore_index") if isinstance(v, Constant)]
        if any(isinstance(value, int) and value < 0 for value in kept):
            return unknown(
                "what its mean leaves out for a negative 'ignore_index' is not the same "
                "in all versions of Paddle"
            )
    pending = Pending(call.module, call.node, True, settings, "weight" in by, "ignore_index" in by)
    return replace(MEAN, pending=frozenset({pending}))


@query
def _marks_targets(plan: Plan) -> bool:
    return any(
        isinstance(node, cst.UnaryOperation)
        and isinstance(node.operator, cst.Minus)
        and isinstance(node.expression, cst.Integer)
        and node.expression.evaluated_value == 100
        for module in plan.facts.modules.values()
        for node in module.source.nodes
    )


def left_out(plan: Plan, word: str, found: Quantity) -> Quantity:
    """What a plain mean is where the script may mark targets that it leaves out.

    Measured: without an 'ignore_index', 2.6 divides by the targets other than -100, 3.3 by all.
    """
    if words.LOSS_CLASSES.get(word, word) != "cross_entropy" or found != MEAN:
        return found
    if not _marks_targets(plan):
        return found
    return unknown(
        "the script writes -100, which marks targets that the mean leaves out in some versions of "
        "Paddle (2.6) and not in others (3.3)"
    )
