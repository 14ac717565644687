"""Which methods of trained models have their calls split, where no wrap could split the model's."""

from __future__ import annotations

import libcst as cst

from transpile.facts.events import Call, Event
from transpile.facts.values import Class, External, Function, Instance, Value
from transpile.plan.graph import origin
from transpile.plan.model import Model, Plan
from transpile.plan.models.learning import training_forwards
from transpile.plan.models.method_calls import method_of, training_method_calls
from transpile.plan.models.wraps import find_wrap
from transpile.plan.query import query
from transpile.records import dataclass
from transpile.rules.pytorch.gradients._averaging import averaged_by_hand
from transpile.rules.pytorch.models._split.calls import (
    axis_arguments,
    ungiven_because,
    unsplit_because,
)
from transpile.rules.pytorch.models._split.rows import CallRows, rows_of, worst


@dataclass(frozen=True, eq=False)
class MethodSplit:
    """What becomes of the calls of a method that a model is trained through.

    Args:
        function: the method.
        rows: what its calls do with the samples of a batch.
        arguments: what says along which axes samples are counted.
        whole_because: why every rank computes its calls whole; empty where they are split.
    """

    function: Function
    rows: CallRows
    arguments: tuple[str, ...] = ()
    whole_because: str = ""


@query
def method_splits(plan: Plan) -> list[MethodSplit]:
    """What becomes of each method that a model is trained through, in the order of their calls.

    Models of one class share their methods: where one has to be whole for one of them, it is.
    """
    found: dict[int, MethodSplit] = {}
    for model in plan.trained_models:
        for function, calls in markable(plan, model):
            split = split_of_method(plan, model, function, calls)
            known = found.get(id(function.node))
            if known is None or not known.whole_because:
                found[id(function.node)] = split if known is None else joined(known, split)
    return list(found.values())


def splits_methods(plan: Plan, model: Model) -> bool:
    """Whether calls of a method of a model are split."""
    return any(not each.whole_because for each in splits_of(plan, model))


@query
def splits_of(plan: Plan, model: Model) -> list[MethodSplit]:
    """What becomes of the methods that a model is trained through."""
    own = {id(function.node) for function, _ in markable(plan, model)}
    return [each for each in method_splits(plan) if id(each.function.node) in own]


def joined(one: MethodSplit, other: MethodSplit) -> MethodSplit:
    """What becomes of a method that several models are trained through."""
    if other.whole_because or one.arguments == other.arguments:
        return other if other.rows.verdict != "apart" else one
    reason = "the models that it is a method of count their samples along different axes"
    return MethodSplit(other.function, other.rows, (), reason)


@query
def markable(plan: Plan, model: Model) -> list[tuple[Function, list[Event]]]:
    """The methods whose calls may be split by a decorator, with these calls.

    They are those of :func:`calls_by_method`; or ``forward``, where training calls the model, but
    no variable holds it for a wrap, as where it is one of a list.
    """
    forward = forward_of(model)
    if forward is None or not training_forwards(plan, model):
        return calls_by_method(plan, model)
    return [(forward, model.forwards)] if is_unwrapped(plan, model) else []


@query
def is_unwrapped(plan: Plan, model: Model) -> bool:
    """Whether no wrap stands around a model."""
    return isinstance(find_wrap(plan, model), str) or averaged_by_hand(plan, model)


def forward_of(model: Model) -> Function | None:
    """The method of the project that calls of a model run; None where there is none, or several."""
    value = origin(model.value)
    if not isinstance(value, Instance):
        return None
    for cls in value.cls.ancestry():
        found = cls.scope.names.get("forward", ()) if isinstance(cls, Class) else ()
        if found:
            only = found[0] if len(found) == 1 else None
            return only if isinstance(only, Function) else None
    return None


def calls_by_method(plan: Plan, model: Model) -> list[tuple[Function, list[Event]]]:
    """The methods that a model is trained through, with their calls; none where it is called."""
    if training_forwards(plan, model):
        return []
    found: dict[int, tuple[Function, list[Event]]] = {}
    for event in training_method_calls(plan, model):
        method = method_of(event, model)
        assert method is not None
        function = method.function
        found.setdefault(id(function.node), (function, []))[1].append(event)
    return list(found.values())


def split_of_method(
    plan: Plan, model: Model, function: Function, calls: list[Event]
) -> MethodSplit:
    """What becomes of the calls of a method of one model."""
    training = training_forwards(plan, model) or calls
    whole = training is not calls
    rows = rows_of(plan, model) if whole else worst(plan, calls[0].callee[0], calls)
    reason = (
        unmarked_because(function)
        or unsplit_because(plan, model, rows, calls)
        or ungiven_because(rows, calls, training)
    )
    if not reason and is_shared_with_wrapped(plan, model, function):
        reason = "a model of the same class is called itself, whose wrap splits what it calls"
    if not reason and runs_within_wrapped(plan, function):
        reason = "it is called by a model, too, whose wrap splits what it calls"
    if not reason and is_compiled(plan):
        reason = "the script compiles models, which have no decorators then"
    if not reason and rows.batch_norm:
        reason = "it holds batch norm, which is synchronised in calls of a whole model alone"
    if not reason and not averaged_by_hand(plan, model):
        reason = "gradients of the model cannot be averaged by hand"
    return MethodSplit(function, rows, tuple(axis_arguments(rows, calls)), reason)


def is_shared_with_wrapped(plan: Plan, model: Model, function: Function) -> bool:
    """Whether the method is one of another model, too, whose calls are split by a wrap."""
    return any(
        other is not model and has_method(origin(other.value), function)
        for other in plan.trained_models
        if not is_unwrapped(plan, other)
    )


def runs_within_wrapped(plan: Plan, function: Function) -> bool:
    """Whether a model whose calls are split by a wrap calls the method."""
    wrapped = {
        id(origin(model.value)) for model in plan.trained_models if not is_unwrapped(plan, model)
    }
    for event in plan.facts.events:
        within = False
        for frame in event.stack:
            if not isinstance(frame, Call):
                continue
            if within and frame.function.node is function.node:
                return True
            within = within or any(id(origin(value)) in wrapped for value in frame.receiver)
    return False


def is_compiled(plan: Plan) -> bool:
    """Whether the script has the code of models read, as TorchScript does."""
    return any(
        isinstance(callee, External) and callee.name.startswith(("torch.jit.", "torch.fx."))
        for event in plan.facts.calls
        for callee in event.callee
    )


def has_method(value: Value, function: Function) -> bool:
    """Whether a method is one of an object."""
    if not isinstance(value, Instance):
        return False
    return any(
        isinstance(found, Function) and found.node is function.node
        for cls in value.cls.ancestry()
        if isinstance(cls, Class)
        for found in cls.scope.names.get(function.name, ())
    )


def unmarked_because(function: Function) -> str:
    """Why a method cannot be given a decorator; empty where it can."""
    node = function.node
    if not isinstance(node, cst.FunctionDef) or function.owner is None:
        return "it is no method that a class of the project defines"
    if node.decorators:
        return "it has a decorator already"
    if function.is_generator or node.asynchronous is not None:
        return "it gives what it makes bit by bit"
    return ""
