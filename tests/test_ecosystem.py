"""The ecosystem check finds scripts, looks at outputs, and compares records."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from corpus import conversions
from corpus.commands import chosen, command, read_commands
from corpus.comparison import compare
from corpus.conversions import convert_one, parses
from corpus.record import Conversion, Record, Run, load, save
from corpus.runs import judged
from corpus.scripts import Script, repositories, scripts_below
from corpus.tables import details, table
from ecosystem import main

from transpile import Options, Outcome, Result, convert
from transpile.verify import AuditReport
from transpile.verify.report import RunReport, failed, passed

TRAINING = """\
import torch
from torch.utils.data import DataLoader, TensorDataset

model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loader = DataLoader(TensorDataset(torch.ones(8, 2)), batch_size=4)
for epoch in range(2):
    for (batch,) in loader:
        optimizer.zero_grad()
        model(batch).mean().backward()
        optimizer.step()
"""


def written(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def test_scripts_are_found_but_not_in_what_tools_leave(tmp_path: Path) -> None:
    files = ["b.py", "a/c.py", "a/notes.txt", ".git/x.py", "a/__pycache__/c.py", "build/d.py"]
    root = written(tmp_path / "repository", dict.fromkeys(files, ""))
    names = [script.name for script in scripts_below([root])]
    assert names == ["repository/a/c.py", "repository/b.py"]


def test_folders_need_different_names(tmp_path: Path) -> None:
    for name in ("x/same", "y/same"):
        (tmp_path / name).mkdir(parents=True)
    assert repositories([str(tmp_path / "x" / "same")]) == [tmp_path / "x" / "same"]
    with pytest.raises(ValueError, match="two of the folders"):
        repositories([str(tmp_path / "x" / "same"), str(tmp_path / "y" / "same")])
    with pytest.raises(ValueError, match="no folder"):
        repositories([str(tmp_path / "z")])


@pytest.mark.parametrize(
    ("text", "outcome"),
    [(TRAINING, "converted"), ("import torch\n", "unchanged"), ("def (:\n", "source error")],
)
def test_a_script_is_converted_and_its_output_looked_at(
    tmp_path: Path, text: str, outcome: str
) -> None:
    script = Script(written(tmp_path / "repository", {"a/train.py": text}), "a/train.py")
    row = convert_one(script, limit=60)
    assert (row.name, row.outcome, row.problems) == ("repository/a/train.py", outcome, ())
    assert not row.wrong
    assert bool(row.output) is (outcome == "converted")
    assert str(tmp_path) not in repr(row)


def test_what_goes_wrong_is_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = Script(written(tmp_path / "repository", {"train.py": TRAINING}), "train.py")

    def crash(*arguments: object, **options: object) -> Result:
        raise KeyError("lost")

    def endless(*arguments: object, **options: object) -> Result:
        while True:
            pass

    def never_done(data: bytes, options: Options | None = None, **place: object) -> Result:
        return Result(Outcome.CONVERTED, "", data + b"#", {}, (), ())

    def not_python(data: bytes, options: Options | None = None, **place: object) -> Result:
        return Result(Outcome.CONVERTED, "", b"if", {}, (), ())

    monkeypatch.setattr(conversions, "convert", crash)
    row = convert_one(script, limit=60)
    assert row.outcome == "crash" and row.wrong
    assert "KeyError: 'lost'" in row.problems[0] and str(tmp_path) not in row.problems[0]
    monkeypatch.setattr(conversions, "convert", endless)
    row = convert_one(script, limit=1)
    assert row.outcome == "too slow" and row.wrong
    monkeypatch.setattr(conversions, "convert", never_done)
    row = convert_one(script, limit=60)
    assert [problem.split(":")[0] for problem in row.problems] == [
        "a second conversion",
        "a second conversion that does not ask whether it is distributed",
    ]
    monkeypatch.setattr(conversions, "convert", not_python)
    assert convert_one(script, limit=60).problems == ("the output is not Python",)


def test_an_output_is_measured_by_the_python_of_its_input() -> None:
    assert parses(b"print(1)", like=b"print(2)")
    assert not parses(b"if", like=b"print(2)")
    assert not parses(b"if", like=b"if")


def test_commands_say_where_they_run(tmp_path: Path) -> None:
    said = [
        {"script": "one/a/train.py", "arguments": "--name 'x y'", "folder": "a"},
        {"script": "two/train.py", "prepare": "mkdir data"},
    ]
    path = tmp_path / "commands.json"
    path.write_text(json.dumps(said))
    first, second = read_commands(path)
    assert (first.repository, first.path) == ("one", "a/train.py")
    assert (first.arguments, first.folder, first.start) == (("--name", "x y"), "a", "a")
    assert (second.folder, second.start, second.prepare) == (".", ".", "mkdir data")
    assert chosen([first, second], ["two"]) == [second]
    assert chosen([first, second], []) == [first, second]


@pytest.mark.parametrize(
    "fields",
    [
        [],
        {},
        {"script": "train.py"},
        {"script": "one/train.py", "argument": "x"},
        {"script": "one/train.py", "arguments": ["x"]},
        {"script": "one/train.py", "folder": "b"},
    ],
)
def test_a_command_that_says_nothing_is_an_error(fields: object) -> None:
    with pytest.raises(ValueError, match=r"command|script|fields|folder"):
        command(fields)


ROWS = (
    Conversion("one", "a.py", "converted", 1.0, ("a.py:1: note PT101 x",), (), "first\n"),
    Conversion("one", "b.py", "refused", 0.5, ("b.py:1: error PT203 x",), ("PT203",)),
    Conversion("two", "c.py", "crash", 12.0, problems=("KeyError: 1",)),
)
RECORD = Record(ROWS, (Run("one/a.py", "passed", (), 3.0),))


def test_a_record_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    save(RECORD, path)
    assert load(path) == RECORD
    path.write_text("{}")
    with pytest.raises(ValueError, match="no record"):
        load(path)


def test_the_table_counts_outcomes() -> None:
    lines = [line.split() for line in table(ROWS).splitlines()]
    assert [line[0] for line in lines] == ["repository", "one", "two", "all"]
    assert lines[1][1:] == ["1", "1", "0", "0", "0", "0", "1.5"]
    assert lines[2][1:] == ["0", "0", "0", "0", "1", "0", "12.0"]
    assert lines[3][1:] == ["1", "1", "0", "0", "1", "0", "13.5"]


def test_the_details_name_what_needs_a_look() -> None:
    said = details(RECORD)
    assert "one/b.py: PT203\n" in said and "in all: PT203 1\n" in said
    assert "two/c.py: KeyError: 1\n" in said
    assert "two/c.py: 12.0 s\n" in said
    assert "one/a.py: passed (3 s)\n" in said


def test_records_are_compared() -> None:
    assert compare(RECORD, RECORD) == ""
    other = Record(
        (
            replace(ROWS[0], output="second\n", findings=()),
            replace(ROWS[1], outcome="converted", output="x\n"),
            Conversion("two", "d.py", "unchanged", 0.1),
        ),
        (Run("one/a.py", "failed"),),
    )
    assert compare(RECORD, other).splitlines() == [
        "one/a.py: findings",
        "-a.py:1: note PT101 x",
        "one/a.py: output",
        "@@ -1 +1 @@",
        "-first",
        "+second",
        "one/b.py: refused -> converted",
        "two/c.py: only in the old record",
        "two/d.py: only in the new record",
        "one/a.py: passed -> failed",
    ]


def test_an_audit_becomes_a_verdict() -> None:
    original = RunReport("original", 0, (passed("exit"),), 1.0)
    good = RunReport("1 process", 1, (passed("exit"),), 2.0)
    bad = RunReport("2 processes", 2, (failed("exit", "rank 1 hung"),), 2.0)
    assert judged("x", AuditReport((original, good))) == Run("x", "passed", (), 3.0)
    found = judged("x", AuditReport((original, good, bad)))
    assert found == Run("x", "failed", ("2 processes: exit: rank 1 hung",), 5.0)
    assert found.wrong
    alone = judged("x", AuditReport((replace(original, checks=bad.checks),)))
    assert alone.verdict == "original fails" and not alone.wrong


def test_the_command_converts_runs_and_compares(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = written(tmp_path / "repository", {"train.py": TRAINING, "other.py": "x = 1\n"})
    commands = tmp_path / "commands.json"
    commands.write_text(json.dumps([{"script": "repository/train.py", "prepare": "mkdir data"}]))
    record = tmp_path / "record.json"
    arguments = [str(root), "--jobs", "1", "--run", str(commands), "--json", str(record)]
    assert main(arguments) == 0
    said = capsys.readouterr().out
    assert "2 files" in said and "repository/train.py: passed" in said
    assert convert(TRAINING).text == load(record).conversions[1].output
    assert main([str(root), "--jobs", "1", "--compare", str(record)]) == 0
    assert capsys.readouterr().out.endswith("Compared with the old record\nno difference\n")
    assert main([str(tmp_path / "nothing")]) == 2
