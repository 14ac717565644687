"""Paddle's DataParallel is told of parameters that some steps leave out, or done without."""

from __future__ import annotations

import pytest

from transpile import Options, Result, convert

SCRIPT = """\
import paddle
import paddle.nn as nn


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.out = nn.Linear(4, 6), nn.Linear(6, 6), nn.Linear(6, 1)
        self.heads = nn.LayerDict({{"one": nn.Linear(6, 1), "two": nn.Linear(6, 1)}})
        self.step = 0

    def forward(self, x, task="one"):
        h = paddle.tanh(self.a(x))
        {forward}


paddle.seed(0)
loader = paddle.io.DataLoader(paddle.io.TensorDataset([paddle.ones([32, 4])]), batch_size=8)
net = Net()
opt = paddle.optimizer.SGD(0.1, parameters=net.parameters())
for epoch in range(2):
    {before}
    for step, (x,) in enumerate(loader):
        {loss}
        loss.backward()
        opt.step()
        opt.clear_grad()
"""
ALL = "return self.out(self.b(h)) + sum(head(h) for head in self.heads.values())"
WRAP, TOLD, BY_HAND = "wrapped", "wrapped and told", "averaged by hand"


def trained(forward: str = ALL, loss: str = "loss = net(x).mean()", before: str = "pass") -> Result:
    """What becomes of the script with a forward pass and a loss."""
    text = SCRIPT.format(
        forward=forward.replace("\n", "\n        "),
        loss=loss.replace("\n", "\n        "),
        before=before.replace("\n", "\n    "),
    )
    return convert(text, Options(shard="data"), path="train.py")


def way_of(result: Result) -> str:
    """How the gradients are averaged."""
    if "average_gradients(opt)" in result.text:
        assert "DataParallel(net" not in result.text
        return BY_HAND
    return TOLD if "(net, find_unused_parameters=True)" in result.text else WRAP


@pytest.mark.parametrize(
    ("forward", "way"),
    [
        (ALL, WRAP),
        ("if self.step % 2:\n    h = self.b(h)\nself.step += 1\n" + ALL[:21] + "h)", TOLD),
        ("h = self.out(self.b(h))\nif h.mean() > 0:\n    return h\nreturn h * 2", TOLD),
        ("return self.heads[task](self.b(h)) + self.out(h)", TOLD),
    ],
)
def test_layers_that_steps_leave_out_are_told(forward: str, way: str) -> None:
    assert way_of(trained(forward)) == way


def test_a_layer_by_the_task_of_a_step_is_told() -> None:
    loss = 'task = "one" if step % 2 else "two"\nloss = net(x, task).mean()'
    assert way_of(trained("return self.heads[task](self.out(self.b(h)))", loss)) == TOLD


@pytest.mark.parametrize("model", ["net.a", "net"])
def test_what_is_frozen_while_training_is_told(model: str) -> None:
    before = f"if epoch == 1:\n    for p in {model}.parameters():\n        p.stop_gradient = True"
    if model == "net":
        # All of them together: no backward pass is left that the wrap could wait for.
        assert way_of(trained(before=before)) == WRAP
    else:
        assert way_of(trained(before=before)) == TOLD


def test_a_part_of_a_sequential_that_is_frozen_is_told() -> None:
    text = """\
import paddle
import paddle.nn as nn

paddle.seed(0)
loader = paddle.io.DataLoader(paddle.io.TensorDataset([paddle.ones([32, 4])]), batch_size=8)
body, head = nn.Linear(4, 3), nn.Linear(3, 1)
net = nn.Sequential(body, nn.Tanh(), head)
opt = paddle.optimizer.SGD(0.1, parameters=net.parameters())
for epoch in range(3):
    if epoch == 1:
        for p in body.parameters():
            p.stop_gradient = True
    for (x,) in loader:
        loss = net(x).mean()
        loss.backward()
        opt.step()
        opt.clear_grad()
"""
    assert way_of(convert(text, Options(shard="data"), path="train.py")) == TOLD


TWO = "return self.out(h) + self.heads['one'](h) + self.heads['two'](h), self.b(h)"


@pytest.mark.parametrize(
    ("loss", "way"),
    [
        ("out, aux = net(x)\nloss = out.mean() + aux.mean()", WRAP),
        ("out, aux = net(x)\nloss = out.mean()", BY_HAND),
        (
            "out, aux = net(x)\nloss = out.mean()\nif step < 2:\n    loss = loss + aux.mean()",
            BY_HAND,
        ),
    ],
)
def test_outputs_that_a_loss_does_without_are_averaged_by_hand(loss: str, way: str) -> None:
    assert way_of(trained(TWO, loss)) == way


@pytest.mark.parametrize(
    "forward",
    [
        "h = self.out(self.b(h)) if self.step % 2 else self.a(x)\nreturn self.heads[task](h)",
        "return self.heads[task](self.out(self.b(h)))",
    ],
)
def test_several_calls_that_use_different_layers_are_averaged_by_hand(forward: str) -> None:
    loss = "loss = net(x, 'one').mean()\nloss = loss + net(x, 'two').mean()"
    assert way_of(trained(forward, loss)) == BY_HAND


def test_several_calls_of_all_layers_are_wrapped() -> None:
    assert way_of(trained(loss="loss = net(x).mean() + net(x + 1).mean()")) == WRAP


def test_what_can_neither_be_wrapped_nor_averaged_is_refused() -> None:
    loss = "out, aux = net(x)\nloss = out.mean()\nprint(net.a.weight.grad)"
    found = trained(TWO, loss)
    (refusal,) = [each for each in found.findings if each.code == "PD302"]
    assert "do without some outputs of its calls" in refusal.message
