"""Let the learning rate follow the larger global batch.

What:
    With ``--batch-size per-device --scale-lr linear`` the learning rate of an optimizer, or that
    which its schedule begins with, is multiplied by the number of workers; with ``sqrt`` by the
    root of it.

Why:
    N workers that each take the script's batch train with an N times larger batch.

Before:
    optimizer = keras.optimizers.SGD(0.1)

After:
    optimizer = keras.optimizers.SGD(scale_learning_rate(0.1))

Refuses when:
    the learning rate is not written in the call that makes the optimizer or its schedule.

Source:
    Goyal et al., Accurate, Large Minibatch SGD (arXiv:1706.02677), section 2.1.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.values import Argument, Constant, Opaque
from transpile.layout import wrap_expression
from transpile.plan.graph import called_names
from transpile.plan.model import Plan
from transpile.rule import Answer, Change, Helper, In, Remark, Ruling, Rulings
from transpile.rules.tensorflow._names import OPTIMIZERS, SCHEDULES
from transpile.rules.tensorflow._sites import connects_workers, receivers_of

CODES = {
    "TF231": "the learning rate follows the number of workers",
    "TF232": "the learning rate of an adaptive optimizer is scaled linearly",
    "TF233": "the learning rate stays although the batch grows",
    "TF234": "a learning rate cannot be followed",
}
HELPERS = {"linear": "scale_learning_rate", "sqrt": "scale_learning_rate_by_root"}
ADAPTIVE = ("Ada", "Nadam", "RMSprop", "Ftrl", "Lamb", "Lion")
#: Schedules whose every rate is a multiple of the one that they begin with.
PROPORTIONAL = (
    "CosineDecay", "CosineDecayRestarts", "ExponentialDecay", "InverseTimeDecay",
    "PolynomialDecay",
)  # fmt: skip
BEGINS = "initial_learning_rate"


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each optimizer, and for each schedule that one is given."""
    if plan.options.batch_size != "per-device" or connects_workers(plan):
        return
    made = list(makers(plan, OPTIMIZERS))
    if plan.options.scale_lr == "none":
        for event, _ in made:
            yield Remark.note(
                "TF233",
                event,
                "the learning rate stays, although N times as many samples now make up a step of N "
                "workers",
                "--scale-lr linear (SGD) or sqrt (Adam) lets the learning rate follow",
            )
        return
    for event, name in made:
        if plan.options.scale_lr == "linear" and name.startswith(ADAPTIVE):
            yield Remark.warn(
                "TF232",
                event,
                f"the learning rate of {name} is multiplied by the number of workers: adaptive "
                "optimizers often diverge with that",
                "use --scale-lr sqrt, or none",
            )
        yield rate_of(event, event.arguments.get("learning_rate", 0))
    for event, name in makers(plan, (SCHEDULES,)):
        if name in PROPORTIONAL:
            yield rate_of(event, event.arguments.get(BEGINS, 0))
        else:
            yield stays(event, f"{name} says several rates")
    for event in plan.facts.calls:
        if any("keras.callbacks.LearningRateScheduler" in called_names(v) for v in event.result):
            yield stays(event, "what a function says for each epoch is not followed")
        elif receivers_of(event, frozenset({"compile"})):
            given = event.arguments.get("optimizer", 0)
            if given is not None and all(isinstance(value, Constant) for value in given.values):
                yield stays(event, "the optimizer is named by a word, without a rate")


def makers(plan: Plan, prefixes: tuple[str, ...]) -> Iterator[tuple[Event, str]]:
    """The calls that make an object of some kind, each place once, and the class."""
    seen: set[int] = set()
    for event in plan.facts.calls:
        for name in (name for value in event.result for name in called_names(value)):
            last = name.rpartition(".")[2]
            nested = name.startswith(SCHEDULES) and SCHEDULES not in prefixes
            if name.startswith(prefixes) and not nested and last[:1].isupper():
                if id(event.node) not in seen:
                    seen.add(id(event.node))
                    yield event, last


def rate_of(event: Event, rate: Argument | None) -> Answer:
    """The answer about one argument."""
    if rate is None or not isinstance(rate.node, cst.BaseExpression):
        return stays(event, "it is not written here")
    names = [name for value in rate.values for name in called_names(value)]
    if any(name.startswith(SCHEDULES) for name in names):
        return Ruling.done("TF231", event, "its schedule is scaled")
    if not all(isinstance(value, (Constant, Opaque)) for value in rate.values):
        return stays(event, "a schedule of the script's own says it")
    return Ruling.apply(
        "TF231", event, "the learning rate follows the number of workers", data=rate.node
    )


def stays(event: Event, why: str) -> Remark:
    """A word on a rate that stays."""
    return Remark.warn(
        "TF234",
        event,
        f"{why}: this learning rate is not scaled",
        "multiply it by the number of workers, or its square root, by hand",
    )


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The helper around the rate."""
    helper = HELPERS[plan.options.scale_lr]
    yield Helper(helper, ruling.module)
    name = plan.names_in(ruling.module).fresh(helper)
    for edit in wrap_expression(ruling.module.source, ruling.data, f"{name}(", ")"):
        yield In(ruling.module, edit)
