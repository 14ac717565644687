"""Which Paddle scripts have the calls of their models split, and which are refused."""

from __future__ import annotations

import pytest

from transpile import Options, Outcome, Result, convert

SCRIPT = """\
import numpy as np
import paddle
import paddle.nn.functional as F
from paddle import nn


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 4)
        self.total = 0

    def forward(self, x):
        {inside}
        return self.body(x)


def rows(count):
    for _ in range(count):
        yield np.random.randn(8, 4).astype("float32")


model = Net()
optimizer = paddle.optimizer.SGD(0.1, parameters=model.parameters())
{first}
for x in rows(9):
    x = paddle.to_tensor(x)
    out = model(x)
    loss = {loss}
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
"""


def result(
    inside: str = "pass",
    first: str = "pass",
    loss: str = "(out**2).mean()",
    options: Options | None = None,
) -> Result:
    script = SCRIPT.format(inside=inside, first=first, loss=loss)
    return convert(script, options)


def codes(found: Result) -> set[str]:
    return {finding.code for finding in found.findings}


@pytest.mark.parametrize(
    "loss",
    [
        "F.cross_entropy(out @ out.t(), paddle.arange(8))",
        "(out * (out > 0)).sum() / (out > 0).sum()",
        "paddle.topk((out**2).flatten(), 3)[0].mean()",
        "(out**2).mean() + (model.body.weight**2).sum()",
    ],
)
def test_batches_of_a_generator_have_the_calls_on_them_split(loss: str) -> None:
    found = result(loss=loss)
    assert found.outcome is Outcome.CONVERTED
    assert {"DT015", "PD354"} <= codes(found)
    assert "    model = SplitCalls(model)\n" in found.text
    assert "take_random_states()\n" in found.text
    assert f"loss = {loss}\n".replace("model.", "unwrap(model).") in found.text


def test_batches_that_a_generator_collects_are_drawn() -> None:
    script = SCRIPT.format(inside="pass", first="pass", loss="out.mean()").replace(
        """    for _ in range(count):
        yield np.random.randn(8, 4).astype("float32")
""",
        """    kept = []
    for i in range(count):
        kept.append([float(i)] * 4)
        if len(kept) == 3:
            yield np.array(kept)
            kept = []
""",
    )
    assert convert(script).outcome is Outcome.CONVERTED


def test_random_numbers_that_are_seeded_are_left_to_the_script() -> None:
    seeds = "paddle.seed(1)\nnp.random.seed(1)"
    script = SCRIPT.format(inside="pass", first="pass", loss="out.mean()")
    seeded = script.replace("model = Net()", f"{seeds}\nmodel = Net()")
    assert "take_random_states" not in convert(seeded, Options()).text


@pytest.mark.parametrize(
    "inside",
    [
        "self.total = self.total + x.mean()",
        "self.body.weight.set_value(self.body.weight * 0.9)",
        "x = x - x.mean(0) if self.training else x",
    ],
)
def test_a_model_whose_first_batch_would_not_show_what_it_does_is_refused(inside: str) -> None:
    found = result(inside)
    assert found.outcome is Outcome.REFUSED
    assert "PD203" in codes(found)
    forced = result(inside, options=Options(shard="calls"))
    assert "PD352" in codes(forced) and forced.outcome is Outcome.REFUSED


def test_a_parameter_that_a_loss_uses_beside_the_calls_is_told() -> None:
    """Paddle's wrap stops where it finds it ready before the call that it waits for."""
    made = "        self.total = 0\n"
    scale = "        self.scale = self.create_parameter([1])\n"
    text = SCRIPT.format(inside="pass", first="pass", loss="(model.scale * out).std()")
    assert made in text
    found = convert(text.replace(made, made + scale), Options(shard="calls"))
    (refused,) = [one for one in found.findings if one.code == "PD352"]
    assert "beside its calls" in refused.message
    assert "PD352" not in codes(result(loss="out.std()", options=Options(shard="calls")))


def test_dropout_may_be_told_of_the_mode() -> None:
    found = result("x = F.dropout(x, 0.5, training=self.training)")
    assert found.outcome is Outcome.CONVERTED


def test_a_hook_sees_the_rows_of_one_process() -> None:
    found = result(first="model.body.register_forward_post_hook(lambda layer, x, y: print(y))")
    assert found.outcome is Outcome.REFUSED


def test_rows_that_are_the_same_in_every_step_are_split_on_request_alone() -> None:
    same = SCRIPT.format(inside="pass", first="pass", loss="out.mean()").replace(
        "for x in rows(9):", "data = np.ones((8, 4))\nfor _ in range(9):\n    x = data"
    )
    assert convert(same, Options()).outcome is Outcome.REFUSED
    asked = convert(same, Options(shard="calls"))
    assert asked.outcome is Outcome.CONVERTED and "SplitCalls(model)" in asked.text


def test_what_does_not_go_with_split_calls_is_refused() -> None:
    fleet = Options(shard="calls", paddle_api="fleet")
    for options in (fleet, Options(shard="data"), Options(batches="broadcast")):
        found = result(options=options)
        assert found.outcome is Outcome.REFUSED


def test_a_converted_script_is_left_as_it_is() -> None:
    text = result().text
    again = convert(text, Options())
    assert again.text == text
    unguarded = convert(text, Options(respect_distributed=False, shard="calls"))
    assert unguarded.text == text and unguarded.outcome is Outcome.UNCHANGED


MADE_FOR_BATCHES = """\
import paddle
import paddle.nn as nn

paddle.seed(0)
B = 8


class Net(nn.Layer):
    def __init__(self, batch):
        super().__init__()
        self.batch = batch
        self.cell, self.out = nn.{cell}(3, 5), nn.Linear(5, 1)

    def forward(self, x):
        h = {state}
        for t in range(x.shape[1]):
            o, h = self.cell(x[:, t], h)
        return self.out(o)


net = Net(B)
opt = paddle.optimizer.SGD(0.1, parameters=net.parameters())
data = paddle.io.TensorDataset([paddle.ones([32, 4, 3])])
for (x,) in paddle.io.DataLoader(data, batch_size=B):
    loss = net(x).mean()
    loss.backward()
    opt.step()
    opt.clear_grad()
"""
STATE = "paddle.zeros([self.batch, 5])"


def test_a_model_that_is_made_for_one_batch_size_is_not_split() -> None:
    text = MADE_FOR_BATCHES.format(cell="GRUCell", state=STATE)
    found = convert(text, Options(shard="calls"), path="train.py").findings
    (refusal,) = [each for each in found if each.code == "PD352"]
    assert "made for one batch size" in refusal.message
    by_input = text.replace("self.batch, 5", "x.shape[0], 5")
    found = convert(by_input, Options(shard="calls"), path="train.py").findings
    assert not any(each.code == "PD352" for each in found)


@pytest.mark.parametrize("cell", ["GRUCell", "SimpleRNNCell", "LSTMCell"])
def test_what_cells_give_is_known(cell: str) -> None:
    state = f"({STATE}, {STATE})" if cell == "LSTMCell" else STATE
    text = MADE_FOR_BATCHES.format(cell=cell, state=state)
    result = convert(text, Options(shard="auto"), path="train.py")
    assert not result.findings
    assert "paddle.zeros([split_batch(self.batch), 5])" in result.text


@pytest.mark.parametrize(
    ("inside", "why"),
    [
        (
            "return paddle.distribution.Categorical(self.body(x)), x",
            "an object that is no tensor",
        ),
        ("return F.mse_loss(self.body(x), x), x", "a loss over the whole batch"),
    ],
)
def test_outputs_without_rows_are_refused(inside: str, why: str) -> None:
    found = result(inside=inside, loss="out[0].mean() if hasattr(out[0], 'mean') else out[1]")
    assert found.outcome is Outcome.REFUSED
    assert any(why in finding.message for finding in found.findings), found.findings


def test_a_mean_that_a_model_gives_back_is_trained_on_shares_of_the_data() -> None:
    script = SCRIPT.format(
        inside="return F.mse_loss(self.body(x), x), 0", first="pass", loss="out[0]"
    )
    loader = "paddle.io.DataLoader(paddle.io.TensorDataset([paddle.ones([32, 4])]), batch_size=8)"
    script = script.replace(
        "in rows(9):\n    x = paddle.to_tensor(x)\n", f"in {loader}:\n    x = x[0]\n"
    )
    script += "    if float(paddle.max(x)) > 1:\n        optimizer.set_lr(0.01)\n"
    found = convert(script)
    assert found.outcome is Outcome.CONVERTED
    assert "DT016" in codes(found) and "SplitCalls" not in found.text


ACTS = """\
def act(self, x):
        {gradients}:
            return self.body(x).numpy()
"""


@pytest.mark.parametrize(
    ("gradients", "outcome"),
    [("with paddle.no_grad()", Outcome.CONVERTED), ("if True", Outcome.REFUSED)],
)
def test_a_method_that_only_acts_is_no_way_past_the_wrap(gradients: str, outcome: Outcome) -> None:
    script = SCRIPT.format(inside="pass", first="kept = np.ones((8, 4))", loss="(out**2).mean()")
    script = script.replace("def forward", ACTS.format(gradients=gradients) + "\n    def forward")
    script = script.replace("paddle.to_tensor(x)\n", "paddle.to_tensor(model.act(x + kept))\n", 1)
    found = convert(script)
    assert found.outcome is outcome, found.findings


@pytest.mark.parametrize(
    ("inside", "outcome"),
    [
        ("pass", Outcome.CONVERTED),
        ("self.held.count()", Outcome.REFUSED),
        ("Held()", Outcome.REFUSED),
    ],
)
def test_methods_of_what_a_model_merely_holds_are_none_of_its_passes(
    inside: str, outcome: Outcome
) -> None:
    held = "class Held:\n    def __init__(self):\n        self.count()\n\n"
    held += "    def count(self):\n        self.seen = 1\n\n\n"
    script = SCRIPT.format(inside=inside, first="pass", loss="(out**2).mean()")
    script = script.replace("class Net", held + "class Net")
    script = script.replace("self.total = 0", "self.held = Held()")
    found = convert(script)
    assert found.outcome is outcome, found.findings


def test_a_summary_is_computed_by_every_process_and_printed_once() -> None:
    found = result(first="paddle.summary(model, (2, 4))\nprint(paddle.flops(model, [2, 4]))")
    assert "\nreport_once(paddle.summary)(" in found.text
    assert "\nprint_once(report_once(paddle.flops)(" in found.text
    again = convert(found.text)
    assert again.outcome is Outcome.UNCHANGED


def test_a_summary_that_is_sent_elsewhere_is_left_alone() -> None:
    script = SCRIPT.format(inside="pass", first="import contextlib, io", loss="(out**2).mean()")
    script += (
        "with contextlib.redirect_stdout(io.StringIO()) as text:\n"
        "    paddle.summary(model, (2, 4))\n"
    )
    assert "report_once" not in convert(script).text
