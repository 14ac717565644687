"""Helpers by which each worker computes its rows of the calls of models."""

import inspect
import sys
import threading
from typing import Any, Callable, Dict, List

import tensorflow as tf

from transpile.rules.tensorflow.emitted.layers import (
    check_first_batch,
    keep_regularised_whole,
    layers_of,
    own_noise,
    refuse_own_losses,
    whole_moments,
)
from transpile.rules.tensorflow.emitted.rows import (
    among_all,
    batched_in,
    check_agreement,
    fingerprint,
    gather,
    merge_shared_rows,
    rows_of,
    variable_of,
)
from transpile.rules.tensorflow.emitted.workers import (
    add_up,
    get_rank,
    get_world_size,
    is_main_process,
)


def compute_rows(model: Any, call: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Call a model on this worker's rows of a batch; return the outputs of all workers.

    The gradients that flow back are those of the whole batch, on every worker.
    """
    given = tf.nest.flatten((args, kwargs))
    batched = batched_in(given)
    if not batched:
        return call(*args, **kwargs)
    count = tf.shape(given[batched[0]])[0]
    first, behind = rows_of(count, get_rank())
    result: List[Any] = []
    masks: List[Any] = []

    def whole_batch(*inputs: tf.Tensor) -> Any:
        own, rows = list(given), [tensor[first:behind] for tensor in inputs]
        watched = [tensor for tensor in rows if tensor.dtype.is_floating]
        for index, tensor in zip(batched, rows):
            own[index] = tensor
        own_args, own_kwargs = tf.nest.pack_sequence_as((args, kwargs), own)
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(watched)
            with own_noise(model, get_rank()), whole_moments(model):
                result[:] = [call(*own_args, **own_kwargs)]
        refuse_own_losses(model)
        outputs = tf.nest.flatten(result[0])
        gathered = gather(outputs, count)
        for whole, output in zip(gathered, outputs):
            whole.set_shape([given[batched[0]].shape[0], *output.shape[1:]])
            mask = getattr(output, "_keras_mask", None)
            masks.append(mask if mask is None else gather([mask], count)[0])

        def gradients(*upstream: tf.Tensor, variables: Any = None) -> Any:
            order = {id(variable_of(v)): at for at, v in enumerate(model.trainable_variables)}
            found = sorted(variables or (), key=lambda v: (order.get(id(v), -1), v.name))
            computed = tape.gradient(
                outputs,
                [*watched, *found],
                [tensor[first:behind] for tensor in upstream],
                unconnected_gradients=tf.UnconnectedGradients.ZERO,
            )
            for index in range(len(watched)):
                computed[index] = among_all(tf.convert_to_tensor(computed[index]), count)
            own = fingerprint(upstream)
            sums = add_up([own, *computed])
            merge_shared_rows(sums, count)
            with tf.control_dependencies([check_agreement(sums[0], own)]):
                whole = iter([tf.identity(each) for each in sums[1:]])
            back = [next(whole) if each.dtype.is_floating else None for each in rows]
            if not variables:
                return back
            of_variables = {id(v): each for v, each in zip(found, whole)}
            return back, [of_variables[id(v)] for v in variables]

        return gathered, gradients

    outputs = tf.nest.flatten(tf.custom_gradient(whole_batch)(*[given[at] for at in batched]))
    for output, mask in zip(outputs, masks):
        if mask is not None:
            output._keras_mask = mask
    return tf.nest.pack_sequence_as(result[0], outputs)


def share_weights(model: Any) -> None:
    """Begin with the weights of the first worker, as far as a model has any yet."""
    found: Dict[int, Any] = {}
    for part in layers_of(model):
        try:
            found.update((id(each), variable_of(each)) for each in part.weights)
        except ValueError:  # not built yet: the workers will draw the same
            continue
    floats = [each for each in found.values() if each.dtype.is_floating]
    with tf.init_scope():
        first = float(is_main_process())
        sums = add_up([tf.cast(first, each.dtype) * each for each in floats]) if floats else []
        for each, begun in zip(floats, sums):
            each.assign(begun)


in_training = threading.local()


def share_calls(model: Any) -> None:
    """Let calls of a model in training be computed by all workers together, each its rows."""
    if getattr(model, "calls_are_shared", False):
        return
    keras: Any = sys.modules.get("keras")
    if type(model).__module__.startswith("keras.") and keras.backend.backend() != "tensorflow":
        raise SystemExit("Keras must run on TensorFlow here: set KERAS_BACKEND=tensorflow")
    call, compute = model.call, compute_rows
    compute = check_first_batch(model, compute)
    compute = keep_regularised_whole(model, compute)

    @tf.autograph.experimental.do_not_convert
    def shared(*args: Any, **kwargs: Any) -> Any:
        if not getattr(in_training, "now", False):
            return call(*args, **kwargs)
        in_training.now, in_training.found = False, True
        try:
            return compute(model, call, args, kwargs)
        finally:
            in_training.now = True

    shared.__signature__ = inspect.signature(call)
    model.call, model.calls_are_shared = shared, True
    share_weights(model)


def split_calls(model: Any) -> Any:
    """Return what calls a model in training: each worker computes its rows of the batch."""
    if get_world_size() == 1 or not hasattr(model, "train_step"):
        return model
    share_calls(model)

    def split(*args: Any, **kwargs: Any) -> Any:
        before = getattr(in_training, "now", False)
        in_training.now = True
        try:
            return model(*args, **kwargs)
        finally:
            in_training.now = before

    return split


def compute_whole(model: Any) -> Any:
    """Return what calls a model on the whole batch, in training, too."""

    def whole(*args: Any, **kwargs: Any) -> Any:
        before = getattr(in_training, "now", False)
        in_training.now = False
        try:
            return model(*args, **kwargs)
        finally:
            in_training.now = before

    return whole


def split_fit(model: Any) -> Any:
    """Return a model of which each worker computes its rows of every batch that it trains on."""
    if get_world_size() == 1 or not hasattr(model, "train_step"):
        return model
    if getattr(model, "jit_compile", False):
        model.jit_compile = False  # XLA knows no communication between workers
    if getattr(model, "training_is_shared", False):
        return model
    for part in layers_of(model):
        if hasattr(part, "train_step"):
            share_calls(part)
    train_step = model.train_step

    def shared_step(data: Any) -> Any:
        in_training.now = True
        try:
            result = train_step(data)
        finally:
            in_training.now = False
        if not getattr(in_training, "found", False):
            in_training.found = True
            print("no call of a model to shard: every worker computes all", file=sys.stderr)
        return result

    model.train_step, model.training_is_shared = shared_step, True
    return model


def split_evaluation(model: Any) -> Any:
    """Return a model of which each worker computes its rows of every batch it is tested on."""
    if get_world_size() == 1 or not hasattr(model, "test_step"):
        return model
    if getattr(model, "jit_compile", False):
        model.jit_compile = False  # XLA knows no communication between workers
    if getattr(model, "testing_is_shared", False):
        return model
    for part in layers_of(model):
        if hasattr(part, "test_step"):
            share_calls(part)
    test_step = model.test_step

    def shared_test(data: Any) -> Any:
        in_training.now = True
        try:
            return test_step(data)
        finally:
            in_training.now = False

    model.test_step, model.testing_is_shared = shared_test, True
    return model
