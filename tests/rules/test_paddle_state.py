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


SETTING = [
    "net.weight.set_value(net.weight * (1 - {}))",
    "[p.scale_(1 - {}) for p in net.parameters()]",
    "[p.set_value(p * {}) for n, p in net.named_parameters()]",
    "paddle.assign(net.weight * {}, net.weight)",
]


@pytest.mark.parametrize("line", SETTING)
def test_parameters_that_a_share_sets_are_warned_of(line: str) -> None:
    step = SCRIPT.replace("        optimizer.clear_grad()", "        {line}")
    found = convert(step.format(line=line.format("loss.detach()")), Options(shard="data"))
    assert "PD725" in {finding.code for finding in found.findings}
    split = convert(step.format(line=line.format("loss.detach()")), Options(shard="calls"))
    assert "PD725" not in {finding.code for finding in split.findings}


@pytest.mark.parametrize("line", SETTING)
@pytest.mark.parametrize("number", ["float(loss)", "0.1", "epoch"])
def test_parameters_that_all_processes_set_alike_are_not(line: str, number: str) -> None:
    step = SCRIPT.replace("        optimizer.clear_grad()", "        {line}")
    found = convert(step.format(line=line.format(number)), Options(shard="data"))
    assert "PD725" not in {finding.code for finding in found.findings}


QUEUE = """\
import paddle
from paddle import nn
from paddle.io import DataLoader, TensorDataset


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(4, 4)
        self.register_buffer("queue", paddle.zeros([16, 4]))
        self.place = 0

    def forward(self, x):
        return self.encoder(x)

    def put(self, keys):
        self.queue[self.place : self.place + len(keys)] = keys
        self.place = (self.place + len(keys)) % 16


net = Net()
optimizer = paddle.optimizer.SGD(0.1, parameters=net.parameters())
for (x,) in DataLoader(TensorDataset([paddle.randn([64, 4])]), batch_size=8):
    loss = (paddle.matmul(net(x), net.queue.clone(), transpose_y=True) ** 2).mean()
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
    net.put(x)
"""


def test_what_a_loop_has_a_model_keep_is_told_and_exact_by_calls() -> None:
    told = convert(QUEUE, Options(shard="data")).findings
    assert any("'queue'" in one.message for one in told if one.code == "PD415")
    split = convert(QUEUE, Options(shard="calls"))
    assert split.outcome is Outcome.CONVERTED, split.findings
    called = QUEUE.replace("return self.encoder(x)", "self.put(x)\n        return self.encoder(x)")
    assert convert(called, Options(shard="calls")).outcome is Outcome.REFUSED
