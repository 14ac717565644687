"""No round of averaging is left out where gradients are looked at before the optimizer steps."""

from __future__ import annotations

import pytest
from data_way import convert

from transpile import Outcome

SCRIPT = """\
import paddle
from paddle import nn
from paddle.io import DataLoader, TensorDataset


def largest(model):
    return max(float(p.grad.abs().max()) for p in model.parameters())


net = nn.Linear(4, 1)
optimizer = paddle.optimizer.SGD(0.1, parameters=net.parameters())
sizes = []
for k, (x,) in enumerate(DataLoader(TensorDataset([paddle.randn([64, 4])]), batch_size=8)):
    loss = (net(x) ** 2).mean() / 2
    loss.backward()
    {line}
    if k % 2:
        {inside}
        optimizer.step()
        optimizer.clear_grad()
"""


def written(line: str = "pass", inside: str = "pass") -> str:
    return convert(SCRIPT.format(line=line, inside=inside)).text


@pytest.mark.parametrize(
    "line",
    [
        "sizes.append(max(float(p.grad.abs().max()) for p in net.parameters()))",
        "sizes.append(net.weight.gradient().max())",
        "nn.utils.clip_grad_norm_(net.parameters(), 0.1)",
        "sizes.append(largest(net))",
        "if net.weight.grad.abs().max() > 9: optimizer.clear_grad()",
    ],
)
def test_every_micro_step_averages(line: str) -> None:
    assert "gradients_synchronised(" not in written(line)


@pytest.mark.parametrize(
    "inside", ["nn.utils.clip_grad_norm_(net.parameters(), 0.1)", "sizes.append(largest(net))"]
)
def test_only_the_last_does_where_the_step_alone_looks(inside: str) -> None:
    assert "with gradients_synchronised(net, k % 2):" in written(inside=inside)


@pytest.mark.parametrize("read", ["net[0].weight.grad", "net[0].weight.gradient()"])
def test_gradients_that_no_wrap_averages_are_not_read_before_they_are(read: str) -> None:
    by_hand = (
        SCRIPT.replace("net(x)", "net[1](net[0](x))")
        .replace("net = nn.Linear(4, 1)", "net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))")
        .replace("if k % 2", "if True")
    )
    plain = convert(by_hand.format(line="pass", inside="pass").replace("p.grad", "p"))
    assert "average_gradients(optimizer)\n        optimizer.step()" in plain.text
    line = f"sizes.append({read}.max())"
    told = convert(by_hand.format(line=line, inside="pass").replace("p.grad", "p"))
    assert told.outcome is Outcome.REFUSED
