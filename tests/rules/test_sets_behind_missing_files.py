"""Sets that one process looks through alone, where a file is made that is not there yet."""

from __future__ import annotations

from transpile import Outcome, convert

SCRIPT = """\
import json
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


def mapper(path):
    seen = {{line[0] for line in open(path)}}
    return {{word: place for place, word in enumerate(seen)}}


class Rows(Dataset):
    def __init__(self, path, cache="cache"):
        {before}
        if not Path(cache).exists():
            self.build(path, cache)
        self.rows = json.load(open(Path(cache) / "rows.json"))

    def build(self, path, cache):
        Path(cache).mkdir()
        words = {words}
        with open(path) as lines, open(Path(cache) / "rows.json", "w") as out:
            json.dump([words[line[0]] for line in lines], out)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, at):
        return torch.tensor(self.rows[at]), torch.tensor(at % 3)


torch.manual_seed(0)
loader = DataLoader(Rows("words.csv"), batch_size=8)
model = nn.Sequential(nn.Embedding(20, 6), nn.Linear(6, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in loader:
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
torch.save(model.state_dict(), "model.pt")
"""


def test_the_order_of_one_process_is_that_of_the_file() -> None:
    result = convert(SCRIPT.format(before="pass", words="mapper(path)"))
    assert result.outcome is Outcome.CONVERTED, result.findings
    assert "enumerate(seen)" in result.text


def test_what_all_processes_look_through_has_one_order() -> None:
    result = convert(SCRIPT.format(before="self.words = mapper(path)", words="self.words"))
    assert result.outcome is Outcome.CONVERTED, result.findings
    assert "enumerate(sorted(seen))" in result.text
