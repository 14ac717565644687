"""Let the learning rate follow the batch where each trainer takes the script's own.

What:
    With ``--batch-size per-device`` the batch of all N trainers together is N times that of the
    script. ``--scale-lr linear`` multiplies the learning rate by N, ``--scale-lr sqrt`` by its
    square root, where the optimizer is made or where its schedule is told the rates.

Why:
    A larger batch averages over more samples and takes fewer steps. For SGD a rate that grows with
    the batch keeps the distance that a pass covers; for Adam and its kin the square root does.

Before:
    sgd = fluid.optimizer.SGD(learning_rate=0.01)

After:
    sgd = fluid.optimizer.SGD(learning_rate=scale_learning_rate(0.01))

Refuses when:
    the rate is not given where the optimizer is made, or comes from something else than a number or
    a schedule of ``fluid.layers``.

Source:
    https://arxiv.org/abs/1706.02677
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.values import Opaque, Value
from transpile.layout import wrap_expression
from transpile.plan.graph import called_names, walk_back
from transpile.plan.model import Plan
from transpile.rule import Answer, Change, Helper, In, Ruling, Rulings
from transpile.rules.fluid._roles import roles_of
from transpile.rules.fluid.gradients._learning_rate import SCHEDULES
from transpile.rules.fluid.gradients._minimizes import Minimize
from transpile.rules.fluid.losses._losses import LAYERS, is_variable

CODES = {
    "FL311": "the learning rate follows the number of trainers",
    "FL312": "the learning rate cannot follow the number of trainers",
}
#: The rates that schedules are told, by name and place.
RATES = {
    "piecewise_decay": (("values", 1),),
    "noam_decay": (("learning_rate", 2),),
    "polynomial_decay": (("learning_rate", 0), ("end_learning_rate", 2)),
    "linear_lr_warmup": (("learning_rate", 0), ("start_lr", 2), ("end_lr", 3)),
}
DEFAULT = (("learning_rate", 0),)


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each rate that is written."""
    roles = roles_of(plan)
    if plan.options.scale_lr == "none" or roles.transpiles:
        return
    seen: set[int] = set()
    for minimize in roles.minimizes:
        makers = list(makers_of(minimize))
        rates = [rate for maker in makers for rate in rates_in(maker, DEFAULT, 0)]
        for maker, node in rates:
            if node is None or not maker.module.is_entry:
                yield Ruling.refuse(
                    "FL312",
                    minimize.event,
                    "the learning rate of this optimizer is not a number in the script, or rates "
                    "of a schedule of fluid.layers",
                    "scale the rate in the script, and convert without --scale-lr",
                )
            elif id(node) not in seen:
                seen.add(id(node))
                yield Ruling.apply(
                    "FL311",
                    (maker.module, node),
                    "the learning rate follows the number of trainers",
                )


def makers_of(minimize: Minimize) -> Iterator[Opaque]:
    """The calls that make the optimizer, those inside of others too."""
    for value in walk_back((minimize.optimizer,)):
        if not isinstance(value, Opaque):
            continue
        if any(name.startswith("paddle.fluid.optimizer.") for name in called_names(value)):
            given = value.arguments.get("optimizer", 0)
            inner = given.values if given is not None else ()
            if not any(is_optimizer_call(each) for each in inner):
                yield value


def is_optimizer_call(value: Value) -> bool:
    """Whether a value is made by an optimizer."""
    return any(name.startswith("paddle.fluid.optimizer.") for name in called_names(value))


def rates_in(
    maker: Opaque, places: tuple[tuple[str, int], ...], depth: int
) -> Iterator[tuple[Opaque, cst.BaseExpression | None]]:
    """The rates that a call is given, and the call; None for one that cannot be followed."""
    found = False
    for name, position in places:
        given = maker.arguments.get(name, position)
        if given is None:
            continue
        found = True
        if not any(is_variable(value) for value in given.values):
            node = given.node
            yield maker, node if isinstance(node, cst.BaseExpression) else None
            continue
        for value in given.values:
            schedules = SCHEDULES.intersection(called_names(value))
            if not schedules or not isinstance(value, Opaque) or depth > 5:
                yield maker, None
                continue
            inner = RATES.get(min(schedules).removeprefix(LAYERS), DEFAULT)
            yield from rates_in(value, inner, depth + 1)
    if not found:
        yield maker, None


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The helper around a rate."""
    yield Helper("scale_learning_rate", ruling.module)
    name = plan.names_in(ruling.module).fresh("scale_learning_rate")
    node = ruling.node
    assert isinstance(node, cst.BaseExpression)
    for edit in wrap_expression(ruling.module.source, node, f"{name}(", ")"):
        yield In(ruling.module, edit)
