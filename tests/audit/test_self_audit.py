"""A conversion reads its own output as several processes before anything is written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from cases import Case, cases, converted

from transpile import Level, Options, Outcome, Result, convert, engine, requested
from transpile.auditing import audit
from transpile.checks import self_audit
from transpile.facts.state import TooComplex
from transpile.finding import Finding
from transpile.project import Project
from transpile.text.source import read_source

CALLS = [
    case
    for case in cases("pytorch")
    if case.expected_output.is_file() and "SplitCalls" in case.expected_output.read_text("utf-8")
]
SCRIPT = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

data = TensorDataset(torch.randn(64, 8), torch.randint(0, 2, (64,)))
loader = DataLoader(data, batch_size=8)
model = nn.Linear(8, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(3):
    for features, labels in loader:
        loss = nn.functional.cross_entropy(model(features), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


def without_wrap(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the conversion forget what wraps the model."""
    changes = requested.changes_of

    def forgetful(plan: object, rulings: object, chosen: object) -> object:
        asked = changes(plan, rulings, chosen)  # type: ignore[arg-type]
        kept = [(ruling, made) for ruling, made in asked if not ruling.code.startswith("PT30")]
        assert len(kept) < len(asked)
        return kept

    monkeypatch.setattr(engine, "changes_of", forgetful)


def test_an_output_that_would_go_apart_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert convert(SCRIPT).outcome is Outcome.CONVERTED
    without_wrap(monkeypatch)
    result = convert(SCRIPT, Options(shard="data"))
    assert result.outcome is Outcome.REFUSED and result.text == SCRIPT
    (finding,) = [each for each in result.findings if each.level is Level.ERROR]
    assert finding.code == "DT018" and "AU301" in finding.message


def test_it_is_written_where_that_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    without_wrap(monkeypatch)
    result = convert(SCRIPT, Options(shard="data", allow_partial=True))
    assert result.outcome is Outcome.CONVERTED
    assert "DT018" in {each.code for each in result.findings}


def test_modules_of_the_output_are_read_as_they_become(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import parts.one\n")
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts/one.py").write_text("number = 1\n")
    entry = read_source((tmp_path / "train.py").read_bytes(), "sub/train.py")
    project = Project(entry, tmp_path)
    one = project.find("parts.one", project.entry)
    output = project.become(entry, {"sub/parts/two.py": b"number = 2\n"})
    same = output.find("parts.one", output.entry)
    assert one is not None and same is not None and same is not one
    assert same.source is one.source
    added = output.find("parts.two", output.entry)
    assert added is not None and added.source.text == "number = 2\n"


@pytest.mark.parametrize("case", CALLS, ids=lambda case: case.name)
def test_split_calls_need_no_share_of_the_data(case: Case) -> None:
    text = case.expected_output.read_text("utf-8")
    assert audit(text) == ()
    if case.folder.name == "in_batch_negatives":
        unshared = text.replace("dist.all_gather(parts", "print(parts")
        assert {"AU201"} <= {found.code for found in audit(unshared)}


def test_the_check_is_made_once_for_each_output(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    checked = self_audit.checked

    def counted(attempt: object, project: object, options: object) -> object:
        seen.append(attempt)
        return checked(attempt, project, options)  # type: ignore[arg-type]

    monkeypatch.setattr(engine, "checked", counted)
    assert converted(CALLS[0]).outcome is Outcome.CONVERTED
    assert len(seen) == 1


def test_what_is_given_out_is_audited_though_both_ways_leave_the_same_doubt(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Gradients that hooks bend are a doubt of either way, so that data is sharded."""
    read: list[str] = []
    errors = self_audit.errors_of

    def noting(result: Result, *rest: Any) -> list[Finding]:
        read.append(result.text)
        return errors(result, *rest)

    monkeypatch.setattr(self_audit, "errors_of", noting)
    hooks = "for each in model.parameters():\n    each.register_hook(lambda g: g.clamp(-1, 1))\n"
    result = convert(SCRIPT.replace("for epoch", f"{hooks}for epoch", 1))
    assert [each.code for each in result.findings if each.level > Level.NOTE] == ["PT409"]
    assert "SplitCalls" not in result.text
    assert result.text in read


def test_an_output_that_cannot_be_audited_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    def give_up(*given: object) -> list[Finding]:
        raise TooComplex

    monkeypatch.setattr(self_audit, "errors_of", give_up)
    result = convert(SCRIPT)
    assert result.outcome is Outcome.CONVERTED
    assert [(each.code, each.level) for each in result.findings] == [("DT018", Level.NOTE)]


STREAMS = """\
import torch
from torch import nn

streams = MADE
model = nn.Embedding(50, 50)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def window(source, start):
    return source[:, start : start + 5], source[:, start + 1 : start + 6]


def train():
    for start in range(0, streams.size(1) - 1, 5):
        if start + 5 >= SIZE - 1:
            continue
        x, y = window(streams, start)
        if y.size(1) < 5:
            raise ValueError("the window reaches past the end")
        loss = nn.functional.cross_entropy(model(x).reshape(-1, 50), y.reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


for epoch in range(2):
    train()
"""


@pytest.mark.parametrize("size", ["streams.size(1)", "streams.shape[1]", "streams.size()[1]"])
@pytest.mark.parametrize("made", ["torch.rand(12, 41)", "torch.rand(24, 41).narrow(0, 0, 12)"])
def test_the_size_of_a_drawn_tensor_is_not_drawn(made: str, size: str) -> None:
    script = STREAMS.replace("SIZE", size)
    script = script.replace("MADE", made)
    script = script.replace("window(streams, start)", "window(streams > 0.5, start)")
    result = convert(script.replace("model(x)", "model(x.long())"))
    assert not [each for each in result.findings if "AU106" in each.message]
