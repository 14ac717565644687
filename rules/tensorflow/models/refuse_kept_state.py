"""Refuse models whose calls keep state, or look at other samples of the batch.

What:
    A ``call`` of a model or layer of the project that adds a loss or a metric, assigns variables,
    or reduces over the samples of the batch is refused, and so are layers of the library that are
    told to go along the first axis, to draw one noise for several samples, or to keep their state
    from batch to batch.

Why:
    Each worker calls the model on its rows alone: what the call keeps or computes of the whole
    batch would be that of a share, and nothing would show it.

Before:
    class Scaled(keras.layers.Layer):
        def call(self, inputs):
            return inputs - tf.reduce_mean(inputs)

After:
    class Scaled(keras.layers.Layer):
        def call(self, inputs):
            return inputs - tf.reduce_mean(inputs, axis=-1, keepdims=True)

Refuses when:
    always.

Source:
    https://keras.io/api/layers/base_layer/
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.module import Module
from transpile.facts.values import Argument, Class, Constant, External, Instance, Sequence, Value
from transpile.facts.walk import children
from transpile.plan.model import Plan
from transpile.rule import Answer, Ruling
from transpile.rules.tensorflow._names import LAYER, MODEL_BASES
from transpile.rules.tensorflow._sites import fits, loops_by_hand

CODES = {
    "TF401": "the call of a model keeps state of the samples that it is given",
    "TF402": "the call of a model looks at other samples of the batch",
}
BASES = MODEL_BASES | {LAYER}
STATE = frozenset({"add_loss", "add_metric", "add_update", "update_state", "assign", "assign_add",
                   "assign_sub", "scatter_update", "scatter_nd_update"})  # fmt: skip
#: Reductions, to the position of the argument that says over which dimensions.
REDUCTIONS = {
    "reduce_mean": 1, "reduce_sum": 1, "reduce_max": 1, "reduce_min": 1, "reduce_std": 1,
    "reduce_variance": 1, "reduce_prod": 1, "reduce_logsumexp": 1, "moments": 1, "argsort": 1,
    "cumsum": 1, "reverse": 1, "roll": 2, "sort": 1, "mean": 1, "sum": 1, "max": 1, "min": 1,
    "std": 1, "var": 1, "flip": 1, "softmax": 1, "l2_normalize": 1,
}  # fmt: skip
#: Those of them that look along the last dimension where nothing is said.
LAST = frozenset({"argsort", "sort", "softmax"})
#: What the names of the library's layers have in them.
LAYERS = "keras.layers."
COUPLING = frozenset({"shuffle"})


def decide(plan: Plan) -> Iterator[Answer]:
    """One refusal for each place."""
    if not fits(plan) and not loops_by_hand(plan):
        return
    yield from library_layers(plan)
    for module, function in calls_of_models(plan):
        for node in descendants(function):
            if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute):
                continue
            word = node.func.attr.value
            if word in STATE:
                yield refusal(
                    "TF401", module, node, f"{word}() in the call of a model", "training step"
                )
            elif word == "dropout" and masks_batch(noise_shape(plan, node)):
                yield one_mask(module, node)
            elif word in COUPLING or (word in REDUCTIONS and over_samples(plan, node, word)):
                yield refusal(
                    "TF402", module, node, f"{word}() over the samples of a batch", "training step"
                )


def library_layers(plan: Plan) -> Iterator[Ruling]:
    """Refusals of layers of the library that go along the samples, or keep state of each row."""
    seen: set[int] = set()
    for event in plan.facts.reached_calls:
        names = [c.name for c in event.callee if isinstance(c, External) and LAYERS in c.name]
        if not names or id(event.node) in seen:
            continue
        seen.add(id(event.node))
        word = names[0].rpartition(".")[2]
        axis = event.arguments.keyword("axis")
        if axis is not None and any(map(is_first, axis.values)):
            yield refusal(
                "TF402", event.module, event.node, f"{word} along the samples", "training step"
            )
        if word == "Dropout" and masks_batch(event.arguments.get("noise_shape", 1)):
            yield one_mask(event.module, event.node)
        stateful = event.arguments.keyword("stateful")
        if stateful is not None and Constant(True) in stateful.values:
            yield refusal("TF401", event.module, event.node, f"a stateful {word}", "training step")


def masks_batch(shape: Argument | None) -> bool:
    """Whether noise is of a shape that says how many samples it is drawn for."""
    firsts = [
        value.elements[0] if isinstance(value, Sequence) and value.elements else (value,)
        for value in (shape.values if shape is not None else ())
    ]
    return any(value != Constant(None) for values in firsts for value in values)


def one_mask(module: Module, node: cst.CSTNode) -> Ruling:
    """The answer about noise that is the same for several samples."""
    return Ruling.refuse(
        "TF402",
        (module, node),
        "noise that samples of a batch have in common would be drawn by each worker for its rows",
        "give noise_shape None in the first place, or draw the noise in the training step",
    )


def is_first(value: Value) -> bool:
    """Whether an axis is the one of the samples, or several with it."""
    if isinstance(value, Sequence):
        return any(is_first(one) for values in value.elements for one in values)
    return value == Constant(0)


def refusal(code: str, module: Module, node: cst.CSTNode, what: str, where: str) -> Ruling:
    """The answer about one call."""
    return Ruling.refuse(
        code,
        (module, node),
        f"{what} would see the rows of one worker alone",
        f"do it in the {where}, on what the model gives back",
    )


def noise_shape(plan: Plan, node: cst.Call) -> Argument | None:
    """The shape of noise that a call is given by its name."""
    for argument in node.args:
        if argument.keyword is not None and argument.keyword.value == "noise_shape":
            return Argument(plan.facts.values_of(argument.value), argument.value, "noise_shape")
    return None


def over_samples(plan: Plan, node: cst.Call, word: str) -> bool:
    """Whether a reduction goes over the first dimension, as far as is known."""
    given = None
    for argument in node.args:
        if argument.keyword is not None and argument.keyword.value in ("axis", "axes", "dim"):
            given = argument.value
    ordered = [argument for argument in node.args if argument.keyword is None]
    # A method of a tensor, or of `keras.ops` and `tf.math`, which are given it first.
    position = REDUCTIONS[word]
    if given is None and len(ordered) > position:
        given = ordered[position].value
    if given is None:
        return word not in LAST and bool(ordered)
    return "0" in numbers_in(given)


def numbers_in(node: cst.BaseExpression) -> set[str]:
    """The numbers that an expression is made of, where it is a number or a list of them."""
    if isinstance(node, cst.Integer):
        return {node.value}
    if isinstance(node, (cst.Tuple, cst.List)):
        return {each.value.value for each in node.elements if isinstance(each.value, cst.Integer)}
    return set()


def calls_of_models(plan: Plan) -> Iterator[tuple[Module, cst.FunctionDef]]:
    """The methods ``call`` of the models and layers of the project, and those that they call."""
    for made in classes(plan):
        if BASES.isdisjoint(made.external_bases()):
            continue
        body = made.node.body.body
        methods = {each.name.value: each for each in body if isinstance(each, cst.FunctionDef)}
        reached = ["call"] if "call" in methods else []
        for name in reached:
            yield made.module, methods[name]
            for node in descendants(methods[name]):
                if isinstance(node, cst.Attribute) and isinstance(node.value, cst.Name):
                    other = node.attr.value
                    if node.value.value == "self" and other in methods and other not in reached:
                        reached.append(other)


def classes(plan: Plan) -> list[Class]:
    """The classes of the project: those that a module defines, and those of what is made."""
    found: dict[int, Class] = {}
    for module in plan.facts.modules.values():
        for values in (module.scope.names if module.scope else {}).values():
            found.update((id(each.node), each) for each in values if isinstance(each, Class))
    for event in plan.facts.events:
        for value in event.result:
            if isinstance(value, Instance):
                ancestry = value.cls.ancestry()
                found.update((id(each.node), each) for each in ancestry if isinstance(each, Class))
    return list(found.values())


def descendants(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The nodes in a node."""
    for child in children(node):
        yield child
        yield from descendants(child)
