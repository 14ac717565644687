"""Warn of gradients of embeddings that are clipped by their norm.

What:
    Where a model looks embeddings up by indices that it makes itself, such as positions, and
    gradients are clipped by their norm, this is warned of.

Why:
    The gradient of an embedding is a list of rows, of which each worker has those of its own
    samples. Rows that all samples share are there once for each worker, and a norm over such a list
    is not that of their sum.

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
    never: it is a warning.

Source:
    https://www.tensorflow.org/api_docs/python/tf/clip_by_global_norm
    (of ``IndexedSlices``); https://www.tensorflow.org/api_docs/python/tf/IndexedSlices
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.module import Module
from transpile.facts.values import External, Opaque
from transpile.facts.walk import descendants
from transpile.plan.model import Plan
from transpile.rule import Answer, Remark
from transpile.rules.tensorflow.models.refuse_kept_state import calls_of_models

CODES = {"TF404": "gradients of shared rows of an embedding are clipped by their norm"}
#: Functions that clip by a norm, and arguments of optimizers that ask for it.
CLIPPING = frozenset({"clip_by_global_norm", "clip_by_norm", "global_norm"})
CLIPPED = frozenset({"clipnorm", "global_clipnorm"})
#: Functions that count up.
COUNTING = frozenset({"range", "arange"})


def decide(plan: Plan) -> Iterator[Answer]:
    """One warning for each lookup by positions."""
    if not clips(plan) or not has_embeddings(plan):
        return
    for module, function in calls_of_models(plan):
        for node in descendants(function):
            if isinstance(node, cst.Call) and looks_up_places(plan, node):
                yield warning(module, node)


def clips(plan: Plan) -> bool:
    """Whether gradients are clipped by their norm."""
    for event in plan.facts.calls:
        if any(word_of(callee) in CLIPPING for callee in event.callee):
            return True
        if any(item.keyword in CLIPPED for item in event.arguments.items):
            return True
    return False


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


def warning(module: Module, node: cst.Call) -> Remark:
    """What is said of one lookup."""
    return Remark.warn(
        "TF404",
        (module, node),
        "each worker has its own gradient of these rows, and the norm that gradients are cut to "
        "is not that of their sum",
        "add a weight in place of the embedding, or clip by value",
    )
