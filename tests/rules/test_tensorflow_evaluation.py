"""Evaluations of TensorFlow that are shared out where that is asked for."""

from __future__ import annotations

import pytest

from transpile import Options, convert

SCRIPT = """\
import numpy as np
from tensorflow import keras

x, y = np.ones((64, 4)), np.ones((64, 1))
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
{train}
{evaluate}
"""


def shared(train: str, evaluate: str, evaluation: str = "shard") -> tuple[str, list[str]]:
    """The lines below the helpers, and the codes of the findings."""
    text = SCRIPT.format(train=train, evaluate=evaluate)
    result = convert(text, Options(evaluation=evaluation))  # type: ignore[arg-type]
    behind = result.text[result.text.rindex("x, y = np.ones") :]
    return behind, [one.code for one in result.findings]


@pytest.mark.parametrize(
    ("train", "evaluate", "expected"),
    [
        ("model.fit(x, y)", "print(model.evaluate(x, y))", "split_evaluation(model).evaluate(x"),
        ("model.fit(x, y)", "model.test_on_batch(x, y)", "split_evaluation(model).test_on_batch("),
        ("model.fit(x, y, validation_split=0.5)", "", "split_evaluation(split_fit(model)).fit("),
        ("model.fit(x, y, validation_data=(x, y))", "", "split_evaluation(split_fit(model)).fit("),
    ],
)
def test_each_worker_computes_its_rows(train: str, evaluate: str, expected: str) -> None:
    behind, codes = shared(train, evaluate)
    assert (expected in behind or expected.replace("(split", "(\n") in behind, codes) == (True, [])
    assert "split_evaluation" not in shared(train, evaluate, "replicate")[0]


def test_where_nothing_is_evaluated_it_is_refused() -> None:
    assert shared("model.fit(x, y)", "")[1] == ["TF102"]


def test_loops_of_the_script_are_told() -> None:
    loop = (
        "import tensorflow as tf\n"
        "optimizer = keras.optimizers.SGD()\n"
        "for a in tf.data.Dataset.from_tensor_slices(x).batch(8):\n"
        "    with tf.GradientTape() as tape:\n"
        "        loss = tf.reduce_mean(model(a, training=True) ** 2)\n"
        "    grads = tape.gradient(loss, model.trainable_variables)\n"
        "    optimizer.apply_gradients(zip(grads, model.trainable_variables))\n"
    )
    assert shared(loop, "model.evaluate(x, y)")[1] == ["TF222"]
    assert shared(loop, "print(model(x))")[1] == ["TF102"]
