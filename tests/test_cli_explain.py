"""What the command says about codes and rules."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from transpile import catalog
from transpile.auditing import CODES as AUDIT_CODES
from transpile.cli import codes, main
from transpile.cli.highlight import highlighted
from transpile.engine import CODES as ENGINE_CODES
from transpile.launch.advice import CODES as LAUNCH_CODES
from transpile.rule import Rule

CODES = {**ENGINE_CODES, **AUDIT_CODES, **LAUNCH_CODES}
DOC = """\
Do it once.

What:
    One [thing] at a time.

Before:
    for x in y:
        print("[red]")

Source:
    https://docs.example
"""

RULE = Rule(
    name="do-once",
    codes={"XX101": "it is done once", "XX102": "it cannot be done once"},
    decide=lambda plan: (),
    edits=lambda plan, ruling, rulings: (),
    doc=DOC,
)


@pytest.fixture
def _one_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog, "rules", lambda framework=None: (RULE,))
    monkeypatch.setattr(catalog, "checks", lambda framework=None: ())


def explain(capfd: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    status = main(["explain", *words])
    return (status, *capfd.readouterr())


@pytest.mark.usefixtures("_one_rule")
def test_a_code_shows_its_line_and_its_rule(capfd: pytest.CaptureFixture[str]) -> None:
    status, output, errors = explain(capfd, "xx102")
    assert (status, errors) == (0, "")
    assert output.startswith(
        "XX102: it cannot be done once\n\nFrom the rule do-once:\n\nDo it once"
    )


@pytest.mark.usefixtures("_one_rule")
def test_a_rule_shows_its_text_and_its_codes(capfd: pytest.CaptureFixture[str]) -> None:
    status, output, _ = explain(capfd, "do-once")
    assert status == 0
    assert output.startswith("do-once\n\nDo it once.\n\nWhat:\n")
    assert output.endswith("XX101  it is done once\nXX102  it cannot be done once\n")


@pytest.mark.parametrize("code", [*CODES, *codes.EXPLANATIONS])
def test_every_code_of_the_machine_has_an_explanation(
    capfd: pytest.CaptureFixture[str], code: str
) -> None:
    status, output, _ = explain(capfd, code)
    assert status == 0
    assert output.startswith(f"{code}: ")


def test_every_code_says_what_why_how_to_fix_and_when_to_ignore() -> None:
    from transpile.cli.commands.explain import _of_code
    from transpile.cli.project.manual import entries

    lacking = {
        entry.code: heading
        for entry in entries()
        for heading in ("What", "Why", "How to fix", "Before", "After", "When to ignore")
        if not re.search(rf"^{heading}:\n    \S", _of_code(entry), re.MULTILINE)
    }
    assert lacking == {}


@pytest.mark.usefixtures("_one_rule")
def test_everything_is_listed(capfd: pytest.CaptureFixture[str]) -> None:
    status, output, _ = explain(capfd)
    assert status == 0
    listed = [line.split()[0] for line in output.splitlines()]
    assert listed == sorted({*CODES, *codes.EXPLANATIONS, *RULE.codes})
    assert "XX101  it is done once (do-once)" in output


def test_no_two_things_share_a_code() -> None:
    found = [*CODES, *codes.EXPLANATIONS]
    found += [code for rule in catalog.rules() for code in rule.codes]
    assert sorted(found) == sorted(set(found))
    assert all(re.fullmatch(r"[A-Z]{2}\d{3}", code) for code in found)


def test_an_unknown_code_is_a_usage_error(capfd: pytest.CaptureFixture[str]) -> None:
    status, output, errors = explain(capfd, "XX999")
    assert (status, output) == (2, "")
    assert "no code or rule 'XX999'" in errors


def test_colour_adds_escapes_alone() -> None:
    text = f"XX101: it is done once\n\n{DOC}"
    coloured = highlighted(text)
    assert "\x1b[1mBefore:\x1b[0m" in coloured
    assert "\x1b[94" in coloured
    plain = re.sub(r"\x1b\[[0-9;]*m", "", coloured)
    assert plain.strip().split("\n") == text.strip().split("\n")


@pytest.mark.parametrize("code", sorted(CODES))
def test_codes_without_a_rule_say_why_and_what_to_do(
    capfd: pytest.CaptureFixture[str], code: str
) -> None:
    _, output, _ = explain(capfd, code)
    title, _, text = output.partition("\n\n")
    assert len(title.splitlines()) == 1
    assert len(text.split()) > 8, "transpile/cli/advice/ says it"


@pytest.mark.parametrize("subject", ["pt101", "Join-Process-Group", "join_process_group", "dt003"])
def test_any_case_is_understood(capfd: pytest.CaptureFixture[str], subject: str) -> None:
    status, output, errors = explain(capfd, subject)
    assert (status, errors) == (0, "")
    assert output.lower().startswith(subject.lower().replace("_", "-"))


@pytest.mark.parametrize(
    ("subject", "near"),
    [
        ("PT1O1", "PT101"),
        ("join-proces-group", "join-process-group"),
        ("wrap", "wrap-model"),
        ("wrapmodel", "wrap-model"),
        ("wrapping", "wrap-model"),
    ],
)
def test_near_misses_are_suggested(
    capfd: pytest.CaptureFixture[str], subject: str, near: str
) -> None:
    status, output, errors = explain(capfd, subject)
    assert (status, output) == (2, "")
    assert f"no code or rule '{subject}'. Near are" in errors
    assert near in errors


def test_the_beginning_of_a_code_lists_those_that_have_it(
    capfd: pytest.CaptureFixture[str],
) -> None:
    status, output, _ = explain(capfd, "pt20")
    lines = output.splitlines()
    assert status == 0 and len(lines) > 5
    assert all(line.startswith("PT20") for line in lines)


def test_letters_for_digits_in_a_code(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "train.py").touch()
    assert main(["--check", str(tmp_path / "train.py"), "--select", "PT4O3"]) == 2
    assert "there is no code 'PT4O3'; did you mean PT403?" in capfd.readouterr().err


class TestRules:
    def run(self, capfd: pytest.CaptureFixture[str], *words: str) -> str:
        assert main(["rules", *words]) == 0
        return capfd.readouterr().out

    def test_every_code_is_listed_once(self, capfd: pytest.CaptureFixture[str]) -> None:
        known = json.loads(self.run(capfd, "--format", "json"))["rules"]
        listed = [code for rule in known for code in rule["codes"]]
        documented = [code for rule in catalog.rules() for code in rule.codes]
        documented += [code for check in catalog.checks() for code in check.codes]
        assert sorted(listed) == sorted([*documented, *CODES, *codes.EXPLANATIONS])
        (wrap,) = [rule for rule in known if rule["rule"] == "wrap-model"
                   and rule["framework"] == "pytorch"]  # fmt: skip
        assert wrap["kind"] == "rule"
        assert "What:" in wrap["explanation"]
        assert all(rule["summary"] for rule in known)

    def test_forms(self, capfd: pytest.CaptureFixture[str]) -> None:
        text = self.run(capfd)
        assert "pytorch\n" in text
        assert re.search(r"^  wrap-model: .+$", text, re.MULTILINE)
        assert re.search(r"^    PT301  .+$", text, re.MULTILINE)
        table = self.run(capfd, "--format", "markdown", "--select", "PT3")
        assert len(table.splitlines()) == 2 + len(
            [code for rule in catalog.rules() for code in rule.codes if code.startswith("PT3")]
        )
        assert main(["rules", "--select", "XY"]) == 2
