"""No round of averaging is left out where gradients are looked at before the optimizer steps."""

from __future__ import annotations

import pytest
from data_way import convert

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
