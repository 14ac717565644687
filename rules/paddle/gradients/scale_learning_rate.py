"""Let the learning rate follow the larger global batch.

What:
    With ``--batch-size per-device --scale-lr linear`` the learning rate that an optimizer or its
    schedule begins with is multiplied by the number of processes; with ``sqrt`` by its root.

Why:
    N processes that each take the script's batch train with an N times larger batch.

Before:
    optimizer = paddle.optimizer.SGD(learning_rate=0.1, parameters=model.parameters())

After:
    optimizer = paddle.optimizer.SGD(
        learning_rate=scale_learning_rate(0.1), parameters=model.parameters()
    )

Refuses when:
    the learning rate does not stand in the call that makes the optimizer or its schedule, or a
    schedule takes its rates from more than one number.

Source:
    Goyal et al., Accurate, Large Minibatch SGD (arXiv:1706.02677), section 2.1.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.module import Module
from transpile.facts.values import Constant, Opaque, Value
from transpile.layout import wrap_expression
from transpile.plan.data.sources import depends_on_world_size
from transpile.plan.graph import called_names
from transpile.plan.model import Plan
from transpile.rule import Answer, Change, Helper, In, Ruling, Rulings

CODES = {
    "PD231": "the learning rate follows the global batch",
    "PD232": "the learning rate cannot be followed",
}
#: Where calls are split, every process has whole batches.
WAYS = ("data",)
#: Schedules whose every rate is a multiple of the one that they begin with.
PROPORTIONAL = frozenset(
    {
        "StepDecay", "MultiStepDecay", "ExponentialDecay", "NaturalExpDecay", "InverseTimeDecay",
        "LambdaDecay", "MultiplicativeDecay", "NoamDecay",
    }
)  # fmt: skip
#: Those that go down to a number of their own, 0 where it is not given.
WITH_AN_END = {"CosineAnnealingDecay": "eta_min", "PolynomialDecay": "end_lr"}
RATES = {"NoamDecay": 2}
HELPERS = {"linear": "scale_learning_rate", "sqrt": "scale_learning_rate_by_root"}


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each optimizer of a model that learns."""
    if plan.options.scale_lr == "none":
        return
    seen: set[int] = set()
    for optimizer in plan.optimizers:
        if optimizer.event.detached or not optimizer.steps:
            continue
        rate = optimizer.event.arguments.get("learning_rate", 0)
        place = rate_of(optimizer.event.module, rate.node, rate.values) if rate else None
        if rate is not None and depends_on_world_size(plan, rate.values):
            yield Ruling.done(
                "PD231", optimizer.event, "the learning rate follows the number of processes"
            )
        elif place is None:
            yield Ruling.refuse(
                "PD232",
                optimizer.event,
                "it is not clear where the learning rate of this optimizer stands",
                "give the optimizer or its schedule the learning rate as learning_rate=",
            )
        elif id(place[1]) not in seen:
            seen.add(id(place[1]))
            yield Ruling.apply(
                "PD231", (place[0], place[1]), "the learning rate follows the number of processes"
            )


def rate_of(
    module: Module, node: cst.CSTNode | None, values: tuple[Value, ...]
) -> tuple[Module, cst.BaseExpression] | None:
    """Where the number stands that all rates are multiples of."""
    if len(values) != 1 or not isinstance(node, cst.BaseExpression):
        return None
    value = values[0]
    names = called_names(value)
    if isinstance(value, Opaque) and any(n.startswith("paddle.optimizer.lr.") for n in names):
        word = names[0].rpartition(".")[2]
        end = value.arguments.keyword(WITH_AN_END.get(word, ""))
        if word in WITH_AN_END:
            if end is not None and end.values not in ((Constant(0),), (Constant(0.0),)):
                return None
            if end is None and word == "PolynomialDecay":
                return None
        elif word not in PROPORTIONAL:
            return None
        inner = value.arguments.get("learning_rate", RATES.get(word, 0))
        if inner is None or len(value.arguments.positional()) > 4:
            return None
        return rate_of(value.module, inner.node, inner.values)
    if isinstance(value, Opaque) and value.kind == "call":
        return None
    return module, node


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The number within the helper."""
    helper = HELPERS[plan.options.scale_lr]
    node = ruling.node
    assert isinstance(node, cst.BaseExpression)
    yield Helper(helper, ruling.module)
    name = plan.names_in(ruling.module).fresh(helper)
    for edit in wrap_expression(ruling.module.source, node, f"{name}(", ")"):
        yield In(ruling.module, edit)
