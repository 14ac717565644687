"""What a project accepts: comments, a baseline, chosen codes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from transpile.acceptance.codes import counts
from transpile.acceptance.comments import comments_in
from transpile.finding import Finding, Level

FIXTURES = Path(__file__).parents[2] / "fixtures"
WRONG = (FIXTURES / "audit" / "crossed_collectives" / "wrong.py").read_text("utf-8")
LINE = "dist.broadcast_object_list(names)"
assert WRONG.count(LINE) == 2
REFUSED = """\
import torch
from torch import nn


class Centred(nn.Linear):
    def forward(self, x):
        return super().forward(x - x.mean(0))


model = Centred(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
inputs = torch.randn(8, 4)
for epoch in range(2):
    loss = model(inputs).mean()
    loss.backward()
    optimizer.step()
"""


@pytest.fixture
def wrong() -> Callable[[str], None]:
    def write(text: str) -> None:
        Path("w.py").write_text(text)

    return write


def finding(code: str) -> Finding:
    return Finding(code, Level.WARNING, "x.py", 1, 1, "m")


@pytest.mark.parametrize(
    ("code", "select", "ignore", "wanted"),
    [
        ("PT403", (), (), True),
        ("PT403", ("PT4",), (), True),
        ("PT403", ("pt4",), (), True),
        ("PT403", ("PD",), (), False),
        ("PT403", (), ("PT",), False),
        ("PT403", ("PT403",), ("PT",), True),
        ("PT403", ("PT",), ("PT403",), False),
        ("PT403", ("PT4",), ("PT4",), False),
    ],
)
def test_the_longer_name_of_a_code_wins(
    code: str, select: tuple[str, ...], ignore: tuple[str, ...], wanted: bool
) -> None:
    assert counts(finding(code), select, ignore) is wanted


class TestComments:
    def test_only_comments_count(self) -> None:
        text = b'a = "# disttranspile: ignore[PT1] no"\nb = 1  # disttranspile: ignore[PT2] yes\n'
        (found,) = comments_in(text)
        assert (found.line, found.codes, found.alone, found.problem) == (2, ("PT2",), False, "")

    def test_forms(self) -> None:
        lines = {
            "# disttranspile: ignore[pt403, AU1] why": (("PT403", "AU1"), False),
            "# disttranspile:ignore[PT403]": (("PT403",), False),
            "# disttranspile: ignore-file[PT403] why": (("PT403",), True),
            "# disttranspile: ignore-file why": ((), True),
        }
        for line, (codes, whole) in lines.items():
            (found,) = comments_in(line.encode())
            assert (found.codes, found.whole_file, found.problem) == (codes, whole, ""), line
        for line in ("ignore", "ignore PT403", "ignore[]", "noqa", "ignore[PT 4]"):
            (found,) = comments_in(f"# disttranspile: {line}".encode())
            assert found.problem, line

    @pytest.mark.parametrize(
        "text",
        [
            WRONG.replace(LINE, f"{LINE}  # disttranspile: ignore[AU105] known", 1),
            WRONG.replace(LINE, f"# disttranspile: ignore[AU1] known\n        {LINE}", 1),
            f"# disttranspile: ignore-file[AU105] known\n{WRONG}",
        ],
    )
    def test_a_comment_accepts(
        self, command: Callable[..., Any], wrong: Callable[[str], None], text: str
    ) -> None:
        wrong(WRONG)
        assert command("audit", "w.py").status == 3
        wrong(text)
        run = command("audit", "w.py")
        assert (run.status, run.output) == (0, b"1 audited (1 accepted)\n")

    def test_one_that_accepts_nothing_is_told(
        self, command: Callable[..., Any], wrong: Callable[[str], None]
    ) -> None:
        wrong(
            "# disttranspile: ignore[AU101] gone\n# disttranspile: ignore[PT403] of conversions\n"
            "# disttranspile: ignore PT1\n"
            + WRONG.replace(LINE, f"{LINE}  # disttranspile: ignore[AU105] x", 1)
        )
        run = command("audit", "w.py")
        assert run.status == 1
        told = [line for line in run.output.decode().splitlines() if "DT906" in line]
        assert [line.split(":")[1] for line in told] == ["1", "3"]

    def test_a_refusal_stays_one_where_something_is_written(
        self, command: Callable[..., Any]
    ) -> None:
        Path("train.py").write_text(REFUSED)
        run = command("train.py", "--check")
        assert run.status == 3
        (line,) = [line for line in run.errors.splitlines() if line.endswith("[error]")]
        code = line.split()[1]
        Path("train.py").write_text(f"# disttranspile: ignore-file[{code}] never\n{REFUSED}")
        accepted = command("train.py", "--check")
        assert accepted.status == 0, accepted.errors
        assert "accepted" in accepted.errors
        still = command("train.py", "-o", "out.py")
        assert still.status == 3
        assert code in still.errors
        assert not Path("out.py").exists()

    def test_a_script_is_left_alone(self, command: Callable[..., Any]) -> None:
        Path("train.py").write_text(f"# disttranspile: ignore-file one GPU is enough\n{REFUSED}")
        run = command("train.py", "--check")
        assert run.status == 0
        assert "DT907" in run.errors
        below = command(".", "--check").errors
        assert "./train.py:1:1: DT907" in below
        assert below.endswith("1 unchanged (1 note)\n")


class TestBaseline:
    def test_what_is_known_is_not_told_wherever_it_moves(
        self, command: Callable[..., Any], wrong: Callable[[str], None]
    ) -> None:
        wrong(WRONG)
        written = command("audit", "w.py", "--baseline", "b.json", "--write-baseline")
        assert (written.status, written.errors) == (0, "b.json: 1 finding\n")
        assert json.loads(Path("b.json").read_text())["findings"] == [
            {"path": "w.py", "code": "AU105", "text": LINE, "count": 1}
        ]
        wrong(f"# moved\n{WRONG}")
        assert command("audit", "w.py", "--baseline", "b.json").status == 0
        other = WRONG.replace(LINE, "dist.broadcast_object_list(names, src=0)", 1)
        wrong(other)
        run = command("audit", "w.py", "--baseline", "b.json")
        assert run.status == 3
        assert b"AU105" in run.output
        assert b"DT908" in run.output

    def test_the_configuration_names_it(
        self, command: Callable[..., Any], wrong: Callable[[str], None]
    ) -> None:
        wrong(WRONG)
        Path("disttranspile.toml").write_text('baseline = "known.json"\n')
        assert command("audit", "w.py").status == 2
        assert command("audit", "w.py", "--write-baseline").status == 0
        assert command("audit", "w.py").status == 0
        Path("known.json").write_text("[]")
        run = command("audit", "w.py")
        assert run.status == 2
        assert "is no baseline" in run.errors
        assert command("audit", "w.py", "--isolated", "--write-baseline").status == 2

    @pytest.mark.parametrize("choice", [("--select", "AU2"), ("--ignore", "AU1")])
    def test_an_entry_of_a_code_that_is_not_told_is_not_unused(
        self, command: Callable[..., Any], wrong: Callable[[str], None], choice: tuple[str, str]
    ) -> None:
        wrong(WRONG)
        command("audit", "w.py", "--baseline", "b.json", "--write-baseline")
        run = command("audit", "w.py", "--baseline", "b.json", *choice)
        assert (run.status, run.output) == (0, b"1 audited (1 accepted)\n")

    def test_entries_of_a_deleted_file_are_told(
        self, command: Callable[..., Any], wrong: Callable[[str], None]
    ) -> None:
        Path("lab").mkdir()
        Path("lab/old.py").write_text(WRONG)
        wrong(WRONG)
        both = ("--baseline", "lab/b.json")
        assert command("audit", "lab", "w.py", *both, "--write-baseline").status == 0
        assert command("audit", "w.py", *both).status == 0
        Path("lab/old.py").unlink()
        for asked in ("w.py", "lab", "."):
            run = command("audit", asked, *both)
            assert run.status == 1, asked
            told = run.output.decode()
            assert told.count("DT908") == 1
            assert "lab/b.json:1:1: DT908 the baseline has findings of old.py, which is no" in told
        assert command("audit", "w.py", *both, "--ignore", "DT908").status == 0
        # What a conversion looks for is in none of these entries.
        assert "DT908" not in command("w.py", "--check", *both).errors
        assert command("audit", "w.py", *both, "--write-baseline").status == 0
        assert command("audit", "w.py", *both).status == 0

    @pytest.mark.parametrize("mode", ["--check", "--diff"])
    def test_a_preview_tells_of_a_deleted_file(
        self, command: Callable[..., Any], mode: str
    ) -> None:
        Path("train.py").write_text(REFUSED)
        Path("other.py").write_text(REFUSED)
        both = ("--baseline", "b.json")
        assert command("train.py", "other.py", "--check", *both, "--write-baseline").status == 0
        assert command("train.py", mode, *both).status == 0
        Path("other.py").unlink()
        run = command("train.py", mode, *both)
        assert run.status == 1
        assert run.errors.count("DT908") == 1
        assert "(1 warning" in run.errors
        document = json.loads(
            command("train.py", "--check", *both, "--output-format", "json").output
        )
        assert document["files"][-1]["findings"][-1]["code"] == "DT908"
        # What is written is no question of what other files had.
        assert "DT908" not in command("train.py", "-o", "out.py", *both).errors

    def test_what_accepts_nothing_is_ignored_by_its_code(
        self, command: Callable[..., Any], wrong: Callable[[str], None]
    ) -> None:
        wrong(f"# disttranspile: ignore[AU101] gone\nprint(1)\nimport torch.distributed\n{WRONG}")
        told = command("audit", "w.py").output
        assert b"DT906" in told
        assert b"DT906" not in command("audit", "w.py", "--ignore", "DT906").output


def test_codes_are_chosen(command: Callable[..., Any], wrong: Callable[[str], None]) -> None:
    wrong(WRONG)
    assert command("audit", "w.py", "--select", "AU2,PT").status == 0
    assert command("audit", "w.py", "--ignore", "au105").status == 0
    assert command("audit", "w.py", "--ignore", "AU2").status == 3
    run = command("audit", "w.py", "--select", "AU1O5")
    assert run.status == 2
    assert "did you mean AU105?" in run.errors
    Path("disttranspile.toml").write_text('ignore = ["AU1"]\n')
    assert command("audit", "w.py").status == 0


def test_quiet_tells_of_warnings_and_errors(command: Callable[..., Any]) -> None:
    Path("idle.py").write_text("print(1)\n")
    assert command("idle.py", "--check", "-q").errors == ""
    Path("train.py").write_text(REFUSED)
    run = command("train.py", "--check", "-q")
    assert "[error]" in run.errors
    assert "1 refused" not in run.errors


def test_a_quiet_audit_tells_of_findings_alone(command: Callable[..., Any]) -> None:
    wrong = Path(__file__).parents[2] / "fixtures/audit/ways_apart/wrong.py"
    Path("w.py").write_bytes(wrong.read_bytes())
    told = command("audit", "w.py").output.decode()
    assert told.endswith("\n1 audited (8 errors)\n")
    quiet = command("audit", "w.py", "-q")
    assert quiet.output.decode() == told.removesuffix("1 audited (8 errors)\n")
    assert quiet.status == 3


def test_a_quiet_audit_that_finds_nothing_still_writes_a_whole_document(
    command: Callable[..., Any],
) -> None:
    Path("idle.py").write_text("print(1)\n")
    assert command("audit", "idle.py", "-q").output == b""
    run = command("audit", "idle.py", "-q", "--output-format", "sarif")
    assert json.loads(run.output)["version"] == "2.1.0"


def test_an_audit_of_scripts_for_one_process_says_what_it_looked_for(
    command: Callable[..., Any],
) -> None:
    Path("lab").mkdir()
    Path("lab/train.py").write_text(REFUSED)
    run = command("audit", "lab")
    assert run.output == b"no script found that trains with several processes\n"
