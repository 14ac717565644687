"""Let the learning rate follow the batch where each worker takes the script's own.

What:
    With ``--batch-size per-device`` the batch of all N workers together is N times that of the
    script. ``--scale-lr linear`` multiplies every learning rate by N, ``--scale-lr sqrt`` by its
    square root: what trainers, modules and models are told, what the script sets by
    ``set_learning_rate``, and what schedulers begin and end with. What a schedule counts by a
    number of batches that does not follow from the data is named.

Why:
    A larger batch averages over more samples and takes fewer steps. For SGD a rate that grows with
    the batch keeps the distance that an epoch covers; for Adam and its kin the square root does.

Before:
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": args.lr})

After:
    trainer = gluon.Trainer(
        net.collect_params(), "sgd", {"learning_rate": scale_learning_rate(args.lr)}
    )

Refuses when:
    never; what cannot be followed is a warning.

Source:
    Goyal et al., Accurate, Large Minibatch SGD (arXiv:1706.02677), section 2; Malladi et al., On
    the SDEs and Scaling Rules for Adaptive Gradient Algorithms (arXiv:2205.10287)
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.values import Argument, only_constant
from transpile.layout import add_argument, wrap_expression
from transpile.plan.graph import called_names
from transpile.plan.model import Plan
from transpile.rule import Answer, Change, Helper, In, Remark, Ruling, Rulings
from transpile.rules.mxnet.data._batch_shapes import batch_size
from transpile.rules.mxnet.data._devices import count_of_devices, counts_devices
from transpile.rules.mxnet.data._loaders import from_store, sites
from transpile.rules.mxnet.gradients._rates import ADAPTIVE, OPTIMIZERS, Rate, counts, rates, set_up

CODES = {
    "MX231": "the learning rate follows the number of workers",
    "MX232": "the learning rate of an adaptive optimizer is scaled linearly",
    "MX233": "the learning rate stays although the batch grows",
    "MX234": "batches are counted by a fixed number",
    "MX235": "a learning rate cannot be followed",
}
#: Where calls are split, every worker has whole batches.
WAYS = ("data",)


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each learning rate, and a word on each fixed count of batches."""
    if plan.options.batch_size != "per-device":
        return
    if plan.options.scale_lr == "none":
        yield from unscaled(plan)
    else:
        yield from scaled(plan)
    for event, given, word in counts(plan):
        yield Remark.warn(
            "MX234",
            (event.module, given.node),
            f"'{word}' counts batches of the script's size; with N workers each step takes N of "
            "them",
            f"use {for_all(given)} for the same number of samples",
        )


def for_all(given: Argument) -> str:
    """What a count would have to be."""
    constant = only_constant(given.values)
    if constant is None or not isinstance(constant.value, int):
        return "it divided by N"
    return f"{constant.value} / N ({constant.value // 2} for N = 2)"


def unscaled(plan: Plan) -> Iterator[Remark]:
    """A note at each optimizer on what the batch becomes."""
    seen: set[int] = set()
    for event, _, _ in set_up(plan):
        if id(event.node) not in seen:
            seen.add(id(event.node))
            yield Remark.note(
                "MX233",
                event,
                "the learning rate stays, although N times as many samples now make up a step of N "
                "workers",
                "--scale-lr linear (SGD) or sqrt (Adam) lets the learning rate follow",
            )


def scaled(plan: Plan) -> Iterator[Answer]:
    """One answer for each place that says a learning rate."""
    seen: set[int] = set()
    for event, optimizer, _ in set_up(plan):
        name = adaptive(optimizer)
        if plan.options.scale_lr == "linear" and name and id(event.node) not in seen:
            seen.add(id(event.node))
            yield Remark.warn(
                "MX232",
                event,
                f"the learning rate of {name} is multiplied by the number of workers: adaptive "
                "optimizers often diverge with that",
                "use --scale-lr sqrt, or none",
            )
    found: set[int] = set()
    for rate in rates(plan):
        if rate.why_not == "scheduled" or id(rate.node) in found:
            continue
        found.add(id(rate.node))
        yield answer(rate)


def adaptive(optimizer: Argument | None) -> str:
    """The name of an adaptive optimizer; empty for another one."""
    for value in optimizer.values if optimizer is not None else ():
        names = [str(getattr(value, "value", ""))]
        names.extend(n.rpartition(".")[2] for n in called_names(value) if n.startswith(OPTIMIZERS))
        for name in names:
            if name.lower() in ADAPTIVE:
                return name
    return ""


def answer(rate: Rate) -> Answer:
    """The answer for one place."""
    if rate.why_not:
        return Remark.warn(
            "MX235",
            rate,
            f"{rate.why_not}: it is not scaled",
            "multiply it by the number of workers, or its square root, by hand",
        )
    done = from_store(rate.values, "num_workers")
    return Ruling.apply(
        "MX231", rate, "the learning rate follows the number of workers", data=rate, done=done
    )


def grown_by(plan: Plan) -> int:
    """How many times larger the batch of a worker is than that of the script."""
    sizes = [argument.values for site in sites(plan) if (argument := batch_size(site)) is not None]
    if any(counts_devices(plan, size) for size in sizes):
        return 1
    return count_of_devices(plan) or 1


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The rate, scaled in its place."""
    rate: Rate = ruling.data
    helper = "scale_learning_rate"
    if plan.options.scale_lr == "sqrt":
        helper = "scale_learning_rate_by_root"
    yield Helper(helper, rate.module)
    scale = plan.names_in(rate.module).fresh(helper)
    opening, closing = f"{scale}(", ")"
    devices = grown_by(plan)
    if devices > 1:
        yield Helper("times_devices", rate.module)
        factor = devices if plan.options.scale_lr == "linear" else f"{devices}**0.5"
        opening += plan.names_in(rate.module).fresh("times_devices") + "("
        closing = f", {factor}))"
    source = rate.module.source
    if rate.default:
        assert isinstance(rate.node, cst.Call)
        text = f"{opening}{rate.default}{closing}"
        if rate.keyword == "optimizer_params":
            text = f'{{"learning_rate": {text}}}'
        changes = add_argument(source, rate.node, f"{rate.keyword}={text}")
    else:
        assert isinstance(rate.node, cst.BaseExpression)
        changes = wrap_expression(source, rate.node, opening, closing)
    for edit in changes:
        yield In(rate.module, edit)
