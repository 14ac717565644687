"""Helpers for what some layers do with the samples of a batch beside computing each by itself.

Where it is known that a model has no such layers, they are left out.
"""

import inspect
import sys
from contextlib import contextmanager
from typing import Any, Callable, Iterator, List

import tensorflow as tf
from tensorflow.python.eager import context

from transpile.rules.tensorflow.emitted.rows import batched_in, rows_of
from transpile.rules.tensorflow.emitted.workers import add_up, get_rank, get_world_size


def layers_of(model: Any) -> List[Any]:
    """Return a model and all layers in it."""
    return list(model._flatten_layers())


@contextmanager
def own_noise(model: Any, number: int) -> Iterator[None]:
    """Let the layers of a model draw other random numbers than for another number."""
    found = (getattr(layer, "_seed_generators", ()) for layer in layers_of(model))
    states = {id(each.state): each.state for generators in found for each in generators}
    offset = 7919 * number
    holder, name = tf.compat.v1.get_default_graph(), "seed"
    if tf.executing_eagerly():
        holder, name = context.context(), "_seed"
    seed = getattr(holder, name)
    if seed is not None:
        setattr(holder, name, seed + offset)
    for state in states.values():
        state.assign(state + tf.constant([offset, 0], state.dtype))
    try:
        yield
    finally:
        setattr(holder, name, seed)
        for state in states.values():
            state.assign(state - tf.constant([offset, 0], state.dtype))


@tf.custom_gradient
def add_up_moments(tensor: tf.Tensor) -> Any:
    """Return the sum of a tensor over all workers, as part of what is differentiated."""
    return add_up([tensor])[0], lambda upstream: add_up([upstream])[0]


def moments_of_all(layer: Any) -> Callable[..., Any]:
    """Return what computes the mean and variance of a batch normalization over all workers."""

    def moments(inputs: Any, axes: Any, keep_dims: bool = False, mask: Any = None) -> Any:
        if hasattr(layer, "_reduction_axes"):  # Keras 3 gives the mask alone
            axes, mask = layer._reduction_axes, axes
        weights = tf.ones_like(inputs)
        if mask is not None:
            mask = tf.reshape(mask, [*tf.unstack(tf.shape(mask)), 1])
            weights *= tf.cast(mask, inputs.dtype)
        axes = list(axes)
        count = add_up([tf.reduce_sum(weights, axes, keepdims=True)])[0]
        total = add_up_moments(tf.reduce_sum(inputs * weights, axes, keepdims=True))
        mean = total / count
        squares = tf.square(inputs - mean) * weights
        variance = add_up_moments(tf.reduce_sum(squares, axes, keepdims=True)) / count
        if keep_dims:
            return mean, variance
        return tf.squeeze(mean, axes), tf.squeeze(variance, axes)

    return moments


@contextmanager
def whole_moments(model: Any) -> Iterator[None]:
    """Let the batch normalization of a model see the rows of all workers."""
    found = [layer for layer in layers_of(model) if hasattr(layer, "moving_variance")]
    fused = [(layer, layer.fused) for layer in found if hasattr(layer, "fused")]
    for layer in found:
        layer._moments = moments_of_all(layer)
    for layer, _ in fused:
        layer.fused = False
    try:
        yield
    finally:
        for layer in found:
            del layer._moments
        for layer, was in fused:
            layer.fused = was


def refuse_own_losses(model: Any) -> None:
    """Stop where a layer adds a loss of its own, which would be that of this worker's rows."""
    for layer in layers_of(model):
        if getattr(layer, "_losses", None) or getattr(layer, "_eager_losses", None):
            raise SystemExit(f"{layer.name} adds a loss of its own: compute it in the training")


def keep_regularised_whole(model: Any, compute: Callable[..., Any]) -> Callable[..., Any]:
    """Have every worker compute all of a model whose layers regularise what they give back."""
    if not any(getattr(each, "activity_regularizer", None) for each in layers_of(model)):
        return compute
    print("a model with an activity regularizer is computed whole", file=sys.stderr)
    return lambda model, call, args, kwargs: call(*args, **kwargs)


def is_of_keras(model: Any) -> bool:
    """Tell whether a model is made of layers of Keras alone, which look at one sample each."""
    parts = [*layers_of(model), *getattr(model, "operations", ())]
    return all(
        type(part).__module__.startswith(("keras.src.layers", "keras.src.models", "tf_keras."))
        and type(part).__name__ not in ("Lambda", "TFOpLambda", "SlicingOpLambda", "InstanceMethod")
        for part in parts
    )


def check_rows(model: Any, call: Callable[..., Any], args: Any, kwargs: Any) -> tf.Tensor:
    """Stop unless what a model makes of this worker's rows is what it makes of the whole batch."""
    if "training" in inspect.signature(call).parameters:
        kwargs = {**kwargs, "training": False}
    own = tf.nest.flatten((args, kwargs))
    batched = batched_in(own)
    if not batched:
        return tf.constant(False)
    first, behind = rows_of(tf.shape(own[batched[0]])[0], get_rank())
    for index in batched:
        own[index] = own[index][first:behind]
    own_args, own_kwargs = tf.nest.pack_sequence_as((args, kwargs), own)
    whole = tf.nest.flatten(call(*args, **kwargs))
    with own_noise(model, get_world_size()):
        again = tf.nest.flatten(call(*args, **kwargs))
    parts = tf.nest.flatten(call(*own_args, **own_kwargs))
    alike, by_chance = [], []
    for one, other, part in zip(whole, again, parts):
        one, other, part = (tf.cast(each, tf.float32) for each in (one, other, part))
        near = 1e-3 * tf.reduce_max(tf.abs(one)) + 1e-6
        alike.append(tf.reduce_all(tf.abs(one[first:behind] - part) <= near))
        by_chance.append(tf.reduce_any(one != other))
    tf.debugging.Assert(
        tf.reduce_all(alike) | tf.reduce_any(by_chance),
        ["the model looks at other samples of the batch: its calls cannot be sharded"],
    )
    return tf.constant(False)


def check_first_batch(model: Any, compute: Callable[..., Any]) -> Callable[..., Any]:
    """Check at the first batch that a model looks at one sample each, where that is not known."""
    if is_of_keras(model):
        return compute
    with tf.init_scope():
        unchecked = tf.Variable(True, trainable=False)

    def checked(model: Any, call: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        drawn = context.context()._rng.getstate()
        check = lambda: check_rows(model, call, args, kwargs)  # noqa: E731
        unchecked.assign(tf.cond(unchecked, check, lambda: tf.constant(False)))
        context.context()._rng.setstate(drawn)
        return compute(model, call, args, kwargs)

    return checked
