"""Let the learning rate follow the batch where each process takes the script's own.

What:
    With ``--batch-size per-device`` the batch of all N processes together is N times that of the
    script. ``--scale-lr linear`` multiplies every learning rate by N, ``--scale-lr sqrt`` by its
    square root: where optimizers are made, where the script sets the rate of a parameter group
    itself, and where a scheduler is told a rate. What counts batches by a number that does not
    follow from the length of a loader is named, with what it would have to be.

Why:
    A larger batch averages over more samples and takes fewer steps. For SGD a rate that grows with
    the batch keeps the distance that an epoch covers; for Adam and its kin the square root does.

Before:
    optimizer = SGD(model.parameters(), lr=args.lr)

After:
    optimizer = SGD(model.parameters(), lr=scale_learning_rate(args.lr))

Refuses when:
    never; what cannot be followed is a warning.

Source:
    Goyal et al., Accurate, Large Minibatch SGD (arXiv:1706.02677), section 2; Malladi et al., On
    the SDEs and Scaling Rules for Adaptive Gradient Algorithms (arXiv:2205.10287)
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.module import Module
from transpile.facts.values import Argument, Constant, Mapping, Opaque, Sequence, Values
from transpile.layout import add_argument, wrap_expression
from transpile.plan.data.sources import depends_on_world_size, is_simple
from transpile.plan.graph import called_names, walk_back
from transpile.plan.model import Optimizer, Plan
from transpile.records import dataclass
from transpile.rule import Answer, Change, Helper, In, Remark, Ruling, Rulings
from transpile.rules.pytorch.gradients._steps import counted_batches

#: Where calls are sharded, every rank has the whole batch.
WAYS = ("data",)
CODES = {
    "PT231": "the learning rate follows the number of processes",
    "PT232": "the learning rate of an adaptive optimizer is scaled linearly",
    "PT233": "the learning rate stays although the batch grows",
    "PT234": "batches are counted by a fixed number",
    "PT235": "a learning rate cannot be followed",
}
#: The optimizers and the rates that they have where none is given.
DEFAULT_RATES = {
    "Adadelta": "1.0", "Adafactor": "1e-2", "Adagrad": "1e-2", "Adam": "1e-3", "AdamW": "1e-3",
    "Adamax": "2e-3", "ASGD": "1e-2", "LBFGS": "1", "NAdam": "2e-3", "RAdam": "1e-3",
    "RMSprop": "1e-2", "Rprop": "1e-2", "SGD": "1e-3", "SparseAdam": "1e-3",
}  # fmt: skip
ADAPTIVE = ("Adam", "AdamW", "Adamax", "NAdam", "RAdam", "SparseAdam", "RMSprop", "Adagrad",
            "Adadelta", "Adafactor", "Lamb", "Lion")  # fmt: skip
#: Schedulers that are told rates, not factors: parameter and position.
RATES = {
    "torch.optim.lr_scheduler.OneCycleLR": (("max_lr", 1),),
    "torch.optim.lr_scheduler.CyclicLR": (("base_lr", 1), ("max_lr", 2)),
}


@dataclass(frozen=True, eq=False)
class Rate:
    """A learning rate to scale.

    Args:
        module: where it is.
        node: the expression; the optimizer's call where it has the default rate.
        default: that rate.
        copied: the text of a dict that is to be copied with the scaled rate.
    """

    module: Module
    node: cst.CSTNode
    default: str = ""
    copied: str = ""


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each learning rate, and a word on each fixed count of batches."""
    if plan.options.batch_size != "per-device":
        return
    if plan.options.scale_lr == "none":
        yield from unscaled(plan)
    else:
        yield from scaled(plan)
    yield from counts(plan)


def unscaled(plan: Plan) -> Iterator[Answer]:
    """A note at each optimizer on what the batch becomes."""
    for optimizer in training(plan):
        yield Remark.note(
            "PT233",
            optimizer.event,
            f"the learning rate stays, although {batch_of(plan)} samples now make up a step of N "
            "processes",
            "--scale-lr linear (SGD) or sqrt (Adam) lets the learning rate follow",
        )


def batch_of(plan: Plan) -> str:
    """How many samples a step takes, in words."""
    for loader in plan.training_loaders:
        argument = loader.argument("batch_size")
        values = argument.values if argument is not None else (Constant(1),)
        if len(values) == 1 and isinstance(values[0], Constant):
            return f"N x {values[0].value}"
        if argument is not None and isinstance(argument.node, cst.BaseExpression):
            if is_simple(argument.node):
                return f"N x {loader.event.module.source.code(argument.node)}"
    return "N times as many"


def training(plan: Plan) -> list[Optimizer]:
    """The optimizers that update something, one for each place that makes them."""
    found: dict[int, Optimizer] = {}
    for optimizer in plan.optimizers:
        if optimizer.steps:
            found.setdefault(id(optimizer.event.node), optimizer)
    return list(found.values())


# Rates.


def scaled(plan: Plan) -> Iterator[Answer]:
    """One answer for each place that sets a learning rate."""
    seen: set[int] = set()
    for optimizer in training(plan):
        if plan.options.scale_lr == "linear" and class_name(optimizer) in ADAPTIVE:
            yield Remark.warn(
                "PT232",
                optimizer.event,
                f"the learning rate of {class_name(optimizer)} is multiplied by the number of "
                "processes: adaptive optimizers often diverge with that",
                "use --scale-lr sqrt, or none",
            )
        for answer in rates_of(plan, optimizer):
            if id(answer.node) not in seen:
                seen.add(id(answer.node))
                yield answer
    for event in plan.facts.events:
        for answer in (*schedule(plan, event), *set_by_hand(plan, event)):
            if id(answer.node) not in seen:
                seen.add(id(answer.node))
                yield answer


def class_name(optimizer: Optimizer) -> str:
    """The last word of an optimizer's class; empty where it is not known."""
    names = called_names(optimizer.value)
    return names[0].rpartition(".")[2] if names else ""


def rates_of(plan: Plan, optimizer: Optimizer) -> Iterator[Answer]:
    """The answers for the rates that an optimizer is made with."""
    event = optimizer.event
    arguments = event.arguments
    groups = arguments.get("params", 0)
    own = list(group_rates(plan, groups.values, event.module)) if groups is not None else []
    yield from own
    given = arguments.get("lr", 1)
    if given is not None:
        yield rate(plan, event, given)
        return
    default = DEFAULT_RATES.get(class_name(optimizer))
    if arguments.unknown_because or default is None or not isinstance(event.node, cst.Call):
        if not own:
            yield Remark.warn(
                "PT235",
                event,
                "it is not known what the learning rate of this optimizer is: it is not scaled",
                "multiply it by the number of processes, or its square root, by hand",
            )
        return
    yield apply(Rate(event.module, event.node, default=default))


def rate(plan: Plan, event: Event, argument: Argument) -> Answer:
    """The answer for a rate that is an argument of a call."""
    if depends_on_world_size(plan, argument.values):
        return Ruling.done(
            "PT231",
            (event.module, argument.node or event.node),
            "the learning rate is computed from the number of processes",
        )
    if argument.mapping is not None and isinstance(event.node, cst.Call):
        stars = [arg for arg in event.node.args if arg.star == "**"]
        if len(stars) == 1 and is_simple(stars[0].value):
            text = event.module.source.code(stars[0].value)
            return apply(Rate(event.module, stars[0].value, copied=text))
    if argument.node is None or argument.mapping is not None:
        return Remark.warn(
            "PT235",
            event,
            "this learning rate has no place in the text: it is not scaled",
            "multiply it by the number of processes, or its square root, by hand",
        )
    return apply(Rate(event.module, argument.node))


def group_rates(plan: Plan, values: Values, module: Module) -> Iterator[Answer]:
    """The answers for the rates of single parameter groups."""
    for value in walk_back(values, lambda v: isinstance(v, Sequence)):
        if not isinstance(value, Mapping):
            continue
        entry = value.entries.get("lr")
        if entry is None or entry.node is None:
            continue
        where = entry.module or module
        if depends_on_world_size(plan, entry.values):
            yield Ruling.done(
                "PT231",
                (where, entry.node),
                "the learning rate is computed from the number of processes",
            )
        else:
            yield apply(Rate(where, entry.node))


def schedule(plan: Plan, event: Event) -> Iterator[Answer]:
    """The answers for the rates that a scheduler is told."""
    if event.kind != "call" or event.detached:
        return
    for value in event.result:
        for name in called_names(value):
            for parameter, position in RATES.get(name, ()):
                argument = event.arguments.get(parameter, position)
                if argument is None or follows_optimizer(argument.values):
                    continue
                if len(argument.values) == 1 and isinstance(argument.values[0], Sequence):
                    yield Remark.warn(
                        "PT235",
                        (event.module, argument.node or event.node),
                        f"'{parameter}' has a rate for each parameter group: they are not scaled",
                        "multiply them by the number of processes, or its square root, by hand",
                    )
                else:
                    yield rate(plan, event, argument)


def set_by_hand(plan: Plan, event: Event) -> Iterator[Answer]:
    """The answers for ``group["lr"] = rate``; a rate computed from the old one follows it."""
    if event.kind != "store" or event.name != "[]" or not isinstance(event.node, cst.Subscript):
        return
    index = event.node.slice[0].slice
    if not isinstance(index, cst.Index) or not is_text(index.value, "lr"):
        return
    if not any(
        isinstance(v, Opaque) and v.kind == "attribute" and v.name == "param_groups"
        for v in walk_back(event.callee)
    ):
        return
    statement = event.module.source.parent(event.module.source.parent(event.node))  # type: ignore[arg-type]
    if not isinstance(statement, cst.Assign) or follows_optimizer(event.result):
        return
    if depends_on_world_size(plan, event.result):
        yield Ruling.done(
            "PT231",
            (event.module, statement.value),
            "the learning rate is computed from the number of processes",
        )
    else:
        yield apply(Rate(event.module, statement.value))


def is_text(node: cst.CSTNode, text: str) -> bool:
    """Whether an expression is this string."""
    return isinstance(node, cst.SimpleString) and node.evaluated_value == text


def follows_optimizer(values: Values) -> bool:
    """Whether a rate is computed from the one that the optimizer has."""
    return any(
        isinstance(value, Opaque)
        and value.kind == "attribute"
        and value.name in ("param_groups", "defaults", "get_last_lr", "get_lr", "base_lrs")
        for value in walk_back(values)
    )


def apply(found: Rate) -> Ruling:
    """The answer for a rate to scale."""
    return Ruling.apply(
        "PT231", found, "the learning rate follows the number of processes", data=found
    )


# Counts.


def counts(plan: Plan) -> Iterator[Answer]:
    """A warning for each fixed count of batches."""
    for found in counted_batches(plan):
        known = found.number
        example = f"{known} / N" if known is None else f"{known} / N ({known // 2} for N = 2)"
        if known is None:
            example = f"'{found.text}' / N"
        yield Remark.warn(
            "PT234",
            found,
            f"{found.what} counts batches of the script's size; with N processes each step takes "
            "N of them",
            f"use {example} for the same number of samples",
        )


# Edits.


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The rate, scaled in its place."""
    data: Rate = ruling.data
    helper = "scale_learning_rate"
    if plan.options.scale_lr == "sqrt":
        helper = "scale_learning_rate_by_root"
    yield Helper(helper, data.module)
    scale = plan.names_in(data.module).fresh(helper)
    source = data.module.source
    if data.default:
        assert isinstance(data.node, cst.Call)
        changes = add_argument(source, data.node, f"lr={scale}({data.default})")
    elif data.copied:
        assert isinstance(data.node, cst.BaseExpression)
        after = f', "lr": {scale}({data.copied}["lr"])' + "}"
        changes = wrap_expression(source, data.node, "{**", after)
    else:
        assert isinstance(data.node, cst.BaseExpression)
        changes = wrap_expression(source, data.node, f"{scale}(", ")")
    for edit in changes:
        yield In(data.module, edit)
