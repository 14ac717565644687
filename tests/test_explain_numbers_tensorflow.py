"""``--explain-numbers`` of TensorFlow scripts."""

from __future__ import annotations

from typing import Any

import pytest
from test_explain_numbers import both, figure, numbers

HEAD = """\
import numpy as np
import tensorflow as tf

x, y = np.zeros((100, 6), "float32"), np.zeros((100, 1), "float32")
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
"""
FIT = HEAD + "model.compile(tf.keras.optimizers.SGD(0.1), 'mse')\n"
LOOP = HEAD + """\
BATCH = 8
epochs = 8
steps = 100 // BATCH
rate = tf.keras.optimizers.schedules.ExponentialDecay(0.1, steps, 0.9)
optimizer = tf.keras.optimizers.SGD(rate)
data = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(100, seed=1).batch(BATCH)


@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    slopes = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(slopes, model.trainable_variables))


for epoch in range(epochs):
    for a, b in data:
        step(a, b)
"""


def options(document: dict[str, Any], kind: str, quantity: str) -> dict[str, Any]:
    """What other options would make of a number."""
    found = figure(document, kind, quantity)["options"]
    return {words: one.get("value", one.get("formula")) for words, one in found.items()}


def test_of_fit_on_arrays() -> None:
    found = numbers(FIT + "model.fit(x, y, 20, 3)\n", 4)
    assert both(found, "data", "global batch") == (20, 20)
    assert both(found, "data", "batch per process") == (20, 5)
    assert both(found, "training", "epochs") == (3, 3)
    assert both(found, "training", "steps per epoch") == (5, 5)
    assert both(found, "training", "steps altogether") == (15, 15)
    assert both(found, "optimizer", "learning rate") == (0.1, 0.1)
    assert options(found, "training", "steps per epoch") == {"--batch-size per-device": 2}
    assert options(found, "optimizer", "learning rate") == {
        "--batch-size per-device --scale-lr linear": 0.4,
        "--batch-size per-device --scale-lr sqrt": 0.2,
    }
    assert any("computes its rows of each call" in line for line in found["remarks"])


def test_the_batch_size_that_counts_without_one_is_said() -> None:
    found = numbers(FIT + "model.fit(x, y, validation_split=0.2)\n", 2, batch_size="per-device")
    assert both(found, "data", "global batch") == (32, 64)
    assert both(found, "training", "steps per epoch") == (3, 2)
    assert "32 is the batch size without one" in found["remarks"]


def test_of_loops_by_hand_and_of_what_is_computed_from_the_batch_size() -> None:
    found = numbers(LOOP, 2, batch_size="per-device", scale_lr="linear")
    assert both(found, "data", "global batch") == (8, 16)
    assert both(found, "data", "batch per process") == (8, 8)
    # As many epochs as a batch has samples stay as many.
    assert both(found, "training", "epochs") == (8, 8)
    assert both(found, "training", "steps per epoch") == (13, 7)
    assert both(found, "training", "steps altogether") == (104, 56)
    assert both(found, "schedule", "initial_learning_rate") == (0.1, 0.2)
    assert both(found, "schedule", "decay_steps") == (12, 6)
    assert both(found, "schedule", "decay_rate") == (0.9, 0.9)
    assert figure(numbers(LOOP, 2), "schedule", "decay_steps")["after"] == {"value": 12}


def test_of_a_loop_in_a_list() -> None:
    listed = LOOP.replace(
        "    for a, b in data:\n        step(a, b)\n", "    shown = [step(a, b) for a, b in data]\n"
    )
    found = numbers(listed, 2)
    assert both(found, "training", "steps altogether") == (104, 104)


@pytest.mark.parametrize(
    ("data", "steps"),
    [
        ("Dataset.from_tensor_slices(x).batch(8)", 13),
        ("Dataset.from_tensor_slices(x).batch(8, drop_remainder=True).prefetch(2)", 12),
        ("Dataset.from_tensor_slices({'a': x, 'b': y}).repeat(2).batch(8)", 25),
        ("Dataset.from_tensor_slices(x).repeat().batch(8).take(7)", 7),
        ("Dataset.range(40).skip(8).batch(8).map(lambda x: x)", 4),
        ("Dataset.from_tensor_slices(x).filter(lambda x: x[0] > 0).batch(8)", "len(data)"),
        ("Dataset.from_tensor_slices(x).repeat().batch(8)", "len(data)"),
    ],
)
def test_of_data_sets(data: str, steps: int | str) -> None:
    found = numbers(f"{FIT}data = tf.data.{data}\nmodel.fit(data)\n", 2)
    assert both(found, "training", "steps per epoch") == (steps, steps)


def test_steps_that_are_told_count() -> None:
    endless = "data = tf.data.Dataset.from_tensor_slices((x, y)).repeat().batch(8)\n"
    found = numbers(f"{FIT}{endless}model.fit(data, epochs=2, steps_per_epoch=5)\n", 2)
    assert both(found, "training", "steps altogether") == (10, 10)


@pytest.mark.parametrize(
    ("callback", "ends"),
    [
        ("tf.keras.callbacks.EarlyStopping()", True),
        ("tf.keras.callbacks.CSVLogger('log.csv')", False),
    ],
)
def test_what_callbacks_may_end_is_said(callback: str, ends: bool) -> None:
    found = numbers(f"{FIT}model.fit(x, y, 20, 3, callbacks=[{callback}])\n", 2)
    assert figure(found, "training", "epochs")["after"].get("at_most", False) is ends


def test_of_data_that_keras_downloads_and_of_options() -> None:
    script = """\
import argparse
import tensorflow as tf

parser = argparse.ArgumentParser()
parser.add_argument("--batch-size", type=int, default=128)
args = parser.parse_args()
(x, y), (x_test, y_test) = tf.keras.datasets.mnist.load_data()
x = x.astype("float32") / 255.0
model = tf.keras.Sequential([tf.keras.layers.Flatten(), tf.keras.layers.Dense(10)])
model.compile("adam", "mse")
model.fit(x, y, batch_size=args.batch_size, epochs=5)
model.evaluate(x_test, y_test, batch_size=100)
"""
    found = numbers(script, 4)
    assert both(found, "training", "steps altogether") == (2345, 2345)
    assert options(found, "training", "steps per epoch") == {"--batch-size per-device": 118}
    assert both(found, "evaluation", "batch per process") == (100, 100)
    assert options(found, "evaluation", "batch per process") == {"--eval shard": 25}
    assert "60000 is the length of mnist's training set" in found["remarks"]
    assert "128 is the default of --batch-size" in found["remarks"]


def test_rows_that_processes_share_unevenly_are_said_to_be_at_most_so_many() -> None:
    found = numbers(FIT + "model.fit(x, y, batch_size=10)\n", 4)
    after = figure(found, "data", "batch per process")["after"]
    assert after == {"value": 3, "at_most": True} and not found["problems"]
