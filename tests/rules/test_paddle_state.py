"""What Paddle's training keeps of a batch, or asks of it, is that of one process's share."""

from __future__ import annotations

import pytest

from transpile import Options, Outcome, convert

SCRIPT = """\
import paddle
import paddle.nn.functional as F
from paddle import nn
from paddle.io import DataLoader, TensorDataset

x = paddle.randn([64, 4])
loader = DataLoader(TensorDataset([x, x.sum(1, keepdim=True)]), batch_size=16)
net = nn.Linear(4, 1)
kept = paddle.zeros([])
optimizer = paddle.optimizer.SGD(0.1, parameters=net.parameters())
for epoch in range(2):
    for data, target in loader:
        loss = F.mse_loss(net(data), target)
        {line}
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
paddle.save(net.state_dict(), "net.pdparams")
"""


def codes(line: str, way: str = "data") -> list[str]:
    found = convert(SCRIPT.format(line=line), Options(shard=way))  # type: ignore[arg-type]
    assert found.outcome is Outcome.CONVERTED, found.findings
    return [finding.code for finding in found.findings]


@pytest.mark.parametrize(
    "line",
    [
        "loss = loss + ((net(data) - kept) ** 2).mean(); kept.set_value(net(data).mean() * 0.1)",
        "loss = loss + ((net(data) - kept) ** 2).mean(); paddle.assign(net(data).mean(), kept)",
    ],
)
def test_what_is_assigned_is_followed(line: str) -> None:
    assert "PD403" in codes(line)


@pytest.mark.parametrize(
    "line",
    [
        "loss = loss * 2 if loss > 1.0 else loss",
        "optimizer.set_lr(0.05 if loss < 0.5 else 0.1)",
        "if loss < 0.5: optimizer.set_lr(0.05)",
    ],
)
def test_a_condition_on_a_share_is_warned_of_and_not_where_calls_are_split(line: str) -> None:
    assert "PD724" in codes(line)
    assert "PD724" not in codes(line, "calls")


@pytest.mark.parametrize(
    "line", ["loss = loss * (2 if epoch else 1)", "if loss > 1.0: print(loss)"]
)
def test_other_conditions_are_left_alone(line: str) -> None:
    assert "PD724" not in codes(line)


LAYERED = SCRIPT.replace(
    "net = nn.Linear(4, 1)\n",
    """
class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.block, self.out = nn.Linear(4, 4), nn.Linear(4, 1)

    def forward(self, x):
        return self.out({block})


net = Net()
""",
).replace(
    "import paddle\n", "import paddle\nfrom paddle.distributed.fleet.utils import recompute\n", 1
)


@pytest.mark.parametrize("way", ["data", "auto"])
def test_recomputed_activations_have_no_wrap(way: str) -> None:
    options = Options(shard=way)  # type: ignore[arg-type]
    plain = convert(LAYERED.format(block="self.block(x)", line="pass"), options)
    assert "DataParallel(" in plain.text
    again = convert(LAYERED.format(block="recompute(self.block, x)", line="pass"), options)
    assert again.outcome is Outcome.CONVERTED
    assert "DataParallel(" not in again.text
    assert "average_gradients(" in again.text
