"""Losses that look across samples in ways that a share of a batch does not show."""

from __future__ import annotations

import pytest

from transpile import Options, convert

SCRIPT = """\
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
loader = DataLoader(TensorDataset(torch.randn(48, 4), torch.randn(48, 1)), batch_size=12)
model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for a, b in loader:
    out = model(a)
    loss = {loss}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def codes(loss: str, shard: str) -> set[str]:
    """What is found where batches, or whatever is right, are sharded."""
    result = convert(SCRIPT.format(loss=loss), Options(shard=shard))  # type: ignore[arg-type]
    return {finding.code for finding in result.findings}


@pytest.mark.parametrize(
    "loss",
    [
        # Weights by where a sample stands.
        "((out - b) ** 2 * torch.arange(1, len(a) + 1)[:, None]).mean()",
        "((out - b) ** 2 * torch.arange(len(a), 0, -1)[:, None]).mean()",
        "((out - b) ** 2 * torch.tensor([k / len(a) for k in range(len(a))])[:, None]).mean()",
        "((out - b) ** 2 * torch.tensor(list(range(a.size(0))))[:, None]).mean()",
        # Pieces of a batch, of which a share has others.
        "sum(F.mse_loss(o, t) for o, t in zip(out.chunk(3), b.chunk(3))) / 3",
        "sum(F.mse_loss(o, t) for o, t in zip(out.split(4), b.split(4))) / 3",
        "out.select(0, 3).pow(2).mean()",
        "out.narrow(0, 0, 4).pow(2).mean()",
        "out.index_select(0, torch.tensor([0, 1])).pow(2).mean()",
        "out.gather(0, torch.zeros(1, 3).long()).pow(2).mean()",
        # Neighbours in one row.
        "out.reshape(-1, 2).max(1).values.mean()",
        "out.view(2, -1).mean(1).pow(2).sum()",
        # The last dimension is that of the samples.
        "out.flatten().softmax(-1).pow(2).sum()",
        "out.mean(1).log_softmax(-1).pow(2).sum()",
        "-(F.softmax(b.squeeze(-1), -1) * F.log_softmax(out[:, 0], dim=-1)).sum()",
        "out.T.softmax(-1).pow(2).mean()",
        "F.avg_pool1d(out.T, 2).pow(2).mean()",
        "F.batch_norm(out, None, None, training=True).pow(3).mean()",
        "torch.fft.rfft(out, dim=0).abs().mean()",
    ],
)
def test_what_looks_across_samples_is_not_taken_for_a_mean(loss: str) -> None:
    assert codes(loss, "data") & {"PT403", "PT404"}
    assert codes(loss, "auto") == {"DT015"}


@pytest.mark.parametrize(
    "loss",
    [
        "F.pairwise_distance(out, b).mean()",
        "out.softmax(-1).pow(2).mean()",
        "out.flatten(1).softmax(-1).pow(2).mean()",
        "out.view(len(a), -1).softmax(-1).pow(2).mean()",
        "out.reshape(-1, 3).softmax(-1).pow(2).mean()",
        "out.unsqueeze(-1).softmax(-1).mean()",
        "out[:, :, None].softmax(-1).mean()",
        "out[:, 0:2].softmax(-1).pow(2).mean()",
        "out.gather(1, torch.zeros(len(a), 1).long()).squeeze(-1).pow(2).mean()",
        "out.gather(1, torch.zeros(len(a), 1).long()).pow(2).sum(-1).mean()",
        "F.avg_pool1d(out[:, None], 3).pow(2).mean()",
        "out.squeeze(-1).pow(2).mean(-1).mean()",
        "out[torch.arange(len(a)), b[:, 0].long()].mean()",
        "sum(o.pow(2).mean() for o in out.chunk(3, dim=1)) / 3",
        "sum(F.mse_loss(o, b) for o in torch.cat([out, out]).chunk(2)) / 2",
    ],
)
def test_what_keeps_samples_apart_is(loss: str) -> None:
    assert codes(loss, "auto") == set()
