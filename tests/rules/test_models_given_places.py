"""Models that are given rows which a cursor of the script takes beside the batches."""

from __future__ import annotations

import pytest

from transpile import Options, convert

PADDLE = """\
import paddle
from paddle import nn
from paddle.io import DataLoader, TensorDataset

x, bank = paddle.randn([32, 4]), paddle.randn([32, 4])
model = nn.Linear(4, 1)
optimizer = paddle.optimizer.SGD(0.1, parameters=model.parameters())


def penalty(rows):
    return model(rows).pow(2).mean()


class Cursor:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, n):
        found = self.data[self.at : self.at + n]
        self.at = (self.at + n) % len(self.data)
        return found


cursor = Cursor(bank)
at = 0
for a, b in DataLoader(TensorDataset([x, x[:, :1]]), batch_size=8):
    n = len(a)
    loss = nn.functional.mse_loss(model(a), b) + {more}
    at += n
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
print(float(model.weight.sum()))
"""
TORCH = (
    PADDLE.replace("paddle.randn([32, 4])", "torch.randn(32, 4)")
    .replace("TensorDataset([x, x[:, :1]])", "TensorDataset(x, x[:, :1])")
    .replace("paddle.optimizer.SGD(0.1, parameters=model.parameters())",
             "torch.optim.SGD(model.parameters(), lr=0.1)")
    .replace("paddle.io", "torch.utils.data")
    .replace("clear_grad", "zero_grad")
    .replace("paddle", "torch")
)  # fmt: skip


@pytest.mark.parametrize("script", [PADDLE, TORCH], ids=["paddle", "pytorch"])
@pytest.mark.parametrize(
    "more",
    [
        "model(bank[at : at + n]).pow(2).mean()",
        "penalty(bank[at : at + n])",
        "penalty(cursor.take(n))",
        "penalty(bank[at : at + len(b)])",
    ],
)
def test_they_are_told_and_exact_by_calls(script: str, more: str) -> None:
    text = script.format(more=more)
    codes = [one.code[2:] for one in convert(text, Options(shard="data")).findings]
    assert "403" in codes or "239" in codes
    codes = [one.code[2:] for one in convert(text, Options()).findings]
    assert set(codes) <= {"015", "354"}


@pytest.mark.parametrize("script", [PADDLE, TORCH], ids=["paddle", "pytorch"])
@pytest.mark.parametrize("more", ["penalty(bank)", "penalty(a + 1)", "penalty(bank[:8])"])
def test_rows_of_the_batch_and_rows_that_all_have_are_not(script: str, more: str) -> None:
    assert not convert(script.format(more=more), Options(shard="data")).findings
