"""Random numbers that change parameters or averaged gradients, of each process's own."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event, Loop
from transpile.facts.values import (
    External,
    Function,
    Opaque,
    Sequence,
    Value,
    Values,
    only_constant,
)
from transpile.facts.walk import descendants
from transpile.plan.graph import called_names, method_calls, origins, walk_back
from transpile.plan.model import Model, Plan
from transpile.plan.models.parts import part_of
from transpile.plan.models.wraps import Wrap, find_wrap
from transpile.plan.roles.surroundings import enters_part

#: Functions of other libraries that draw.
DRAWS = frozenset(
    {
        "numpy.random.randn", "numpy.random.normal", "numpy.random.rand", "numpy.random.uniform",
        "numpy.random.standard_normal", "random.random", "random.gauss", "random.uniform",
    }
)  # fmt: skip
#: Methods of a tensor whose result shares its numbers.
VIEWS = frozenset({"detach", "view", "flatten", "squeeze", "unsqueeze", "t", "view_as", "narrow"})
#: Methods of distributions that draw.
SAMPLES = frozenset({"sample", "rsample", "sample_n"})
#: Methods of a tensor that tell how long it is.
SIZES = frozenset({"size", "numel", "nelement"})


def uneven_noise(plan: Plan) -> Iterator[Event]:
    """The events that change parameters or gradients of a wrapped model by random numbers."""
    seen: set[int] = set()
    for event in plan.facts.events:
        if event.detached or id(event.node) in seen:
            continue
        drawn = drawn_anew(plan, event)
        if drawn and any(redrawn(plan, model, event, drawn) for model in plan.trained_models):
            seen.add(id(event.node))
            yield event
            continue
        for changed, by, fills in changes(plan, event):
            if not (fills or draws(plan, by)):
                continue
            if any(is_wrapped(plan, model, event) for model in models_of(plan, changed)):
                seen.add(id(event.node))
                yield event
                break


def redrawn(plan: Plan, model: Model, event: Event, drawn: Values) -> bool:
    """Whether an event draws parameters of a wrapped model anew, between passes of its training.

    What is drawn before the training is drawn alike by all processes.

    Args:
        plan: the plan.
        model: the model.
        event: the event.
        drawn: what it draws anew.
    """
    backwards = [each.event for each in plan.backwards if model in each.models]
    around = {
        id(frame.node) for each in backwards for frame in each.stack if isinstance(frame, Loop)
    }
    begun = any(each.order < event.order for each in backwards)
    if not begun and not any(id(loop.node) in around for loop in event.loops()):
        return False
    wrap = find_wrap(plan, model)
    if isinstance(wrap, Wrap) and event.order < wrap.order:
        return False
    return any(part_of(plan, value, model) or model in models_of(plan, (value,)) for value in drawn)


def drawn_anew(plan: Plan, event: Event) -> Values:
    """The parameters, layers or models whose parameters a call redraws."""
    table = plan.table
    if event.arguments.get("generator", None) is not None:
        return ()
    for callee in event.callee if event.kind == "call" else ():
        if isinstance(callee, External) and callee.name in table.filling_functions:
            return event.arguments.items[0].values if event.arguments.items else ()
        if not isinstance(callee, Opaque) or callee.kind != "attribute":
            continue
        if callee.name in table.redrawing_methods:
            return callee.operands[0]
        if callee.name == "apply":
            given = (value for item in event.arguments.items for value in item.values)
            if any(isinstance(v, Function) and redraws(plan, v) for v in given):
                return callee.operands[0]
    return ()


def redraws(plan: Plan, function: Function) -> bool:
    """Whether a function that is given layers draws their parameters anew."""
    table = plan.table
    for node in descendants(function.node):
        if not isinstance(node, cst.Call):
            continue
        if any(
            isinstance(value, External) and value.name in table.filling_functions
            for value in plan.facts.values_of(node.func)
        ):
            return True
        if isinstance(node.func, cst.Attribute):
            if node.func.attr.value in table.redrawing_methods | table.filling_methods:
                return True
    return False


def is_wrapped(plan: Plan, model: Model, event: Event) -> bool:
    """Whether an event comes after the wrap, which makes all processes begin alike.

    Models without a wrap begin alike, too, and change together once they are trained.
    """
    wrap = find_wrap(plan, model)
    if not isinstance(wrap, Wrap):
        return plan.in_training(event.stack)
    return event.order >= wrap.order


def changes(plan: Plan, event: Event) -> Iterator[tuple[Values, Values, bool]]:
    """What an event changes in place, by which values, and whether it draws these itself."""
    if event.kind == "call":
        given = tuple(value for item in event.arguments.items for value in item.values)
        generator = event.arguments.get("generator", None) is not None
        for callee in event.callee:
            if isinstance(callee, Opaque) and callee.kind == "attribute":
                if callee.name in plan.table.assigning_methods or (
                    callee.name.endswith("_") and not callee.name.startswith("_")
                ):
                    yield callee.operands[0], given, (
                        callee.name in plan.table.filling_methods and not generator
                    )
            elif writes_in_place(plan, callee) and event.arguments.items:
                first, *others = event.arguments.items
                by = tuple(value for item in others for value in item.values)
                yield held_by(first.values), by, False
    elif event.kind == "store" and (event.name in ("grad", "data") or puts_into_tensor(event)):
        yield event.callee, event.result, False
    elif event.kind == "operate":
        yield event.callee, event.result, False


def writes_in_place(plan: Plan, callee: Value) -> bool:
    """Whether a function of the framework changes what it is given first."""
    if not isinstance(callee, External):
        return False
    return callee.name.partition(".")[0] in plan.table.packages and callee.name.endswith("_")


def held_by(values: Values) -> Values:
    """Values, and what lists among them hold."""
    return tuple(
        one
        for value in values
        for one in (value.every() if isinstance(value, Sequence) else (value,))
    )


def is_view(value: Value) -> bool:
    """Whether a value is a tensor that shares its numbers with the one it was made of."""
    return any(name in VIEWS for name, _ in method_calls(value))


def is_parameter(value: Value) -> bool:
    """Whether a value is a parameter that a script makes itself."""
    return any(name.rpartition(".")[2] == "Parameter" for name in called_names(value))


def puts_into_tensor(event: Event) -> bool:
    """Whether an item is stored by anything but a word, as ``group["lr"]`` is."""
    if event.name != "[]" or not isinstance(event.node, cst.Subscript):
        return False
    index = event.node.slice[0].slice
    return not (isinstance(index, cst.Index) and isinstance(index.value, cst.SimpleString))


def draws(plan: Plan, values: Values) -> bool:
    """Whether random numbers of the process's own are among what values are made of.

    What a loss or another number is that samples were made into is that of a share, whatever they
    are made of themselves: that is another rule's matter.
    """
    for value in walk_back(
        values,
        lambda one: isinstance(one, Opaque) and not is_size(one) and not are_samples(plan, one),
    ):
        if not isinstance(value, Opaque) or value.kind != "call":
            continue
        if value.arguments.get("generator", None) is not None:
            continue
        if any(name in DRAWS or name in plan.table.draws for name in called_names(value)):
            return True
        filling = plan.table.filling_methods
        if any(name in filling or name in SAMPLES for name, _ in method_calls(value)):
            return True
    return False


def are_samples(plan: Plan, value: Opaque) -> bool:
    """Whether a value is a batch that training draws."""
    if id(value) in plan.samples:
        return True
    return value.kind == "element" and any(
        loader.value is source
        for source in walk_back(value.operands[0], lambda one: isinstance(one, Opaque))
        for loader in plan.training_loaders
    )


def is_size(value: Opaque) -> bool:
    """Whether a value is how long a batch is, as a loop or a loader gives it: chance has no say.

    How many of its samples a draw selects is chance, though.
    """
    measured: Values = ()
    if value.kind == "attribute" and value.name == "shape":
        measured = value.operands[0]
    elif value.kind == "operation" and value.name == "len":
        measured = value.operands[0]
    elif value.kind == "call":
        measured = tuple(
            one for name, receiver in method_calls(value) if name in SIZES for one in receiver
        )
    return bool(measured) and all(is_drawn_whole(one) for one in measured)


def is_drawn_whole(value: Value) -> bool:
    """Whether a value is what a loop gives, or one of its parts by number: no selection of it."""
    while isinstance(value, Opaque) and value.kind == "item":
        index, base = only_constant(value.index), value.operands[0]
        if index is None or not isinstance(index.value, int) or len(base) != 1:
            return False
        value = base[0]
    return isinstance(value, Opaque) and value.kind == "element"


def models_of(plan: Plan, values: Values) -> Iterator[Model]:
    """The trained models that values are parameters of, or the data or gradients of these."""
    for value in walk_back(values, lambda value: enters_part(value) or is_view(value)):
        owners: Values = (value,) if is_parameter(value) else ()
        for name, receiver in method_calls(value):
            if name in plan.table.parameter_methods:
                owners = (*owners, *origins(receiver))
        optimizers: Values = ()
        if isinstance(value, Opaque) and value.kind == "attribute":
            if value.name == "param_groups":
                optimizers = value.operands[0]
            elif value.name in ("weight", "bias"):
                owners = (*owners, *origins(value.operands[0]))
        for model in plan.trained_models:
            if any(part_of(plan, owner, model) for owner in owners):
                yield model
            elif any(each.value is one for each in model.optimizers for one in optimizers):
                yield model
