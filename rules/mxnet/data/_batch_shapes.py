"""Shapes in training that follow the batch size."""

from __future__ import annotations

from collections.abc import Iterator, Set

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.module import Module
from transpile.facts.values import (
    Argument,
    Constant,
    External,
    Instance,
    Opaque,
    Values,
    only_constant,
)
from transpile.facts.walk import children
from transpile.plan.data.batch_size.said import said_at
from transpile.plan.graph import walk_back
from transpile.plan.model import Plan
from transpile.plan.models.parts import walk_parts
from transpile.plan.query import query
from transpile.plan.roles.backwards import data_sources
from transpile.records import dataclass
from transpile.rule import Answer, Remark, Ruling
from transpile.rules.mxnet._roles import receivers_of, training_loaders
from transpile.rules.mxnet._vocabulary import MODULES
from transpile.rules.mxnet.data._draws import (
    SHAPED_METHODS,
    bound_lengths,
    first_axis,
    holds_batch,
    noise_of_samples,
    shapes,
)
from transpile.rules.mxnet.data._loaders import Site, counts_workers, sites
from transpile.rules.mxnet.data._put_aside import is_put_aside
from transpile.rules.mxnet.data._slices import cut_values
from transpile.rules.mxnet.data._viewed_batches import views


@dataclass(frozen=True, eq=False)
class Inferred:
    """The size of a batch in a shape that MXNet can infer, and what asks for that."""

    module: Module
    node: cst.BaseExpression
    text: str


@dataclass(frozen=True, eq=False)
class Share:
    """An expression to divide; where it is missing, the default that stands for it."""

    module: Module
    node: cst.BaseExpression
    default: str = ""


def batch_size(site: Site) -> Argument | None:
    """The argument that says how large a batch is."""
    named: Argument | None = site.loader.argument("batch_size")
    return named or site.loader.event.arguments.keyword("batch_size")


def other_uses(plan: Plan, site: Site, argument: Argument) -> Iterator[Answer]:
    """Shapes in training that follow the batch size: they take the share, too."""
    bound = [
        (event, node)
        for event in binds(plan)
        if bound_to_batch(plan, event)
        for node in bound_lengths(event) or ()
    ]
    for event, node in [*bound, *shaped_by(plan, site, argument)]:
        yield Ruling.apply(
            "MX211",
            (event.module, node),
            "this shape follows the batch of one worker",
            data=Share(event.module, node),
        )
    text = site.module.source.code(argument.node) if argument.node is not None else ""
    yield from in_symbols(plan, site, argument, text)
    yield from in_models(plan, site, argument, text)
    yield from unsplit(plan, argument)
    yield from counted(plan, {id(loader.value) for loader in training_loaders(plan)})


def shaped_by(
    plan: Plan, site: Site, argument: Argument
) -> Iterator[tuple[Event, cst.BaseExpression]]:
    """The calls in training that shape something by a batch size, and where it stands in them."""
    reached = behind_losses(plan)
    text = site.module.source.code(argument.node) if argument.node is not None else ""
    seen: set[int] = set()
    for event in plan.facts.reached_calls:
        if not shapes(event):
            continue
        if not isinstance(event.node, cst.Call):
            continue
        if not any(id(value) in reached for value in event.result) and not any(
            loader.training
            for name in SHAPED_METHODS
            for loader, _ in data_sources(receivers_of(event, name), plan)
        ):
            continue
        found = [
            node
            for given in event.node.args
            for node in mentions(plan, event.module, given.value, argument, text)
        ]
        found.extend(same_number(plan, event, argument))
        for node in found:
            if id(node) not in seen:
                seen.add(id(node))
                yield event, node
    for view in views(plan, argument, reached):
        if view.size is not None and not view.whole and id(view.size) not in seen:
            seen.add(id(view.size))
            yield view.event, view.size


def behind_losses(plan: Plan) -> set[int]:
    """The identities of what losses are made of."""
    losses = tuple(value for backward in plan.backwards for value in backward.loss)
    # Data stays whole, though its length may be a multiple of the batch size.
    loaders = {id(loader.value) for loader in training_loaders(plan)}
    return {id(value) for value in walk_back(losses, lambda value: id(value) not in loaders)}


def unsplit(plan: Plan, argument: Argument) -> Iterator[Answer]:
    """Reshapes of training batches that keep the batch size of the script."""
    for view in views(plan, argument, behind_losses(plan)):
        if view.whole or view.size is None:
            yield Remark.error(
                "MX214",
                view.event,
                "this takes as many rows as the batch of the script has samples, of which a worker "
                "has its share alone, and "
                + (
                    "arrays that stay whole, such as those of an evaluation, come here, too"
                    if view.whole
                    else "that number is not written here for this batch alone"
                ),
                "take the number of rows from the array itself, such as x.shape[0]",
            )


def same_number(plan: Plan, event: Event, argument: Argument) -> Iterator[cst.BaseExpression]:
    """The first axis of what a call makes up, where it is the number that the batch size is."""
    size, length = only_constant(argument.values), first_axis(event)
    if size is not None and length is not None and not isinstance(size.value, bool):
        if plan.facts.values_of(length) == (size,):
            yield length


def binds(plan: Plan) -> Iterator[Event]:
    """The calls that bind modules to the shapes of what they are trained on."""
    for event in plan.facts.events:
        trained = event.arguments.get("for_training", 2) if event.kind == "call" else None
        if trained is not None and trained.values == (Constant(False),):
            continue
        if event.kind == "call" and not event.detached:
            modules = [v for v in receivers_of(event, "bind") if isinstance(v, Opaque)]
            if any(External(name) in value.callee for value in modules for name in MODULES):
                yield event


def bound_to_batch(plan: Plan, event: Event) -> bool:
    """Whether a module is bound to batches of the size of the training data's."""
    sizes = [argument.values for site in sites(plan) if (argument := batch_size(site)) is not None]
    lengths = bound_lengths(event)
    return (
        lengths is not None
        and bool(sizes)
        and all(size == sizes[0] for size in sizes)
        and all(bool(v) and v == sizes[0] for v in map(plan.facts.values_of, lengths))
    )


@query
def shared_shapes(plan: Plan) -> set[int]:
    """What the calls give that are shaped by the share of a batch."""
    found: set[int] = set()
    if plan.options.batch_size == "global" and not counts_workers(plan):
        for site in sites(plan):
            argument = batch_size(site)
            for event, _ in shaped_by(plan, site, argument) if argument is not None else ():
                found.update(id(value) for value in event.result)
    return found


def made_whole(plan: Plan, values: Values) -> bool:
    """Whether every worker makes all samples behind some values up itself.

    Nothing of them is drawn from training data, or takes its shape from it or from the share of a
    batch.
    """
    loaders = {id(loader.value) for loader in plan.loaders}
    parts = loaders | shared_shapes(plan) | cut_values(plan)
    behind = [id(value) for value in walk_back(values, holds_batch)]
    return bool(behind) and parts.isdisjoint(behind)


def unshared_noise(plan: Plan, values: Values) -> bool:
    """Whether some random numbers behind values have a shape of which workers take no share."""
    shared, samples = shared_shapes(plan), noise_of_samples(plan)
    return any(
        samples.get(id(value), False) and id(value) not in shared and made_whole(plan, (value,))
        for value in walk_back(values, holds_batch)
    )


def in_symbols(plan: Plan, site: Site, argument: Argument, text: str) -> Iterator[Answer]:
    """Symbols that are made for the batch of the script."""
    for event in plan.facts.reached_calls:
        if not isinstance(event.node, cst.Call):
            continue
        symbol = any(
            isinstance(callee, External) and callee.name.startswith("mxnet.sym.")
            for callee in event.callee
        )
        named = [
            node
            for given in event.node.args
            for node in mentions(plan, event.module, given.value, argument, text)
        ]
        first = first_of_reshape(event) if symbol and not named else None
        if first is not None and said_of(plan, event, first) & said_of(
            plan, site.loader.event, argument
        ):
            named = [first]
        inferred = inferred_at(event, named[0]) if len(named) == 1 else ""
        if symbol and inferred:
            yield Ruling.apply(
                "MX215",
                (event.module, named[0]),
                "the number of samples is inferred from the batch",
                data=Inferred(event.module, named[0], inferred),
            )
        elif symbol and named:
            yield Remark.error(
                "MX214",
                event,
                "the batch size shapes this symbol, which a batch of one worker would not fit",
                "use -1 or 0 in its shape, or choose --batch-size per-device",
            )


def said_of(plan: Plan, event: Event, what: Argument | cst.BaseExpression) -> set[int]:
    """The literals, or reads of an option, that a number in a call comes from."""
    node = what.node if isinstance(what, Argument) else what
    if not isinstance(node, cst.BaseExpression):
        return set()
    found = said_at(plan, event.module, node, event.stack)
    return {id(said.node) for said in found if not said.why_not}


def first_of_reshape(event: Event) -> cst.BaseExpression | None:
    """The first axis of what a symbol is reshaped to; None for another call."""
    if RESHAPES.isdisjoint(names_of(event)):
        return None
    given = event.arguments.get("shape", 1) or event.arguments.get("target_shape")
    shape = given.node if given is not None else None
    if isinstance(shape, (cst.Tuple, cst.List)) and shape.elements:
        return shape.elements[0].value
    return None


def inferred_at(event: Event, node: cst.BaseExpression) -> str:
    """What has a reshape infer its first axis, where that stands there; empty elsewhere."""
    if first_of_reshape(event) is not node:
        return ""
    text = "-1" if event.arguments.get("shape", 1) is not None else "0"
    given = event.arguments.get("shape", 1) or event.arguments.get("target_shape")
    assert given is not None and isinstance(given.node, (cst.Tuple, cst.List))
    rest = [event.module.source.code(each.value) for each in given.node.elements[1:]]
    return text if {"-1", "0"}.isdisjoint(rest) else ""


def names_of(event: Event) -> list[str]:
    """The dotted names of what a call calls outside the project."""
    return [callee.name for callee in event.callee if isinstance(callee, External)]


#: Symbols that have another shape than what they are made of.
RESHAPES = frozenset({"mxnet.sym.reshape", "mxnet.sym.Reshape"})


def in_models(plan: Plan, site: Site, argument: Argument, text: str) -> Iterator[Answer]:
    """Models that are made for the batch of the script."""
    followed = {id(node) for _, node in shaped_by(plan, site, argument)}
    for event in made_for_batch(plan, argument, text, followed):
        yield Remark.error(
            "MX214",
            event,
            "this model is made for the batch of the script: what it does with that number "
            "would not fit the batch of one worker",
            "let the model take the number of samples from its input, or choose "
            "--batch-size per-device",
        )


def made_for_batch(
    plan: Plan, argument: Argument, text: str, followed: Set[int] = frozenset()
) -> Iterator[Event]:
    """The calls that make a trained model for batches of one size, and have it keep that.

    Args:
        plan: the plan.
        argument: the batch size.
        text: how it is written where the data is made.
        followed: the identities of the reads that become this worker's share.
    """
    trained = {id(model.value) for model in plan.models if model.optimizers}
    for event in plan.facts.reached_calls:
        if not isinstance(event.node, cst.Call):
            continue
        made = [value for value in event.result if id(value) in trained]
        if any(
            mentions(plan, event.module, given.value, argument, text)
            and not all(
                isinstance(value, Instance)
                and is_put_aside(plan, value, event.node, given, followed)
                for value in made
            )
            for given in event.node.args
            if made
        ):
            yield event


def fits_one_size(plan: Plan) -> bool:
    """Whether a trained model is made, or makes something, for the batch of the script alone."""
    for site in sites(plan):
        argument = batch_size(site)
        if argument is None:
            continue
        text = site.module.source.code(argument.node) if argument.node is not None else ""
        if any(made_for_batch(plan, argument, text)):
            return True
        if any(in_model_code(plan, event) for event, _ in shaped_by(plan, site, argument)):
            return True
    return False


def in_model_code(plan: Plan, event: Event) -> bool:
    """Whether something happens in a method of a trained model, or of a part of one."""
    classes = {
        id(cls)
        for model in plan.models
        if model.optimizers
        for value in walk_parts(model.value)
        if isinstance(value, Instance)
        for cls in value.cls.ancestry()
    }
    return any(id(frame.function.owner) in classes for frame in event.calls())


def mentions(
    plan: Plan, module: Module, node: cst.CSTNode, argument: Argument, text: str
) -> list[cst.BaseExpression]:
    """The outermost names below an expression that are the batch size itself."""
    if isinstance(node, (cst.Name, cst.Attribute)):
        values = plan.facts.values_of(node)
        same = bool(values) and all(value in argument.values for value in values)
        opaque = all(isinstance(value, Opaque) for value in values)
        return [node] if same and (opaque or module.source.code(node) == text) else []
    return [
        found for child in children(node) for found in mentions(plan, module, child, argument, text)
    ]


def counted(plan: Plan, made: set[int]) -> Iterator[Answer]:
    """Uses of the number of samples that a part of the data has."""
    for module in plan.facts.modules.values():
        for node in module.source.nodes:
            if not isinstance(node, cst.Attribute) or node.attr.value != "num_data":
                continue
            if any(id(value) in made for value in plan.facts.values_of(node.value)):
                yield Remark.error(
                    "MX214",
                    (module, node),
                    "num_data of the training data is that of one worker's part, and is used here "
                    "for something else",
                    "use the number of samples of the arrays themselves",
                )
