"""One wrap serves all models that may stand in a place: chosen, or exchanged by a library."""

from __future__ import annotations

import pytest

from transpile import Options, convert

CHOSEN = """
import argparse, torch, torch.nn as nn, somewhere
from torch.utils.data import DataLoader, TensorDataset


class Centred(nn.Linear):
    def forward(self, x):
        return super().forward(x - x.mean(0))


args = argparse.ArgumentParser().parse_args()
data = TensorDataset(torch.randn(32, 4), torch.randint(0, 2, (32,)))
model = nn.Linear(4, 2)
if args.other:
    model = OTHER
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in DataLoader(data, batch_size=8):
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
"""


@pytest.mark.parametrize("other", ["somewhere.converted(model)", "somewhere.Net()"])
def test_a_model_that_may_be_exchanged_is_checked_whichever_it_is(other: str) -> None:
    result = convert(CHOSEN.replace("OTHER", other), path="train.py")
    assert "CheckedSplitCalls(model, outputs=None)" in result.text


def test_calls_are_not_split_where_one_of_the_models_couples_samples() -> None:
    source = CHOSEN.replace("OTHER", "Centred(4, 2)")
    result = convert(source, Options(shard="calls"), path="train.py")
    assert "PT353" in {finding.code for finding in result.findings}
    assert "model = DistributedDataParallel(model)\n" in result.text
    assert "split_batch" not in result.text
