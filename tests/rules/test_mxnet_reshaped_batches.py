"""MXNet batches that are reshaped to as many rows as the batch of the script has samples."""

from __future__ import annotations

import pytest
from data_way import convert
from mxnet_scripts import HEAD, LOADER, TRAINER, codes

from transpile import Options, Outcome

TRAINING = """\
def train(net, size):
    for data, label in loader:
        @
        with autograd.record():
            loss = loss_fn(net(data), label)
        loss.backward()
        trainer.step(size)


train(net, batch_size)
"""
NET = """\
class Net(gluon.HybridBlock):
    def __init__(self, size=8):
        super().__init__()
        self.size = size
        self.dense = gluon.nn.Dense(1)

    def hybrid_forward(self, F, x):
        x = @
        return self.dense(x)


net = Net()
net.initialize()
"""
MODEL = HEAD + LOADER + NET + TRAINER + TRAINING.replace("@", "pass")


def trained(line: str) -> str:
    """A script that does something with each batch."""
    return HEAD + LOADER + TRAINER + TRAINING.replace("@", line)


@pytest.mark.parametrize(
    ("line", "size"),
    [
        ("data = data.reshape((@, -1))", "batch_size"),
        ("data = data.reshape(@, 4)", "size"),
        ("data = data.reshape(shape=(@, 4))", "8"),
        ("data = mx.nd.reshape(data, shape=(@, -1))", "size"),
        ("data = mx.nd.reshape(data, (@, 4))", "8"),
        ("data = mx.nd.transpose(data.reshape((-1, @, 4)), axes=(1, 0, 2))", "batch_size"),
        ("data = mx.nd.transpose(mx.nd.reshape(data, (-1, @, 4)), axes=(1, 0, 2))", "size"),
    ],
)
def test_the_size_is_that_of_the_share(line: str, size: str) -> None:
    result = convert(trained(line.replace("@", size)))
    assert line.replace("@", f"split_batch({size})") in result.text
    assert not result.findings and "trainer.step(size)" in result.text


@pytest.mark.parametrize(
    ("view", "size"),
    [("x.reshape((@, -1))", "batch_size"), ("F.reshape(x, shape=(@, -1))", "self.size")],
)
def test_models_take_the_share(view: str, size: str) -> None:
    script = MODEL.replace("= @", f"= {view.replace('@', size)}")
    script = script.replace("net = Net()", "net = Net(batch_size)")
    result = convert(script)
    assert view.replace("@", f"split_batch({size})") in result.text and not result.findings


@pytest.mark.parametrize(
    "more",
    [
        "net(mx.nd.array(x[:8])).mean()\n",
        "test = gluon.data.DataLoader(gluon.data.ArrayDataset(x, y), batch_size=8)\n"
        "for data, _ in test:\n    print(net(data).mean().asscalar())\n",
    ],
)
def test_models_that_whole_batches_go_through_are_refused(more: str) -> None:
    result = convert(MODEL.replace("= @", "= x.reshape((batch_size, -1))") + more)
    assert result.outcome is Outcome.REFUSED and "MX214" in codes(result)


def test_models_that_use_the_size_elsewhere_are_refused() -> None:
    script = MODEL.replace("= @", "= x.reshape((self.size, -1)) * self.size")
    result = convert(script.replace("net = Net()", "net = Net(batch_size)"))
    assert result.outcome is Outcome.REFUSED and "MX214" in codes(result)


def test_a_shape_that_is_made_elsewhere_is_refused() -> None:
    result = convert(trained("shape = (size, -1); data = data.reshape(shape)"))
    assert result.outcome is Outcome.REFUSED and "MX214" in codes(result)


def test_pairs_of_samples_are_told_for_what_they_are() -> None:
    result = convert(trained("data = mx.nd.concat(data, data, dim=0).reshape((8, -1))"))
    told = next(each for each in result.findings if each.code == "MX314")
    assert "'reshape' puts samples that stand beside each other into one row" in told.message


def test_parameters_keep_their_shape() -> None:
    result = convert(trained("data = data * mx.nd.ones((32,)).reshape((8, 4)).mean()"))
    assert "reshape((8, 4))" in result.text


ONE_BY_ONE = """\
for data, label in loader:
    loss = 0
    with autograd.record():
        for step in range(@):
            loss = loss + loss_fn(net(data[step].reshape((1, 4))), label[step].reshape((1,)))
    loss.backward()
    trainer.step(1)
"""


def test_rows_of_a_whole_batch_that_are_taken_as_steps_are_refused() -> None:
    for size in ("batch_size", "8"):
        result = convert(HEAD + LOADER + TRAINER + ONE_BY_ONE.replace("@", size))
        assert result.outcome is Outcome.REFUSED and "MX314" in codes(result)
        each = convert(
            HEAD + LOADER + TRAINER + ONE_BY_ONE.replace("@", size),
            Options(batch_size="per-device"),
        )
        assert each.outcome is not Outcome.REFUSED
    result = convert(HEAD + LOADER + TRAINER + ONE_BY_ONE.replace("@", "len(data)"))
    told = next(each for each in result.findings if each.code == "MX314")
    assert "handles the samples of a batch one by one" in told.message
