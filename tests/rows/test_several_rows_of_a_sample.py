"""Models whose outputs have several rows of each sample, such as one for each place of a text."""

from __future__ import annotations

from pathlib import Path

import pytest

from transpile import Options, Outcome, convert
from transpile.verify import Auditor
from transpile.verify.table import format_report

SCRIPT = """\
import numpy as np
import torch
from torch import nn

torch.set_default_dtype(torch.float64)
torch.manual_seed(0)


class Letters(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(12, 6)
        self.rnn = nn.GRU(6, 8, batch_first={first})
        self.out = nn.Linear(8, 12){made}

    def forward(self, x, state):
        found, state = self.rnn(self.embedding(x), state)
        return {output}, state


text = torch.randint(0, 12, (8, 31)){turned}
model = Letters()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for epoch in range(2):
    state = torch.zeros(1, 8, 8)
    for start in range(0, 30, 6):
        x, y = {x}, {y}
        letters, state = model({given}, state.detach())
        loss = nn.functional.cross_entropy({letters}, y.reshape(-1))
        loss = loss + 0.1 * letters.std()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(epoch, start, loss.item())
torch.save(model.state_dict(), "letters.pt")
"""
SAMPLES_FIRST = {
    "first": "True",
    "turned": "",
    "x": "text[:, start : start + 6]",
    "y": "text[:, start + 1 : start + 7]",
}
TIME_FIRST = {
    "first": "False",
    "turned": ".t().contiguous()",
    "x": "text[start : start + 6]",
    "y": "text[start + 1 : start + 7]",
}
FLAT = {"output": "self.out(found).view(-1, 12)", "letters": "letters", "given": "x", "made": ""}
#: Where the analysis does not see of what shape the input is, the first batch tells.
OPAQUE = {**FLAT, "given": "torch.from_numpy(np.array(x.tolist()))"}


def script(*parts: dict[str, str]) -> str:
    """A script of these parts."""
    found: dict[str, str] = {}
    for part in parts:
        found |= part
    return SCRIPT.format(**found)


@pytest.mark.parametrize(
    ("order", "given"),
    [(SAMPLES_FIRST, FLAT), (SAMPLES_FIRST, OPAQUE), (TIME_FIRST, FLAT)],
    ids=["samples", "opaque", "time"],
)
def test_they_are_put_together_as_one_process_has_them(
    order: dict[str, str], given: dict[str, str], tmp_path: Path, auditor: Auditor
) -> None:
    """Three ranks have different numbers of rows."""
    original, output = tmp_path / "train.py", tmp_path / "train_dist.py"
    original.write_text(script(order, given), "utf-8")
    result = convert(original.read_text("utf-8"), Options(shard="calls"))
    assert result.outcome is Outcome.CONVERTED, result.findings
    output.write_bytes(result.data)
    report = auditor.audit(
        original, output, world_sizes=(1, 2, 3), tolerance=1e-9, timeout_seconds=90
    )
    assert report.passed, format_report(report)


@pytest.mark.parametrize(
    ("output", "axis"),
    [
        ("self.out(found).view(-1, 12)", "samples*steps"),
        ("self.out(found.reshape(-1, 8))", "samples*steps"),
        ("self.out(found).flatten()", "samples*steps"),
        ("self.out(found)", 0),
        ("self.out(found).mean(1)", 0),
        ("self.out(found).transpose(0, 1).reshape(-1, 12)", "steps*samples"),
    ],
)
def test_how_they_lie_is_told(output: str, axis: object) -> None:
    text = script(SAMPLES_FIRST, FLAT, {"output": output})
    result = convert(text, Options(shard="calls"))
    assert f"= SplitCalls(model, inputs=(0, 1), outputs={(axis, 1)!r})" in result.text
    assert "PT354" not in {one.code for one in result.findings}


def test_rows_in_rounds_of_several_cannot_be_split() -> None:
    text = script(SAMPLES_FIRST, FLAT, {"output": "self.out(found).transpose(0, 1).flatten()"})
    assert convert(text, Options(shard="calls")).outcome is Outcome.REFUSED


def test_a_job_stops_where_the_order_of_the_rows_is_not_shown(tmp_path: Path) -> None:
    """All rows are alike at first: next to each other or in rounds, nobody knows."""
    from ranks import run_ranks

    zeros = {"made": "\n        nn.init.zeros_(self.out.weight)"}
    result = convert(script(SAMPLES_FIRST, OPAQUE, zeros), Options(shard="calls"))
    assert result.outcome is Outcome.CONVERTED and "CheckedSplitCalls(" in result.text
    output = tmp_path / "train_dist.py"
    output.write_bytes(result.data)
    ended = run_ranks(output, 2)
    assert all(one.status not in (0, None) for one in ended)
    assert "do not split its calls" in ended[0].errors
