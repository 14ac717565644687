"""The roles of a SINGA script: optimizers, updates, models and what is asked of them."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.module import Module
from transpile.facts.values import (
    BoundMethod,
    Class,
    Constant,
    External,
    Function,
    Instance,
    Opaque,
    Value,
    Values,
)
from transpile.plan.graph import called_names
from transpile.plan.model import Plan
from transpile.plan.query import query
from transpile.records import dataclass
from transpile.rules.singa._vocabulary import (
    BACKWARD,
    BY_GRADIENT,
    BY_LOSS,
    MODELS,
    OPTIMIZERS,
)


@dataclass(frozen=True, eq=False)
class Update:
    """A place that updates parameters.

    Args:
        event: the call.
        loss: what the gradients are those of; empty where gradients are given.
        method: the method that is called; empty where the optimizer itself is.
    """

    event: Event
    loss: Values
    method: str = ""


def names_of(event: Event) -> list[str]:
    """The dotted names that a call calls."""
    return [callee.name for callee in event.callee if isinstance(callee, External)]


def methods_of(event: Event) -> Iterator[tuple[str, Values]]:
    """The methods of something opaque that a call calls, each with what it belongs to."""
    for callee in event.callee:
        if isinstance(callee, Opaque) and callee.kind == "attribute":
            yield callee.name, callee.operands[0]


def is_optimizer(plan: Plan, value: Value) -> bool:
    """Whether a value is an optimizer."""
    if isinstance(value, Instance):
        return any(name.startswith("singa.opt.") for name in value.cls.external_bases())
    return any(plan.table.is_optimizer(name) for name in called_names(value))


def optimizers(plan: Plan) -> list[Event]:
    """The calls that make optimizers, each place once."""
    found: dict[int, Event] = {}
    for event in plan.facts.reached_calls:
        made = any(plan.table.is_optimizer(name) for name in names_of(event)) or any(
            isinstance(callee, Class)
            and any(
                base.startswith((*OPTIMIZERS, "singa.opt.Optimizer")) for base in outside(callee)
            )
            for callee in event.callee
        )
        if made:
            found.setdefault(id(event.node), event)
    return list(found.values())


def outside(cls: Class) -> tuple[str, ...]:
    """The bases of a class that are outside of the project."""
    return cls.external_bases()


@query
def updates(plan: Plan) -> list[Update]:
    """The places that update parameters."""
    return list(find_updates(plan))


def find_updates(plan: Plan) -> Iterator[Update]:
    """See :func:`updates`."""
    for event in in_training(plan):
        first = event.arguments.get("loss", 0)
        loss = first.values if first is not None else ()
        if any(is_optimizer(plan, callee) for callee in event.callee):
            yield Update(event, loss)
            continue
        for name, owner in methods_of(event):
            if any(is_optimizer(plan, value) for value in owner):
                if name in BY_LOSS:
                    yield Update(event, loss, name)
                elif name in BY_GRADIENT:
                    yield Update(event, (), name)


def in_training(plan: Plan) -> Iterator[Event]:
    """The calls that are reached, but for those behind calls of models that only evaluate."""
    evaluations = {id(event.node) for event in model_calls(plan) if is_evaluation(event)}
    for event in plan.facts.reached_calls:
        if not any(id(frame.node) in evaluations for frame in event.calls()):
            yield event


def backwards(plan: Plan) -> list[Event]:
    """The calls that give gradients to the script itself."""
    return [event for event in in_training(plan) if BACKWARD in names_of(event)]


def models(plan: Plan) -> list[Instance]:
    """The objects of classes of the project that derive from ``Model``."""
    found: dict[int, Instance] = {}
    for event in plan.facts.reached_calls:
        for value in event.result:
            if isinstance(value, Instance) and MODELS.intersection(value.cls.external_bases()):
                found.setdefault(id(value), value)
    return list(found.values())


def called_models(event: Event) -> list[Instance]:
    """The models that a call calls."""
    return [
        callee
        for callee in event.callee
        if isinstance(callee, Instance) and MODELS.intersection(callee.cls.external_bases())
    ]


def model_calls(plan: Plan) -> list[Event]:
    """The calls of models by their own name."""
    return [event for event in plan.facts.reached_calls if called_models(event)]


def method_of(model: Instance, name: str) -> Function | None:
    """A method of a model, its own or an inherited one."""
    for cls in model.cls.ancestry():
        if isinstance(cls, Class):
            for value in cls.scope.names.get(name, ()):
                if isinstance(value, Function):
                    return value
    return None


def parameters_of(function: Function) -> list[cst.Param]:
    """The parameters of a method without ``self``."""
    assert isinstance(function.node, cst.FunctionDef)
    return [*function.node.params.params[1:], *function.node.params.kwonly_params]


def is_evaluation(event: Event) -> bool:
    """Whether a call of a model gives too little to train: it runs ``forward``."""
    for model in called_models(event):
        train = method_of(model, "train_one_batch")
        if train is None:
            return True
        needed = [param for param in parameters_of(train) if param.default is None]
        given = len(event.arguments.positional())
        given += sum(
            any(param.name.value == item.keyword for param in needed)
            for item in event.arguments.items
            if item.keyword is not None
        )
        if given < len(needed) and not event.arguments.unknown_because:
            return True
    return False


def compiles(plan: Plan) -> list[Event]:
    """The calls of ``compile`` of models."""
    found = []
    for event in plan.facts.reached_calls:
        for name, owner in methods_of(event):
            if name == "compile" and any(isinstance(value, Instance) for value in owner):
                found.append(event)
        for callee in event.callee:
            if isinstance(callee, BoundMethod) and callee.function.name == "compile":
                found.append(event)
    return found


def constant_of(values: Values) -> object:
    """The constant that values are; the ellipsis where they are none or several."""
    if len(values) == 1 and isinstance(values[0], Constant):
        return values[0].value
    return ...


def trains(plan: Plan) -> bool:
    """Whether an optimizer is made for something that may train."""
    return bool(updates(plan)) or bool(optimizers(plan) and (models(plan) or backwards(plan)))


def sites(plan: Plan) -> Iterator[tuple[str, Module, cst.CSTNode]]:
    """The places that some rule must claim, beside backward passes."""
    for update in updates(plan):
        yield "update of parameters", update.event.module, update.event.node
