"""Which models' calls are split over the processes."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.values import Class, Function, Instance, Opaque, Values
from transpile.facts.walk import descendants, is_of_self
from transpile.plan.graph import called_names
from transpile.plan.hooks.kept_by_models import parts, targets
from transpile.plan.hooks.methods_of_models import reached_by_passes
from transpile.plan.model import Model, Plan
from transpile.plan.models.function_gradients import parameter_gradients
from transpile.plan.models.learning import training_forwards
from transpile.plan.models.parts import walk_parts
from transpile.plan.models.wraps import find_wrap
from transpile.rules.paddle.data._batch_sizes import places
from transpile.rules.paddle.gradients._averaging import RECOMPUTING
from transpile.rules.paddle.models._bypasses import parameters_beside
from transpile.rules.paddle.models._rows import without_rows

#: Methods that keep what they are given.
KEEPING = frozenset(
    {"append", "extend", "add", "update", "set_value", "copy_", "fill_", "register_buffer"}
)
HOOKS = frozenset({"register_forward_pre_hook", "register_forward_post_hook"})
ARRAYS = ("numpy.",)


def whole_because(plan: Plan, model: Model) -> str:
    """Why every process computes the calls of a model whole; empty where they are split."""
    if has_hooks(plan):
        return "a hook of a layer sees the rows of one process alone"
    passes = reached_by_passes(classes_of(model))
    for cls in classes_of(model):
        kept = what_is_kept(cls, passes)
        if kept:
            return kept
    if made_for_batches(plan, model):
        return "it is made for one batch size, which the rows of one process would not fit"
    if parameter_gradients(plan, model):
        return "gradients of its parameters are taken by function, where no wrap averages them"
    if next(parameters_beside(plan, model), None) is not None:
        return "a loss uses a parameter of it beside its calls, at which a wrap stops"
    if plan.facts.calls_to(*RECOMPUTING):
        return "it computes activations anew in backward passes, at which a wrap stops"
    wrap = find_wrap(plan, model)
    if isinstance(wrap, str):
        return wrap
    if wrap.thawed:
        return "its parameters are frozen and unfrozen while it is trained"
    rowless: str = without_rows(plan, model)
    if rowless:
        return rowless
    for event in training_forwards(plan, model):
        if any(is_array(argument.values) for argument in event.arguments.items):
            return "it is given arrays of NumPy, not tensors"
    return ""


def made_for_batches(plan: Plan, model: Model) -> bool:
    """Whether a model's own code shapes what it computes by the size of the training batches."""
    own = {id(cls.node) for cls in classes_of(model)}
    return any(
        id(parent) in own for use in places(plan) for parent in use.module.source.parents(use.node)
    )


def classes_of(model: Model) -> Iterator[Class]:
    """The project's classes that a model and its parts are of."""
    seen: set[int] = set()
    for value in walk_parts(model.value):
        if isinstance(value, Instance) and id(value.cls) not in seen:
            seen.add(id(value.cls))
            yield value.cls


def what_is_kept(cls: Class, passes: set[int]) -> str:
    """What a class of the project does in its calls that the first batch would not show.

    Args:
        cls: the class.
        passes: the methods that calls of the model run, by the identity of their node. Others are
            given whole batches by the script.
    """
    for name, values in cls.scope.names.items():
        for function in values:
            if not isinstance(function, Function) or name in ("__init__", "reset_parameters"):
                continue
            if id(function.node) not in passes:
                continue
            told = {id(node) for node in modes_of_dropout(function.node)}
            for node in descendants(function.node):
                if id(node) in told:
                    continue
                if isinstance(node, cst.Attribute) and node.attr.value == "training":
                    return f"'{name}' of '{cls.name}' does something else in training"
                if isinstance(node, (cst.Assign, cst.AugAssign, cst.AnnAssign)):
                    if any(is_of_self(part) for one in targets(node) for part in parts(one)):
                        return f"'{name}' of '{cls.name}' keeps something between its calls"
                if (
                    isinstance(node, cst.Call)
                    and isinstance(node.func, cst.Attribute)
                    and node.func.attr.value in KEEPING
                    and is_of_self(node.func.value)
                ):
                    return f"'{name}' of '{cls.name}' keeps something between its calls"
    return ""


def modes_of_dropout(function: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """What dropout is told of training, whose noise differs from row to row anyway."""
    for node in descendants(function):
        if isinstance(node, cst.Call):
            word = node.func.attr if isinstance(node.func, cst.Attribute) else node.func
            if isinstance(word, cst.Name) and "dropout" in word.value:
                yield from (given.value for given in node.args)


def has_hooks(plan: Plan) -> bool:
    """Whether something is called with what layers are given or give."""
    return any(
        getattr(callee, "name", "") in HOOKS
        for event in plan.facts.reached_calls
        for callee in event.callee
    )


def is_array(values: Values) -> bool:
    """Whether an argument is certainly an array of NumPy, which a split call hands on whole."""
    return bool(values) and all(
        isinstance(value, Opaque)
        and value.kind == "call"
        and any(name.startswith(ARRAYS) for name in called_names(value))
        for value in values
    )
