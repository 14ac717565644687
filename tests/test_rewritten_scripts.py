"""Rewrites that keep the meaning of a script change nothing that is said of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from cases import Case, cases
from rewrites import REWRITES
from rewritten_scripts import differences

#: Every so many fixtures one is rewritten here; `tests/rewritten_scripts.py` takes them all.
APART = 24
SAMPLE = cases()[::APART]

SCRIPT = """\
import numpy as np
import sys


def total(values, start=0):
    result = start
    for value in values:
        if value > 1 and result < 9:
            result += value * 2
        elif value:
            result -= 1
    scaled = np.sqrt(result)
    return float(scaled)


def main():
    scale = len(sys.argv) + 1
    numbers = [scale * one for one in range(5)]
    print("the total of all the numbers:", total(numbers, start=scale))


if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize("case", SAMPLE, ids=[case.name for case in SAMPLE])
def test_a_fixture_that_is_rewritten_is_still_the_same(case: Case) -> None:
    tried, found = differences(case, tuple(REWRITES))
    assert tried
    assert [str(one) for one in found] == []


@pytest.mark.parametrize("name", REWRITES)
def test_a_rewritten_script_still_does_the_same(name: str, tmp_path: Path) -> None:
    changed = REWRITES[name](SCRIPT)
    assert changed != SCRIPT
    assert _printed(tmp_path / "changed.py", changed) == _printed(tmp_path / "train.py", SCRIPT)


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("renamed", "    for v2 in values:"),
        ("idle", "            pass"),
        ("conditions", "        is_so_1 = value > 1 and result < 9"),
        ("functions", "    return (np.sqrt(result))"),
        ("imports", "    scaled = imported_1.sqrt(result)"),
        ("formatted", "    print("),
    ],
)
def test_rewrites_change_what_they_are_named_for(name: str, line: str) -> None:
    assert line in REWRITES[name](SCRIPT).splitlines()


def _printed(script: Path, text: str) -> str:
    script.write_text(text, "utf-8")
    done = subprocess.run(
        [sys.executable, script.name], cwd=script.parent, capture_output=True, text=True, check=True
    )
    return done.stdout
