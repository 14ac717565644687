"""What TensorFlow scripts are taken for, beside the fixtures."""

from __future__ import annotations

import pytest

from transpile import Options, Outcome, convert

TRAINING = """\
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(tf.zeros((8, 2)), tf.zeros((8, 1)))
"""


def codes(script: str, **options: object) -> list[str]:
    """The codes of the findings of a conversion, but for what the first batch must show."""
    found = convert(script, Options(**options))  # type: ignore[arg-type]
    return [finding.code for finding in found.findings if finding.code != "TF103"]


def test_options_without_meaning_are_refused() -> None:
    assert codes(TRAINING, evaluation="shard") == ["TF102"]


def test_a_batch_that_the_script_does_not_name_cannot_be_that_of_each_worker() -> None:
    assert codes(TRAINING, batch_size="per-device") == ["TF212"]


def test_another_framework_comes_before_tensorflow() -> None:
    steps = (
        "net = torch.nn.Linear(2, 1)\noptimizer = torch.optim.SGD(net.parameters(), 0.1)\n"
        "for x in torch.utils.data.DataLoader(torch.zeros(8, 2), 4):\n"
        "    net(x).mean().backward()\n    optimizer.step()\n"
    )
    script = "import tensorflow as tf\nimport torch\n" + steps
    assert convert(script, Options()).plan.get("framework") == "pytorch"


@pytest.mark.parametrize(
    "imports",
    [
        "import keras\n",
        "from tensorflow import keras\n",
        "import tf_keras as keras\n",
        "from tensorflow.python import keras\n",
    ],
)
def test_every_keras_is_known(imports: str) -> None:
    script = imports + (
        "model = keras.models.Sequential([keras.layers.Dense(1)])\n"
        "model.compile('sgd', 'mse')\nmodel.fit([[1.0]], [[1.0]])\n"
    )
    assert "split_fit(model).fit(" in convert(script, Options()).data.decode()


def test_what_only_has_a_method_fit_is_left_alone() -> None:
    script = TRAINING.replace(
        "model.fit",
        "from sklearn.preprocessing import StandardScaler\n"
        "StandardScaler().fit([[1.0]])\nmodel.fit",
    )
    text = convert(script, Options()).data.decode()
    assert "\nStandardScaler().fit(" in text and "split_fit(model).fit(" in text


def test_gradients_of_inputs_alone_are_no_training() -> None:
    script = TRAINING.rpartition("model.fit")[0] + (
        "image = tf.zeros((1, 2))\n"
        "with tf.GradientTape() as tape:\n    tape.watch(image)\n    score = model(image)\n"
        "print(tape.gradient(score, image))\n"
    )
    assert codes(script) == ["DT004"]


def test_a_loop_under_independent_tapes_is_shared_out() -> None:
    script = TRAINING.rpartition("model.fit")[0] + (
        "optimizer = tf.keras.optimizers.SGD()\n"
        "with tf.GradientTape() as one:\n    with tf.GradientTape() as two:\n"
        "        loss = tf.reduce_mean(model(tf.zeros((8, 2))))\n"
        "grads = one.gradient(loss, model.trainable_variables)\n"
        "optimizer.apply_gradients(zip(grads, model.trainable_variables))\n"
    )
    assert "split_calls(model)(" in convert(script, Options()).data.decode()


@pytest.mark.parametrize("indent", ["", "    "])
def test_state_is_found_behind_methods_and_in_functions(indent: str) -> None:
    layer = (
        "class Counting(tf.keras.layers.Layer):\n"
        "    def call(self, inputs):\n        return self.count(inputs)\n"
        "    def count(self, inputs):\n        self.seen.assign_add(1)\n        return inputs\n"
    )
    body = layer + "layer = Counting()\n"
    if indent:
        body = "def build():\n" + "".join(f"    {line}\n" for line in body.splitlines())
        body += "    return layer\nlayer = build()\n"
    script = TRAINING.replace("model =", body + "model =").replace("[tf.keras", "[layer, tf.keras")
    assert codes(script) == ["TF401"]


def test_a_summary_writer_writes_on_one_worker() -> None:
    script = TRAINING + 'writer = tf.summary.create_file_writer("logs")\n'
    text = convert(script, Options()).data.decode()
    assert 'create_file_writer(path_of_this_worker("logs"))' in text


TAPED = """\
import tensorflow as tf
@
optimizer = tf.keras.optimizers.SGD()
for x in tf.data.Dataset.from_tensor_slices(tf.zeros((8, 2))).batch(4):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x))
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
"""


def test_what_a_library_made_is_a_model_by_its_use() -> None:
    script = TAPED.replace("@", "from somewhere import build\nmodel = build(3)")
    assert "split_calls(model)(x)" in convert(script, Options()).data.decode()


def test_a_module_of_tensorflow_that_is_called_is_followed() -> None:
    module = (
        "class Line(tf.Module):\n    def __init__(self):\n        self.w = tf.Variable(5.0)\n"
        "    def __call__(self, x):\n        return self.w * x\n"
        "model = Line()"
    )
    assert codes(TAPED.replace("@", module)) == ["TF302"]


def test_a_step_of_a_model_that_the_script_calls_is_training() -> None:
    own = (
        "class Own(tf.keras.Sequential):\n    def train_step(self, data):\n"
        "        with tf.GradientTape() as tape:\n            loss = self.loss(self(data), data)\n"
        "        grads = tape.gradient(loss, self.trainable_variables)\n"
        "        self.optimizer.apply_gradients(zip(grads, self.trainable_variables))\n"
        "        return {}\n"
    )
    script = TRAINING.replace("tf.keras.Sequential(", "Own(").replace("\nmodel", own + "model", 1)
    text = script.rpartition("model.fit")[0] + "model.train_step(tf.zeros((8, 2)))\n"
    assert "split_fit(model).train_step(" in convert(text, Options()).data.decode()


@pytest.mark.parametrize(
    "line",
    ['os.environ["KERAS_BACKEND"] = "{}"\n', 'os.environ.setdefault("KERAS_BACKEND", "{}")\n'],
)
def test_another_backend_of_keras_is_refused(line: str) -> None:
    script = "import os\n@import jax, keras\n" + TRAINING
    assert codes(script.replace("@", line.format("jax"))) == ["TF412"]
    assert codes(script.replace("@", line.format("tensorflow"))) == []


def test_a_script_that_trains_with_its_second_framework_is_one_of_that() -> None:
    script = "import torch\n" + TRAINING
    assert "split_fit(model).fit(" in convert(script, Options()).data.decode()
    assert codes("import torch\nimport tensorflow as tf\nprint(tf.zeros(3))\n") == ["DT004"]


LAYERED = """\
import tensorflow as tf
from tensorflow import keras

inputs = keras.layers.Input((6,))
model = keras.Model(inputs, keras.layers.Dense(3)({layer}(inputs)))
model.compile("adam", "mse")
model.fit(tf.zeros((8, 6)), tf.zeros((8, 3)), batch_size=4)
"""


@pytest.mark.parametrize(
    ("layer", "code"),
    [
        ("keras.layers.Softmax(axis=0)", "TF402"),
        ("keras.layers.UnitNormalization(axis=(0, 1))", "TF402"),
        ("keras.layers.Dropout(0.5, noise_shape=(1, 8))", "TF402"),
        ("keras.layers.Dropout(0.5, (16, 1))", "TF402"),
        ("keras.layers.GRU(4, stateful=True)", "TF401"),
    ],
)
def test_layers_of_the_library_that_see_other_samples_are_refused(layer: str, code: str) -> None:
    assert codes(LAYERED.format(layer=layer)) == [code]


@pytest.mark.parametrize(
    "layer",
    [
        "keras.layers.Softmax()",
        "keras.layers.Softmax(axis=1)",
        "keras.layers.GRU(4)",
        "keras.layers.Dropout(0.5)",
        "keras.layers.Dropout(0.5, noise_shape=(None, 1))",
        "keras.layers.Dropout(0.5, noise_shape=None, seed=1)",
    ],
)
def test_layers_of_the_library_that_do_not_are_left_alone(layer: str) -> None:
    assert codes(LAYERED.format(layer=layer)) == []


LOOKED_UP = """\
import tensorflow as tf
from tensorflow import keras


class Encoder(keras.Model):
    def __init__(self):
        super().__init__()
        self.places = keras.layers.Embedding(6, 4)
        self.head = keras.layers.Dense(1)

    def call(self, inputs):
        places = tf.range(6)
        return self.head(inputs + self.places({indices}))


model = Encoder()
model.compile(keras.optimizers.Adam(0.01{clipping}), "mse")
model.fit(tf.zeros((8, 6, 4)), tf.zeros((8, 6, 1)), batch_size=4)
"""


@pytest.mark.parametrize(
    ("indices", "clipping", "expected"),
    [
        ("places", ", global_clipnorm=1.0", ["TF404"]),
        ("tf.range(6)", ", clipnorm=1.0", ["TF404"]),
        ("places", ", clipvalue=1.0", ["TF404"]),
        ("places", "", []),
        ("inputs", ", global_clipnorm=1.0", []),
    ],
)
def test_clipped_gradients_of_shared_rows(indices: str, clipping: str, expected: list[str]) -> None:
    script = LOOKED_UP.format(indices=indices, clipping=clipping)
    result = convert(script.encode())
    assert codes(script) == expected
    assert result.outcome is (Outcome.REFUSED if expected else Outcome.CONVERTED)


CUT_BY_HAND = LOOKED_UP[: LOOKED_UP.index("model.compile")].format(indices="places") + """\
optimizer = keras.optimizers.SGD(0.1)
for x, y in tf.data.Dataset.from_tensor_slices((tf.zeros((8, 6, 4)), tf.zeros((8, 6, 1)))).batch(4):
    with tf.GradientTape() as tape:
        outputs = {outputs}
        loss = tf.reduce_mean((outputs - y) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    gradients = [{gradient} for gradient in gradients]
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
"""


@pytest.mark.parametrize(
    ("outputs", "gradient", "expected"),
    [
        ("model(x)", "tf.clip_by_value(gradient, -1, 1)", ["TF404"]),
        ("model(x)", "tf.clip_by_norm(gradient, 1.0)", ["TF404"]),
        ("tf.clip_by_value(model(x), 0, 1)", "gradient", []),
    ],
)
def test_values_are_cut_of_gradients_or_of_others(
    outputs: str, gradient: str, expected: list[str]
) -> None:
    assert codes(CUT_BY_HAND.format(outputs=outputs, gradient=gradient)) == expected


def test_gradients_taken_twice_alone_leave_nothing_to_share() -> None:
    script = TAPED.replace("@", "model = tf.keras.Sequential([tf.keras.layers.Dense(1)])")
    script = script.replace(
        "        loss =",
        "        with tf.GradientTape() as inner:\n            inner.watch(x)\n"
        "            out = model(x)\n        again = inner.gradient(out, x)\n        loss =",
    )
    assert "TF302" not in codes(script)
    alone = script.replace("reduce_mean(model(x))", "reduce_mean(out + again)")
    found = convert(alone, Options()).findings
    assert any("nothing is left" in one.message for one in found if one.code == "TF302")
