"""How Keras trains a model that it made of its own layers, which look at one sample each."""

import inspect
from typing import Any

import tensorflow as tf

from transpile.rules.tensorflow.emitted.calls import compute_rows
from transpile.rules.tensorflow.emitted.rows import variable_of
from transpile.rules.tensorflow.emitted.workers import add_up, get_world_size, is_main_process


def split_fit(model: Any) -> Any:
    """Return a model of which each worker computes its rows of every batch that it trains on."""
    if get_world_size() == 1 or getattr(model, "calls_are_shared", False):
        return model
    call = model.call

    @tf.autograph.experimental.do_not_convert
    def shared(*args: Any, **kwargs: Any) -> Any:
        if not kwargs.get("training"):
            return call(*args, **kwargs)
        return compute_rows(model, call, args, kwargs)

    shared.__signature__ = inspect.signature(call)
    model.call, model.calls_are_shared = shared, True
    if getattr(model, "jit_compile", False):
        model.jit_compile = False  # XLA knows no communication between workers
    # A model that is not built yet will draw the same weights on all workers.
    weights = map(variable_of, model.weights if model.built else [])
    floats = [each for each in weights if each.dtype.is_floating]
    begins = float(is_main_process())
    for each, begun in zip(floats, add_up([begins * each for each in floats])):
        each.assign(begun)
    return model
