"""Refuse to clip gradients of embeddings whose rows all samples share.

What:
    A model that looks embeddings up by indices that it makes itself, such as positions, is an
    error where gradients are clipped, by their norm or by value.

Why:
    The gradient of an embedding is a list of rows, of which each worker has those of its own
    samples. Rows that all samples share are there once for each worker: the norm of such a list is
    not that of their sum, and cut parts do not add up to what is cut of the sum.

Before:
    class Encoder(keras.Model):
        def __init__(self):
            super().__init__()
            self.places = keras.layers.Embedding(16, 8)

        def call(self, inputs):
            return inputs + self.places(tf.range(16))

    optimizer = keras.optimizers.Adam(0.01, global_clipnorm=1.0)

After:
    class Encoder(keras.Model):
        def __init__(self):
            super().__init__()
            self.places = self.add_weight(shape=(16, 8))

        def call(self, inputs):
            return inputs + self.places

    optimizer = keras.optimizers.Adam(0.01, global_clipnorm=1.0)

Refuses when:
    a model has an embedding that is given numbers that count up, and gradients are clipped.

Source:
    https://www.tensorflow.org/api_docs/python/tf/clip_by_global_norm
    (of ``IndexedSlices``); https://www.tensorflow.org/api_docs/python/tf/IndexedSlices
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.values import External, Opaque, Value
from transpile.facts.walk import descendants
from transpile.plan.graph import method_calls, walk_back
from transpile.plan.model import Plan
from transpile.rule import Answer, Ruling
from transpile.rules.tensorflow.models.refuse_kept_state import calls_of_models

CODES = {"TF404": "gradients of shared rows of an embedding are clipped"}
#: Functions that clip by a norm, and arguments of optimizers that ask for it.
CLIPPING = frozenset({"clip_by_global_norm", "clip_by_norm", "global_norm"})
CLIPPED = frozenset({"clipnorm", "global_clipnorm", "clipvalue"})
#: Functions that cut values of any kind: those of gradients count.
CUTTING = frozenset({"clip_by_value", "clip", "minimum", "maximum"})
#: Functions that count up.
COUNTING = frozenset({"range", "arange"})


def decide(plan: Plan) -> Iterator[Answer]:
    """One refusal for each lookup by positions."""
    if not clips(plan) or not has_embeddings(plan):
        return
    for module, function in calls_of_models(plan):
        for node in descendants(function):
            if isinstance(node, cst.Call) and looks_up_places(plan, node):
                yield Ruling.refuse(
                    "TF404",
                    (module, node),
                    "gradients are clipped, and each worker has its own part of those of these "
                    "rows, which all samples share",
                    "add a weight in place of the embedding: its gradients are added up first",
                )


def clips(plan: Plan) -> bool:
    """Whether gradients are clipped."""
    for event in plan.facts.calls:
        words = {word_of(callee) for callee in event.callee}
        if words & CLIPPING or any(item.keyword in CLIPPED for item in event.arguments.items):
            return True
        given = tuple(value for item in event.arguments.items for value in item.values)
        if words & CUTTING and any(map(is_gradient, walk_back(given))):
            return True
    return False


def is_gradient(value: Value) -> bool:
    """Whether a value is what a tape gives back."""
    return any(word == "gradient" for word, _ in method_calls(value))


def has_embeddings(plan: Plan) -> bool:
    """Whether an embedding of the library is made."""
    return any(
        word_of(callee) == "Embedding" for event in plan.facts.calls for callee in event.callee
    )


def word_of(callee: object) -> str:
    """The last word of what is called."""
    return callee.name.rpartition(".")[2] if isinstance(callee, (External, Opaque)) else ""


def looks_up_places(plan: Plan, node: cst.Call) -> bool:
    """Whether a layer of the model's own is given numbers that count up."""
    function = node.func
    if not isinstance(function, cst.Attribute) or not isinstance(function.value, cst.Name):
        return False
    return function.value.value == "self" and any(
        word_of(callee) in COUNTING
        for argument in node.args
        for value in plan.facts.values_of(argument.value)
        if isinstance(value, Opaque)
        for callee in value.callee
    )
