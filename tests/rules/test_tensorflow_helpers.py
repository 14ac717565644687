"""TensorFlow outputs have the helpers that their models have a use for, and no others."""

from __future__ import annotations

import pytest

from transpile import Options, Outcome, convert

SCRIPT = """\
import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

x, y = np.ones((64, 4), "float32"), np.ones((64, 1), "float32")
model = keras.Sequential([keras.Input((4,)), layers.Dense(8, activation="relu")])
model.add(layers.Dense(1))
model.compile("sgd", "mse")
model.fit(x, y, batch_size=8)
"""
FUNCTIONAL = SCRIPT.replace(
    'model = keras.Sequential([keras.Input((4,)), layers.Dense(8, activation="relu")])\n'
    "model.add(layers.Dense(1))\n",
    "inputs = keras.Input((x.shape[1],))\n"
    "hidden = layers.Dense(8)(inputs)\n"
    "model = keras.Model(inputs, layers.Dense(1)(hidden + 1.0))\n",
)
#: What some models need, and each needs one thing more than the one before.
NOISE, MOMENTS, CHECK, WHOLE = (
    "own_noise", "whole_moments", "check_first_batch", "keep_regularised_whole"
)  # fmt: skip
EVERYTHING = {NOISE, MOMENTS, CHECK, WHOLE}
HIDDEN = 'layers.Dense(8, activation="relu")'


def needed(text: str, options: Options | None = None) -> set[str]:
    result = convert(text.encode(), options)
    assert result.outcome is Outcome.CONVERTED, result.findings
    modules = "".join(one.data.decode() for one in result.modules)
    return {name for name in EVERYTHING if f"def {name}(" in result.text + modules}


@pytest.mark.parametrize("text", [SCRIPT, FUNCTIONAL], ids=["sequential", "functional"])
def test_plain_layers_need_none_of_what_others_do(text: str) -> None:
    assert needed(text) == set()
    output = convert(text.encode()).text
    assert "def share_calls" not in output
    assert len(output.splitlines()) - len(text.splitlines()) < 260


def test_models_that_may_be_parts_of_each_other_are_told_apart_when_they_run() -> None:
    text = SCRIPT + (
        "whole = keras.Sequential([keras.Input((4,)), model, layers.Dense(1)])\n"
        'whole.compile("sgd", "mse")\n'
        "whole.fit(x, y, batch_size=8)\n"
    )
    assert needed(text) == set()
    assert "def share_calls" in convert(text.encode()).text


@pytest.mark.parametrize(
    ("layer", "names"),
    [
        ("layers.Dropout(0.5)", {NOISE}),
        ("layers.LSTM(8, dropout=0.1)", {NOISE}),
        ("layers.BatchNormalization()", {MOMENTS}),
        ("layers.TimeDistributed(layers.BatchNormalization())", {MOMENTS}),
        ("layers.Lambda(lambda rows: rows - tf.reduce_mean(rows))", EVERYTHING),
        ("layers.Dense(8, activation=lambda rows: rows / tf.norm(rows))", EVERYTHING),
        ('layers.Dense(8, activity_regularizer="l2")', {WHOLE}),
        ("layers.ActivityRegularization(l2=0.1)", EVERYTHING),
        ("layers.RandomFlip()", {NOISE}),
        ("keras.applications.ResNet50()", EVERYTHING),
        ("lab_layers.Mixed()", EVERYTHING),
        ("getattr(layers, x)()", EVERYTHING),
    ],
)
def test_each_layer_brings_what_it_needs(layer: str, names: set[str]) -> None:
    text = f"import lab_layers\n{SCRIPT}"
    assert needed(text.replace(HIDDEN, layer)) == names
    assert needed(text.replace("layers.Dense(1)", layer)) == names


def test_parts_of_what_layers_give_may_be_other_samples() -> None:
    assert needed(FUNCTIONAL.replace("hidden + 1.0", "hidden + hidden[:1]")) == EVERYTHING


def test_models_of_the_scripts_own_are_checked() -> None:
    own = SCRIPT.replace(
        "model.compile",
        "class Net(keras.Model):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.head = layers.Dense(1)\n\n"
        "    def call(self, rows):\n"
        "        return self.head(rows)\n\n\n"
        "model = Net()\n"
        "model.compile",
    )
    assert needed(own) == {CHECK, WHOLE}
    assert needed(own.replace("self.head(rows)", "self.head(tf.nn.dropout(rows, 0.5))")) == {
        NOISE, CHECK, WHOLE
    }  # fmt: skip
    drawn = "self.head(rows + tf.random.normal(rows.shape))"
    assert needed(own.replace("self.head(rows)", drawn)) == {NOISE, CHECK, WHOLE}
    flipped = "self.head(tf.image.random_flip_left_right(rows))"
    assert needed(own.replace("self.head(rows)", flipped)) == {NOISE, CHECK, WHOLE}
    assert needed(own.replace("layers.Dense(1)", "layers.BatchNormalization()")) == {
        MOMENTS, CHECK, WHOLE
    }  # fmt: skip
    assert needed("import lab\n" + own.replace("layers.Dense(1)", "lab.Mixed()")) == EVERYTHING


def test_modules_that_scripts_share_have_everything() -> None:
    assert needed(SCRIPT, Options(helpers="module")) == EVERYTHING


def test_rows_that_all_samples_look_up_are_told_apart_in_models_of_the_script_alone() -> None:
    own = SCRIPT.replace(
        "x, y =",
        "class Places(layers.Layer):\n"
        "    def build(self, shape):\n"
        "        self.table = layers.Embedding(4, 1)\n\n"
        "    def call(self, inputs):\n"
        "        return inputs + self.table(tf.range(4))[:, 0]\n\n\nx, y =",
    ).replace("layers.Dense(1))", "Places())")
    assert "merge_shared_rows(sums, count)" in convert(own.encode()).text
    assert "merge_shared_rows" not in convert(SCRIPT.encode()).text
    assert [one.code for one in convert(own.encode()).findings] == ["TF103"]
    assert not convert(SCRIPT.encode()).findings


def test_seeds_above_the_helpers_are_kept() -> None:
    text = SCRIPT.replace("from tensorflow.keras import layers", "keras.utils.set_random_seed(1)")
    output = convert(text.replace("layers.", "keras.layers.").encode()).text
    agree = output[output.index("def agree()") : output.index("\nagree()")]
    assert "random.seed(" not in agree and "if context.global_seed() != of_first:" in agree
