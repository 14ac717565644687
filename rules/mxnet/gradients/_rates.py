"""Where a script says learning rates, and where it counts the batches of a schedule."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.module import Module
from transpile.facts.values import (
    Argument,
    Arguments,
    Constant,
    External,
    Mapping,
    Opaque,
    Sequence,
    Value,
    Values,
    only_constant,
)
from transpile.plan.graph import called_names, walk_back
from transpile.plan.model import Plan
from transpile.records import dataclass
from transpile.rules.mxnet._roles import (
    fits,
    made_by,
    receivers_of,
    trainer_argument,
    trainers,
    training_loaders,
)
from transpile.rules.mxnet._vocabulary import FEED_FORWARD
from transpile.rules.mxnet.data._loaders import from_store

RATE = "learning_rate"
OPTIMIZERS = "mxnet.optimizer."
SCHEDULERS = "mxnet.lr_scheduler."
#: The rates of the optimizers that take one without being told, alike in all versions.
DEFAULTS = {"sgd": "0.01", "adam": "0.001"}
ADAPTIVE = frozenset(
    {"adam", "adamax", "nadam", "rmsprop", "adagrad", "adadelta", "ftrl", "ftml", "lamb", "adamw"}
)
#: What schedulers are told that are rates, and what of it has a default that counts.
SCHEDULED = ("base_lr", "final_lr", "warmup_begin_lr", "stop_factor_lr")
WITH_DEFAULTS = frozenset({"PolyScheduler", "CosineScheduler"})
POSITIONS = {
    "FactorScheduler": ("step", "factor", "stop_factor_lr", "base_lr", "", "warmup_begin_lr"),
    "MultiFactorScheduler": ("step", "factor", "base_lr", "", "warmup_begin_lr"),
    "PolyScheduler": ("max_update", "base_lr", "", "final_lr", "", "warmup_begin_lr"),
    "CosineScheduler": ("max_update", "base_lr", "final_lr", "", "warmup_begin_lr"),
}
COUNTS = ("step", "max_update", "warmup_steps")


@dataclass(frozen=True, eq=False)
class Rate:
    """A learning rate.

    Args:
        module: where it is.
        node: the expression; the call that lacks it where there is a default.
        values: what it may be.
        keyword: the argument that is missing.
        default: the rate without it.
        why_not: why it cannot be followed.
    """

    module: Module
    node: cst.CSTNode
    values: Values = ()
    keyword: str = ""
    default: str = ""
    why_not: str = ""


def rates(plan: Plan) -> Iterator[Rate]:
    """Every learning rate that the script says, or takes without saying it."""
    for event, optimizer, params in set_up(plan):
        yield from optimizer_rates(event, optimizer, params)
    for event in plan.facts.reached_calls:
        if not isinstance(event.node, cst.Call):
            continue
        yield from scheduler_rates(event)
        if receivers_of(event, "set_learning_rate"):
            given = event.arguments.get("lr", 0)
            if given is not None and given.node is not None and not follows(given.values):
                yield Rate(event.module, given.node, given.values)
    yield from model_rates(plan)


def set_up(plan: Plan) -> Iterator[tuple[Event, Argument | None, Argument | None]]:
    """The calls that set optimizers up: the optimizer, and what it is told."""
    for trainer in trainers(plan):
        yield (
            trainer.event,
            trainer_argument(trainer, "optimizer"),
            trainer_argument(trainer, "optimizer_params"),
        )
    for fit in fits(plan):
        if not fit.word.startswith("FeedForward"):
            yield fit.event, fit.argument("optimizer"), fit.argument("optimizer_params")


def optimizer_rates(
    event: Event, optimizer: Argument | None, params: Argument | None
) -> Iterator[Rate]:
    """The rates that one optimizer is set up with."""
    made = [v for v in optimizer.values if is_optimizer(v)] if optimizer is not None else []
    for value in made:
        assert isinstance(value, Opaque)
        found = list(argument_rates(value.module, value.arguments))
        yield from found
        if not found and not scheduled(value.arguments.keyword("lr_scheduler")):
            yield unknown(event, "this optimizer is not told its learning rate")
    if made:
        return
    if params is None:
        yield default_rate(event, optimizer)
        return
    found = list(told(event, params))
    yield from found
    if not found:
        yield unknown(event, "what this optimizer is told cannot be followed")


def is_optimizer(value: Value) -> bool:
    """Whether a value is an optimizer of MXNet."""
    return isinstance(value, Opaque) and any(n.startswith(OPTIMIZERS) for n in called_names(value))


def argument_rates(module: Module, arguments: Arguments) -> Iterator[Rate]:
    """The rates among the arguments of a call."""
    given = arguments.keyword(RATE)
    if given is not None and given.node is not None and given.mapping is None:
        yield Rate(module, given.node, given.values)


def default_rate(event: Event, optimizer: Argument | None) -> Rate:
    """The rate of an optimizer that is told nothing."""
    constant = only_constant(optimizer.values) if optimizer is not None else Constant("sgd")
    name = str(constant.value).lower() if constant is not None else ""
    if name not in DEFAULTS or event.arguments.unknown_because:
        return unknown(event, "it is not known what the learning rate of this optimizer is")
    return Rate(event.module, event.node, keyword="optimizer_params", default=DEFAULTS[name])


def told(event: Event, params: Argument) -> Iterator[Rate]:
    """The rates in what an optimizer is told: a dict, or pairs."""
    for value in params.values:
        if isinstance(value, Mapping):
            entry = value.entries.get(RATE)
            if entry is not None and entry.node is not None:
                yield Rate(entry.module or value.module, entry.node, entry.values)
            elif scheduled(value.entries.get("lr_scheduler")):
                yield Rate(event.module, event.node, why_not="scheduled")
        elif isinstance(value, Sequence):
            yield from paired(event.module, value)


def paired(module: Module, pairs: Sequence) -> Iterator[Rate]:
    """The rate in pairs of names and values."""
    written = getattr(pairs.node, "elements", ())
    for element, values in zip(written, pairs.elements, strict=False):
        parts = [part.value for part in getattr(element.value, "elements", ())]
        if len(parts) != 2 or not module.source.has(parts[1]):
            continue
        known = [value for value in values if isinstance(value, Sequence)]
        if any(pair.elements[0] == (Constant(RATE),) for pair in known):
            rate = known[0].elements[1]
            yield Rate(module, parts[1], rate)


def scheduled(given: object) -> bool:
    """Whether a scheduler of MXNet says the rate, where it is followed by itself."""
    values: Values = getattr(given, "values", ())
    return bool(values) and all(says_rate(value) for value in values)


def says_rate(value: Value) -> bool:
    """Whether a value is a scheduler of MXNet that is told a rate, or has one of its own."""
    for name in called_names(value):
        word = name.rpartition(".")[2]
        if isinstance(value, Opaque) and name.startswith(SCHEDULERS) and word in POSITIONS:
            position = POSITIONS[word].index("base_lr")
            told_one = value.arguments.get("base_lr", position) is not None
            return told_one or word in WITH_DEFAULTS
    return False


def unknown(event: Event, why: str) -> Rate:
    """A rate that cannot be followed."""
    return Rate(event.module, event.node, why_not=why)


def scheduler_name(event: Event) -> str:
    """The class of MXNet's schedulers that a call makes; empty for another call."""
    for callee in event.callee:
        if isinstance(callee, External) and callee.name.startswith(SCHEDULERS):
            return callee.name.rpartition(".")[2]
    return ""


def scheduler_rates(event: Event) -> Iterator[Rate]:
    """The rates that a scheduler is told."""
    name = scheduler_name(event)
    if name not in POSITIONS:
        return
    for word in SCHEDULED:
        position = POSITIONS[name].index(word) if word in POSITIONS[name] else None
        given = event.arguments.get(word, position)
        if given is not None and given.node is not None and not follows(given.values):
            constant = only_constant(given.values)
            if constant is None or constant.value != 0:
                yield Rate(event.module, given.node, given.values)
        elif given is None and word == "base_lr" and name in WITH_DEFAULTS:
            yield Rate(event.module, event.node, keyword="base_lr", default="0.01")


def model_rates(plan: Plan) -> Iterator[Rate]:
    """The rates of models of symbols that train by themselves."""
    for fit in fits(plan):
        if not fit.word.startswith("FeedForward"):
            continue
        makers = [v for v in receivers_of(fit.event, "fit") if made_by((v,), FEED_FORWARD)]
        groups = [(v.module, v.arguments) for v in makers if isinstance(v, Opaque)]
        groups = groups or [(fit.event.module, fit.event.arguments)]
        for module, arguments in groups:
            optimizer = arguments.keyword("optimizer")
            made = [v for v in optimizer.values if is_optimizer(v)] if optimizer else []
            inner = [(v.module, v.arguments) for v in made if isinstance(v, Opaque)]
            found = [
                rate
                for where, given in (inner or [(module, arguments)])
                for rate in argument_rates(where, given)
            ]
            yield from found
            if not found:
                yield unknown(fit.event, "this model is not told its learning rate")


def follows(values: Values) -> bool:
    """Whether a rate is computed from the one that a trainer has."""
    return any(
        isinstance(value, Opaque)
        and value.kind == "attribute"
        and value.name in ("learning_rate", "lr", "base_lr")
        and any(isinstance(base, Opaque) and base.kind == "call" for base in value.operands[0])
        and not any("argparse" in name for base in value.operands[0] for name in called_names(base))
        for value in walk_back(values)
    )


def counts(plan: Plan) -> Iterator[tuple[Event, Argument, str]]:
    """What schedules count batches by that follows neither from a loader nor from a store."""
    lengths = {id(loader.value) for loader in training_loaders(plan)}
    for event in plan.facts.reached_calls:
        name = scheduler_name(event)
        for word in COUNTS if name in POSITIONS else ():
            position = POSITIONS[name].index(word) if word in POSITIONS[name] else None
            given = event.arguments.get(word, position)
            if given is None or given.node is None or from_store(given.values, "num_workers"):
                continue
            if any(id(value) in lengths for value in walk_back(given.values)):
                continue
            constant = only_constant(given.values)
            if constant is None or constant.value:
                yield event, given, word
