"""Helpers for the rows of a batch that each worker has."""

from typing import Any, List, Sequence, Tuple

import tensorflow as tf

from transpile.rules.tensorflow.emitted.workers import add_up, get_rank, get_world_size


def rows_of(count: Any, rank: int) -> Tuple[Any, Any]:
    """Return where the rows of a worker begin and end among those of a batch."""
    workers = get_world_size()
    return count * rank // workers, count * (rank + 1) // workers


def batched_in(given: Sequence[Any]) -> List[int]:
    """Return the places of the tensors that hold a row for each sample of a batch."""
    tensors = [
        index
        for index, value in enumerate(given)
        if tf.is_tensor(value) and value.shape.rank and not isinstance(value, tf.Variable)
    ]
    return [index for index in tensors if given[index].shape[0] == given[tensors[0]].shape[0]]


def among_all(rows: tf.Tensor, count: tf.Tensor) -> tf.Tensor:
    """Return the rows of this worker, with zeros for those of the others."""
    first, behind = rows_of(count, get_rank())
    return tf.pad(rows, [[first, count - behind], *[[0, 0]] * (rows.shape.rank - 1)])


def gather(tensors: Sequence[tf.Tensor], count: tf.Tensor) -> List[tf.Tensor]:
    """Return the rows of all workers."""
    counted = [each if each.dtype.is_floating else tf.cast(each, tf.int64) for each in tensors]
    sums = add_up([among_all(each, count) for each in counted])
    return [tf.cast(total, each.dtype) for total, each in zip(sums, tensors)]


def shared_once(gradient: tf.IndexedSlices, count: Any) -> tf.IndexedSlices:
    """Return the rows of a gradient, those once that all samples have looked up."""
    workers = get_world_size()
    number = tf.size(gradient.indices) // workers
    looked_up = tf.reshape(gradient.indices[: number * workers], [workers, number])
    alike = tf.reduce_all(looked_up == looked_up[:1])
    alike &= number * workers == tf.size(gradient.indices)
    by_samples = (count % workers == 0) & (number % tf.maximum(count // workers, 1) == 0)
    distinct = (tf.size(tf.unique(looked_up[0])[0]) == number) & (number > 1)
    shape = tf.concat([[workers, number], tf.shape(gradient.values)[1:]], 0)
    values, rows = tf.cond(
        alike & (distinct | tf.logical_not(by_samples)),
        lambda: (tf.reduce_sum(tf.reshape(gradient.values, shape), 0), looked_up[0]),
        lambda: (gradient.values, gradient.indices),
    )
    return tf.IndexedSlices(values, rows, gradient.dense_shape)


def merge_shared_rows(gradients: List[Any], count: Any) -> None:
    """Leave rows of tables that all samples look up in the gradients once, as in one process.

    Rows that samples look up by themselves stay apart: optimizers may square each of them.
    """
    for index, each in enumerate(gradients):
        if isinstance(each, tf.IndexedSlices):
            gradients[index] = shared_once(each, count)


def fingerprint(tensors: Sequence[tf.Tensor]) -> tf.Tensor:
    """Return two numbers for each tensor, by which workers compare theirs."""
    found = []
    for tensor in tensors:
        flat = tf.cast(tf.reshape(tensor, [-1]), tf.float32)
        wave = tf.cos(tf.range(tf.size(flat), dtype=tf.float32))
        found += [tf.reduce_sum(flat * wave), tf.reduce_sum(tf.abs(flat))]
    return tf.stack(found)


def check_agreement(sums: tf.Tensor, own: tf.Tensor) -> Any:
    """Return a check that all workers computed the loss from the same batch."""
    differs = tf.abs(sums / get_world_size() - own)[0::2] > 1e-3 * own[1::2]
    return tf.debugging.Assert(
        tf.logical_not(tf.reduce_any(differs)),
        ["the workers drew different batches: something random or unordered is not agreed on"],
    )


def variable_of(variable: Any) -> tf.Variable:
    """Return the variable of TensorFlow in one of Keras 3."""
    value = getattr(variable, "value", variable)
    return variable if callable(value) else value
