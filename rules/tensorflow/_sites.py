"""Where a TensorFlow script trains: calls of ``fit``, and gradient tapes."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event, Within
from transpile.facts.values import External, Instance, Opaque, Value, Values
from transpile.plan.graph import called_names, walk_back
from transpile.plan.model import Plan
from transpile.plan.query import query
from transpile.rules.tensorflow._names import (
    FIT_METHODS,
    MODEL_BASES,
    MODEL_MAKERS,
    NO_MODELS,
    STRATEGY,
    TAPE,
)


def receivers_of(event: Event, names: frozenset[str]) -> Values | None:
    """What the method of one of these names is called on; None for another call."""
    for callee in event.callee:
        if isinstance(callee, Opaque) and callee.kind == "attribute" and callee.name in names:
            return callee.operands[0]
    return None


def is_model(value: Value) -> bool:
    """Whether a value is a model of Keras for sure."""
    if isinstance(value, Instance):
        return not MODEL_BASES.isdisjoint(value.cls.external_bases())
    return any(name.startswith(MODEL_MAKERS) for name in called_names(value))


def is_no_model(value: Value) -> bool:
    """Whether a value is something else for sure."""
    if isinstance(value, Instance):
        bases = value.cls.external_bases()
        return MODEL_BASES.isdisjoint(bases) and all(
            name == "builtins.object" or name.startswith(NO_MODELS) for name in bases
        )
    names = called_names(value)
    return bool(names) and all(name.startswith(NO_MODELS) for name in names)


@query
def fits(plan: Plan) -> list[Event]:
    """The calls by which Keras trains, each place once."""
    found: dict[int, Event] = {}
    for event in plan.facts.calls:
        if not isinstance(event.node, cst.Call):
            continue
        receivers = receivers_of(event, FIT_METHODS)
        if receivers is None:
            receivers = stepped(plan, event)
        if receivers is None or not isinstance(event.node.func, cst.Attribute):
            continue
        if receivers and all(map(is_no_model, receivers)):
            continue
        kept = found.get(id(event.node))
        if kept is None or kept.detached:
            found[id(event.node)] = event
    return list(found.values())


def evaluations(plan: Plan) -> list[Event]:
    """The calls by which Keras evaluates, each place once: those that train and validate, too."""
    found = {id(event.node): event for event in fits(plan) if validates(event)}
    for event in plan.facts.calls:
        receivers = receivers_of(event, EVALUATING)
        if receivers is None or in_helper(event) or all(map(is_no_model, receivers)):
            continue
        if isinstance(event.node, cst.Call) and isinstance(event.node.func, cst.Attribute):
            found.setdefault(id(event.node), event)
    return list(found.values())


EVALUATING = frozenset({"evaluate", "evaluate_generator", "test_on_batch"})


def validates(event: Event) -> bool:
    """Whether a call that trains is given data to validate on."""
    given = event.arguments
    names = ("validation_data", "validation_split")
    return bool(given.unknown_because) or any(given.keyword(name) is not None for name in names)


def stepped(plan: Plan, event: Event) -> Values | None:
    """The models that train a batch by a ``train_step`` that the script calls; None elsewhere."""
    if any(frame.function.name.rpartition(".")[2] == STEP for frame in event.calls()):
        return None  # a step that goes on to that of its base class
    function = event.node.func if isinstance(event.node, cst.Call) else None
    if not isinstance(function, cst.Attribute) or function.attr.value != STEP:
        return None
    receivers = plan.facts.values_of(function.value)
    return receivers if any(map(is_model, receivers)) else None


STEP = "train_step"


def tapes_around(event: Event) -> list[Within]:
    """The gradient tapes that record something, outermost first."""
    return [
        frame
        for frame in event.stack
        if isinstance(frame, Within)
        and any(TAPE in called_names(manager) for manager in frame.managers)
    ]


@query
def gradients(plan: Plan) -> list[Event]:
    """The calls that take gradients from a tape, each place once."""
    found: dict[int, Event] = {}
    for event in plan.facts.calls:
        receivers = receivers_of(event, GRADIENTS)
        if receivers and any(TAPE in called_names(value) for value in receivers):
            kept = found.get(id(event.node))
            if kept is None or kept.detached:
                found[id(event.node)] = event
    return list(found.values())


@query
def updates(plan: Plan) -> list[Event]:
    """The calls that change variables by gradients of a tape, each place once."""
    taken = {id(value) for event in gradients(plan) for value in event.result}
    found: dict[int, Event] = {}
    for event in plan.facts.calls:
        if receivers_of(event, UPDATING) is None:
            continue
        given = tuple(value for each in event.arguments.items for value in each.values)
        sure = receivers_of(event, frozenset({"apply_gradients"})) is not None
        if in_helper(event):
            continue
        if sure or any(id(value) in taken for value in walk_back(given)):
            found.setdefault(id(event.node), event)
    return list(found.values())


UPDATING = frozenset({"apply_gradients", "apply", "assign_sub", "assign_add", "assign"})


def in_own_step(plan: Plan, event: Event) -> bool:
    """Whether a place is in the ``train_step`` of a model, which Keras calls."""
    return any(
        isinstance(node, cst.FunctionDef) and node.name.value in ("train_step", "test_step")
        for node in event.module.source.parents(event.node)
        if in_model_class(plan, event, node)
    ) or any(
        frame.function.name.rpartition(".")[2] in ("train_step", "test_step")
        and frame.function.owner is not None
        and not MODEL_BASES.isdisjoint(frame.function.owner.external_bases())
        for frame in event.calls()
    )


def in_model_class(plan: Plan, event: Event, node: cst.CSTNode) -> bool:
    """Whether a function is a method of a class of models."""
    for frame in event.calls():
        if frame.function.node is node and frame.function.owner is not None:
            return not MODEL_BASES.isdisjoint(frame.function.owner.external_bases())
    return False


def loops_by_hand(plan: Plan) -> list[Event]:
    """The updates outside of what Keras calls itself."""
    return [event for event in updates(plan) if not in_own_step(plan, event)]


def taped_calls(plan: Plan) -> Iterator[Event]:
    """The calls of models that a tape records, outside of other models' calls, each place once."""
    seen: set[int] = set()
    for event in plan.facts.calls:
        if id(event.node) in seen or not isinstance(event.node, cst.Call):
            continue
        if not tapes_around(event) or in_own_step(plan, event) or is_taken_twice(plan, event):
            continue
        trained = owners_of_variables(plan)
        if any(is_model(value) or id(value) in trained for value in called(event)):
            if not inside_model(event):
                seen.add(id(event.node))
                if not in_helper(event):
                    yield event


@query
def owners_of_variables(plan: Plan) -> set[int]:
    """What a library made, of whose variables a tape gives the gradients: models, by their use.

    Those that turn out to be none of Keras are computed by every worker as a whole.
    """
    found: set[int] = set()
    for event in gradients(plan):
        sources = event.arguments.get("sources", 1)
        for value in walk_back(sources.values) if sources is not None else ():
            if isinstance(value, Opaque) and value.kind == "attribute" and value.name in VARIABLES:
                for owner in value.operands[0]:
                    if isinstance(owner, Opaque) and not is_no_model(owner):
                        found.add(id(owner))
    return found


VARIABLES = frozenset({"trainable_variables", "trainable_weights"})


def in_helper(event: Event) -> bool:
    """Whether a place is in what a former conversion has added."""
    return any(
        isinstance(node, cst.FunctionDef) and node.name.value.startswith(HELPERS)
        for node in event.module.source.parents(event.node)
    )


HELPERS = (
    "split_calls",
    "compute_whole",
    "share_calls",
    "compute_rows",
    "check_rows",
    "check_first_batch",
    "keep_regularised_whole",
    "split_fit",
    "split_evaluation",
)


@query
def _taken_twice(plan: Plan) -> set[int]:
    found: set[int] = set()
    for taken in plan.facts.events:
        given = receivers_of(taken, GRADIENTS) if taken.kind == "call" else None
        around = {id(each) for frame in tapes_around(taken) for each in frame.managers}
        own = {id(value) for value in given or () if TAPE in called_names(value)}
        if around - own:
            found |= own
    return found


def is_taken_twice(plan: Plan, event: Event) -> bool:
    """Whether gradients of what is called are differentiated again.

    That is so where a tape gives its gradients while another one records.
    """
    twice = _taken_twice(plan)
    return any(id(each) in twice for frame in tapes_around(event) for each in frame.managers)


GRADIENTS = frozenset({"gradient", "jacobian", "batch_jacobian"})


def called(event: Event) -> Values:
    """The objects that a call calls: those split already, too."""
    found: list[Value] = []
    for callee in event.callee:
        found.append(callee)
    return tuple(found)


def inside_model(event: Event) -> bool:
    """Whether a place is inside the call of a model of the project."""
    return any(
        frame.function.name.rpartition(".")[2] == "call"
        and any(is_model(value) for value in frame.receiver)
        for frame in event.calls()
    )


def connects_workers(plan: Plan) -> bool:
    """Whether a script connects its workers itself, as one does that was converted."""
    return any(True for _ in calls_of(plan, frozenset({STRATEGY})))


def calls_of(plan: Plan, names: frozenset[str]) -> Iterator[Event]:
    """The calls of functions outside the project."""
    for event in plan.facts.calls:
        if any(isinstance(callee, External) and callee.name in names for callee in event.callee):
            yield event
