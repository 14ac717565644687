"""What is said of each code: in its own words, with an example that can be read as Python."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from transpile import catalog
from transpile.cli.project.manual import entries

FIXTURES = Path(__file__).parents[2] / "fixtures"
ADVICE = catalog.advice()
HEADINGS = ["Why", "How to fix", "Before", "After", "When to ignore"]
HEADING = re.compile(r"^([A-Z][a-z ]+):$", re.MULTILINE)
#: Examples that are commands, requirements or configuration.
OTHER = re.compile(r"^(disttranspile |python |CUDA_VISIBLE|\[tool|[a-z]+[=>]=[\d.]+$)")


def told(level: str) -> set[str]:
    """The codes of rules and checks that fixtures find with a level."""
    found = re.compile(rf" ([A-Z]{{2}}\d{{3}}) .*\[{level}\]")
    texts = (path.read_text("utf-8") for path in FIXTURES.rglob("findings.txt"))
    return {code for text in texts for code in found.findall(text)}


def parts(code: str) -> dict[str, str]:
    first, *rest = HEADING.split(ADVICE[code])
    assert first == ""
    return {
        heading: "\n".join(line.removeprefix("    ") for line in text.strip("\n").split("\n"))
        for heading, text in zip(rest[::2], rest[1::2], strict=True)
    }


def test_whatever_warns_or_refuses_has_words_of_its_own() -> None:
    known = {entry.code for entry in entries() if entry.rule}
    needed = (told("warning") | told("error")) & known
    assert len(needed) > 70
    assert sorted(needed - set(ADVICE)) == []


@pytest.mark.parametrize("code", sorted(ADVICE))
def test_it_says_why_what_to_do_and_when_not(code: str) -> None:
    found = parts(code)
    assert list(found) == HEADINGS
    assert all(text.strip() for text in found.values())
    assert found["Before"] != found["After"]
    for heading in ("Before", "After"):
        if not OTHER.match(found[heading]):
            text = found[heading]
            ast.parse(f"def body():\n{text}" if text.startswith(" ") else text)
    for line in ADVICE[code].splitlines():
        assert len(line) <= 100


def test_no_two_codes_of_a_framework_say_the_same() -> None:
    seen: dict[tuple[str, str], str] = {}
    for code, text in ADVICE.items():
        key = (code[:2], text)
        assert key not in seen, (code, seen[key])
        seen[key] = code


def test_no_code_is_advised_on_that_no_rule_gives() -> None:
    known = {entry.code for entry in entries()}
    shared = "5"  # effects, whose texts are there for every framework
    assert {code for code in ADVICE if code not in known and code[2] != shared} == set()
