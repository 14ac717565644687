"""What stands beside a trained model of Paddle: parameters, frozen models, closures."""

from __future__ import annotations

import pytest
from data_way import convert

SCRIPT = """\
import paddle
from paddle import nn
from paddle.io import DataLoader, TensorDataset


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 2)
        self.heat = self.create_parameter([1])

    def forward(self, x):
        return self.body(x){inside}


paddle.seed(1)
data = TensorDataset([paddle.randn([48, 4]), paddle.randint(0, 2, [48])])
loader = DataLoader(data, batch_size=12)
model = Net()
teacher = Net()
{before}
optimizer = paddle.optimizer.{optimizer}(0.1, parameters={parameters})
for epoch in range(2):
    for x, y in loader:
        loss = nn.functional.cross_entropy(model(x){outside}, y)
        {more}
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
"""


def script(**parts: str) -> bytes:
    """The script with some of its parts given."""
    plain = {
        "inside": "",
        "outside": "",
        "before": "",
        "more": "",
        "optimizer": "SGD",
        "parameters": "model.parameters()",
    }
    return SCRIPT.format_map({**plain, **parts}).encode()


def errors(data: bytes) -> set[str]:
    """The codes of what refuses a script."""
    result = convert(data, path="train.py")
    return {finding.code for finding in result.findings if finding.level.label == "error"}


LOOSE = "heat = paddle.create_parameter([1], 'float32')"


@pytest.mark.parametrize(
    "parameters", ["model.parameters() + [heat]", "[heat] + model.parameters()", "[heat]"]
)
@pytest.mark.parametrize("made", [LOOSE, "heat = paddle.to_tensor([1.0], stop_gradient=False)"])
def test_the_gradient_of_a_tensor_of_no_model_is_averaged_by_hand(
    parameters: str, made: str
) -> None:
    data = script(before=made, outside=" * heat", parameters=parameters)
    result = convert(data, path="train.py")
    assert result.findings == ()
    assert "        average_gradients(optimizer)\n        optimizer.step()" in result.text


@pytest.mark.parametrize("seeded", [True, False])
def test_what_no_wrap_broadcasts_begins_alike(seeded: bool) -> None:
    data = script(before=LOOSE, outside=" * heat", parameters="model.parameters() + [heat]")
    data = data.replace(b"data = TensorDataset([paddle.randn", b"data = TensorDataset([drawn")
    data = data.replace(b"paddle.randint(0, 2, [48])", b"drawn")
    data = data if seeded else data.replace(b"paddle.seed(1)\n", b"")
    result = convert(data.replace(b"data =", b"drawn = paddle.ones\ndata ="), path="train.py")
    assert ("    share_random_state()\n" in result.text) is not seeded


@pytest.mark.parametrize(
    ("before", "more", "parameters", "code"),
    [
        ("from elsewhere import heat", "", "model.parameters() + [heat()]", "PD306"),
        (LOOSE, "heat = paddle.create_parameter([1], 'float32'); optimizer = "
         "paddle.optimizer.SGD(0.1, parameters=[heat]); loss = loss * heat",
         "model.parameters()", "PD325"),
        (LOOSE, "loss.backward(); heat.set_value(heat - 0.1 * heat.grad)", "model.parameters()",
         "PD418"),
        (LOOSE, "loss.backward(); scaled = heat.grad * 2", "model.parameters() + [heat]",
         "PD325"),
    ],
)  # fmt: skip
def test_what_cannot_be_averaged_by_hand_is_refused(
    before: str, more: str, parameters: str, code: str
) -> None:
    data = script(before=before, outside=" * heat", more=more, parameters=parameters)
    assert code in errors(data)


def test_parameters_of_two_models_are_those_of_models() -> None:
    both = "model.parameters() + teacher.parameters()"
    assert errors(script(outside=" + teacher(x)", parameters=both)) == set()


@pytest.mark.parametrize(
    ("inside", "outside", "averaged"),
    [
        ("", " * model.heat", True),
        (" * self.heat", "", False),
        (" * self.heat", " * model.heat", False),
        ("", "", False),
    ],
)
def test_a_parameter_is_used_past_the_wrap(inside: str, outside: str, averaged: bool) -> None:
    data = script(inside=inside, outside=outside)
    assert errors(data) == set()
    assert ("average_gradients(" in convert(data, path="train.py").text) == averaged


@pytest.mark.parametrize("switch", ["stop_gradient = True", "trainable = False"])
def test_a_model_that_is_frozen_one_by_one_does_not_learn(switch: str) -> None:
    frozen = f"for p in teacher.parameters():\n    p.{switch}"
    hint = "loss = loss + nn.functional.mse_loss(model(x), teacher(x))"
    assert errors(script(before=frozen, more=hint)) == set()


CLOSURE = """\
def closure():
            optimizer.clear_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            return {given}
        loss = optimizer.step(closure)
        print(loss)
        continue"""


def test_a_closure_gives_the_loss_of_all_processes() -> None:
    data = script(optimizer="LBFGS", more=CLOSURE.format(given="loss"))
    result = convert(data, path="train.py")
    assert "            return reduce_mean(loss)\n" in result.text
    assert "print_once(loss)" in result.text


@pytest.mark.parametrize(
    ("setting", "told"), [("ignore_index=-1", True), ("ignore_index=1", False), ("axis=-1", False)]
)
def test_a_negative_target_is_left_out_by_some_versions_alone(setting: str, told: bool) -> None:
    more = f"loss = nn.functional.cross_entropy(model(x), y, {setting})"
    result = convert(script(more=more), path="train.py")
    assert result.outcome.value == "converted"
    assert ("weight_of_share" in result.text) == (setting == "ignore_index=1")
    assert ("PD403" in {finding.code for finding in result.findings}) == told


METHODS = """\
import paddle
from paddle.io import DataLoader, TensorDataset


class Coder(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.down, self.up = paddle.nn.Linear(4, 2), paddle.nn.Linear(2, 4)

    def loss(self, x):
        return paddle.nn.functional.mse_loss(self.up(self.down(x)), x)


model = Coder()
optimizer = paddle.optimizer.SGD(0.1, parameters=model.parameters())
for (x,) in DataLoader(TensorDataset([paddle.ones([48, 4])]), batch_size=12):
    model.loss(x).backward()
    optimizer.step()
    optimizer.clear_grad()
"""


@pytest.mark.parametrize("seed", ["paddle.seed(3)\n", ""])
def test_a_model_without_a_wrap_begins_alike(seed: str) -> None:
    text = convert(METHODS.replace("model =", f"{seed}model ="), path="train.py").text
    assert "average_gradients(optimizer)" in text and "DataParallel(" not in text
    assert ("    share_random_state()\n" in text) is (seed == "")
