"""Every converted TensorFlow fixture trains with two workers as it trained in one process."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cases import Case, cases
from tensorflow_jobs import difference, start, words_and_numbers

from transpile import Options, convert

#: Numbers whose roundings are told from what is computed otherwise; what a script says is kept.
DOUBLE = {"TENSORFLOW_FLOATX": "float64"}
CONVERTED = [case for case in cases("tensorflow") if case.expect == "converted"]


def settings(case: Case) -> dict[str, Any]:
    """What a case says beyond what all cases do."""
    found: dict[str, Any] = json.loads((case.folder / "case.json").read_text("utf-8"))
    return found


@pytest.mark.parametrize("case", CONVERTED, ids=lambda case: case.name)
def test_output_trains_the_same_model(
    case: Case, interpreter_of: Callable[[str], Path], tmp_path: Path
) -> None:
    python = interpreter_of("tensorflow")
    said = settings(case)
    variables = {**(DOUBLE if case.deterministic else {}), **said.get("environment", {})}
    run = start(python, case.script, tmp_path / "before", case.arguments, variables=variables)
    before = run.end()
    assert not before.trouble, before.trouble
    output = case.expected_output
    together = start(python, output, tmp_path / "two", case.arguments, 2, variables).end()
    assert not together.trouble, together.trouble

    first, second = together.trained
    assert first and difference(first, second) == 0
    assert together.files == before.files | set(said.get("own_files", ()))
    assert together.outputs[1] == ""
    if case.deterministic:
        assert difference(before.trained[0], first) < said.get("tolerance", 1e-6)
    words, numbers = words_and_numbers(before.outputs[0])
    words_together, numbers_together = words_and_numbers(together.outputs[0])
    assert words_together == words
    if case.deterministic and said.get("numbers", True):
        assert numbers_together == pytest.approx(numbers, rel=1e-4, abs=1e-5)
    if said.get("alone"):
        alone = start(python, output, tmp_path / "one", case.arguments, variables=variables).end()
        assert not alone.trouble, alone.trouble
        assert alone.trained == before.trained and alone.outputs == before.outputs
        assert alone.files == before.files


@pytest.mark.parametrize(
    "case", [case for case in CONVERTED if "larger" in settings(case)], ids=lambda case: case.name
)
def test_a_batch_for_each_worker_is_a_larger_one(
    case: Case, interpreter_of: Callable[[str], Path], tmp_path: Path
) -> None:
    python = interpreter_of("tensorflow")
    larger = settings(case)["larger"]
    words, variables = tuple(larger.get("arguments", ())), larger.get("environment", {})
    alone = start(python, case.script, tmp_path / "larger", words, variables=variables).end()
    assert not alone.trouble, alone.trouble
    together = start(python, case.expected_output, tmp_path / "two", case.arguments, 2).end()
    assert not together.trouble, together.trouble
    first, second = together.trained
    assert difference(first, second) == 0 and difference(alone.trained[0], first) < 1e-6
    assert together.outputs == (alone.outputs[0], "")


NOISE = """\
import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(5)


class Noisy(tf.keras.layers.Layer):
    def __init__(self, seed):
        super().__init__()
        self.given = seed

    def call(self, x):
        return x + tf.random.normal(tf.shape(x), seed=self.given)


class Net(tf.keras.Model):
    def __init__(self, seed):
        super().__init__()
        self.noisy, self.head = Noisy(seed), tf.keras.layers.Dense(1)

    def call(self, x):
        noisy = self.noisy(x)
        return self.head(noisy), noisy


def step(net, optimizer, batch):
    with tf.GradientTape() as tape:
        output, noise = net(batch)
        loss = tf.reduce_mean(tf.square(output - 1.0))
    slopes = tape.gradient(loss, net.trainable_variables)
    optimizer.apply_gradients(zip(slopes, net.trainable_variables))
    return noise


one, other = Net(None), Net(3)
first, second = tf.keras.optimizers.SGD(0.1), tf.keras.optimizers.SGD(0.1)
traced = tf.function(step)
for batch in tf.data.Dataset.from_tensors(tf.zeros((8, 3))).repeat(2):
    found = [step(one, first, batch).numpy()]
    found.append(traced(other, second, batch).numpy())
    print([len(np.unique(each.round(5), axis=0)) for each in found], float(tf.random.normal([])))
"""


def test_noise_within_a_model_is_independent_between_workers(
    interpreter_of: Callable[[str], Path], tmp_path: Path
) -> None:
    python = interpreter_of("tensorflow")
    (tmp_path / "train.py").write_text(NOISE, "utf-8")
    before = start(python, tmp_path / "train.py", tmp_path / "before").end()
    (tmp_path / "train_dist.py").write_bytes(convert(NOISE, Options()).data)
    together = start(python, tmp_path / "train_dist.py", tmp_path / "two", workers=2).end()
    assert not together.trouble, together.trouble
    # Nor does what the script itself draws change.
    assert together.outputs[0] == before.outputs[0] and "[8, 8]" in before.outputs[0]


UNBUILT = """\
import numpy as np
from tensorflow import keras
from tensorflow.keras import layers

keras.utils.set_random_seed(4)
rng = np.random.default_rng(7)
x = rng.integers(0, 20, size=(37, 6)).astype("int32")
y = (x.sum(1, keepdims=True) > 55).astype("float32")
model = keras.Sequential()
model.add(layers.Embedding(20, 5, mask_zero=True))
model.add(layers.LSTM(4))
model.add(layers.Dense(1, activation="sigmoid"))
model.compile(keras.optimizers.Adam(0.01), "binary_crossentropy", metrics=["accuracy"])
validation = (x[:9], y[:9])
history = model.fit(x, y, batch_size=8, epochs=2, verbose=0, validation_data=validation).history
print(*["%.4f" % value for value in history["loss"] + history["val_loss"]])
print(["%.4f" % value for value in model.train_on_batch(x[:5], y[:5])])
"""


@pytest.mark.parametrize("legacy", ["0", "1"])
def test_plain_models_are_built_by_their_first_batch(
    legacy: str, interpreter_of: Callable[[str], Path], tmp_path: Path
) -> None:
    python, variables = interpreter_of("tensorflow"), {"TF_USE_LEGACY_KERAS": legacy}
    script, output = tmp_path / "train.py", tmp_path / "train_dist.py"
    script.write_text(UNBUILT, "utf-8")
    output.write_bytes(convert(UNBUILT, Options()).data)
    assert "def share_calls" not in output.read_text("utf-8")
    before = start(python, script, tmp_path / "before", variables=variables).end()
    together = start(python, output, tmp_path / "two", (), 2, variables).end()
    assert not together.trouble, together.trouble
    first, second = together.trained
    assert difference(first, second) == 0 and difference(before.trained[0], first) < 1e-6
    assert together.outputs == (before.outputs[0], "")
