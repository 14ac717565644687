"""Models whose parameters a loss is made of though nothing calls them."""

from __future__ import annotations

from pathlib import Path

import pytest

from transpile import Options, convert
from transpile.verify import Auditor
from transpile.verify.table import format_report

SCRIPT = """\
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.set_default_dtype(torch.float64)
torch.manual_seed(0)
x = torch.randn(64, 6)
y = x[:, :3].argmax(1)
loader = DataLoader(TensorDataset(x, y), batch_size=8)
{before}
model = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 4))
{made}
optimizer = torch.optim.SGD([*model.parameters(), *head.parameters()], lr=0.2)
for epoch in range(2):
    for a, b in loader:
        out = model(a)
        loss = {loss}
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    {after}
print(sum(p.sum().item() for p in head.parameters()))
torch.save(model.state_dict(), "model.pt")
"""
WEIGHED = """
class Weighed(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.zeros(()))

    def weigh(self, loss):
        return torch.exp(-self.scale) * loss + self.scale
"""
CASES = {
    "a weight of a layer": {
        "made": "head = nn.Linear(4, 3, bias=False)",
        "loss": "F.cross_entropy(F.linear(F.normalize(out), F.normalize(head.weight)), b)",
    },
    "a layer that is called in evaluation": {
        "made": "head = nn.Linear(4, 3, bias=False)",
        "loss": "F.cross_entropy(F.linear(out, head.weight), b)",
        "after": "with torch.no_grad():\n        print((head(model(x)).argmax(1) == y).sum())",
    },
    "an embedding of classes": {
        "made": "head = nn.Embedding(3, 4)",
        "loss": "F.cross_entropy(-torch.cdist(out, head.weight), b)",
    },
    "a dict of parameters": {
        "made": 'head = nn.ParameterDict({"a": nn.Parameter(torch.zeros(()))})',
        "loss": 'torch.exp(-head["a"]) * F.cross_entropy(out, b) + head["a"]',
    },
    "layers of a list, one by one": {
        "made": "head = nn.ModuleList([nn.Linear(4, 5), nn.Linear(5, 3)])",
        "loss": "F.cross_entropy(head[1](torch.relu(head[0](out))), b)",
    },
    "a whole of parts that are optimized apart": {
        "made": "head = nn.Linear(4, 3)\nwhole = nn.Sequential(model, head)",
        "loss": "F.cross_entropy(whole(a), b)",
    },
    "a class of the project within a layer": {
        "before": """
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 3)

    def forward(self, x):
        return torch.tanh(self.fc(x))
""",
        "made": "head = Block()\nwhole = nn.Sequential(head, nn.Tanh())",
        "loss": "F.cross_entropy(whole(out), b)",
    },
    "a method that weighs": {
        "before": WEIGHED,
        "made": "head = Weighed()",
        "loss": "head.weigh(F.cross_entropy(out, b))",
    },
}


@pytest.mark.parametrize("name", CASES)
def test_their_gradients_are_averaged(name: str, tmp_path: Path, auditor: Auditor) -> None:
    original, output = tmp_path / "train.py", tmp_path / "train_dist.py"
    original.write_text(SCRIPT.format(**{"before": "", "after": "pass", **CASES[name]}), "utf-8")
    result = convert(original.read_text("utf-8"))
    assert not result.findings
    assert "average_gradients(optimizer)" in result.text
    output.write_bytes(result.data)
    report = auditor.audit(
        original, output, world_sizes=(1, 2), tolerance=1e-9, printed_numbers=True
    )
    assert report.passed, format_report(report)


def test_a_part_of_a_trained_model_is_none_of_them() -> None:
    text = SCRIPT.format(
        before="",
        made="head = model[2]",
        loss="F.cross_entropy(F.linear(out, head.weight[:3]), b)",
        after="pass",
    )
    assert "average_gradients(optimizer)" not in convert(text).text


def test_batch_norm_in_them_is_told() -> None:
    text = SCRIPT.format(
        before="",
        made="head = nn.ModuleList([nn.BatchNorm1d(4), nn.Linear(4, 3)])",
        loss="F.cross_entropy(head[1](head[0](out)), b)",
        after="pass",
    )
    found = convert(text, Options(shard="data")).findings
    assert "PT314" in [one.code for one in found]
