"""Files whose names chance chooses, as trackers and temporary folders do."""

from __future__ import annotations

from pathlib import Path

import pytest

from transpile.verify.auditor import Auditor
from transpile.verify.checks.files import names_of_chance
from transpile.verify.evidence import RankEvidence, RunEvidence


def left(*names: str) -> RunEvidence:
    return RunEvidence(1, (RankEvidence(0),), files=frozenset(names))


FIRST = left("model.pt", "runs/run-abcd/log", "runs/run-abcd/data/log")
AGAIN = left("model.pt", "runs/run-efgh/log", "runs/run-efgh/data/log")


def test_names_that_two_runs_of_the_original_choose_differently() -> None:
    found = left("model.pt", "runs/run-xyzw/log", "runs/run-xyzw/data/log")
    check = names_of_chance(FIRST, AGAIN, found)
    assert check is not None
    assert check.passed
    assert check.detail.endswith(", 2 of them with names that chance chooses")


@pytest.mark.parametrize(
    "names",
    [
        ("runs/run-xyzw/log", "runs/run-xyzw/data/log"),
        ("model.pt", "runs/run-xyzw/log"),
        ("model.pt", "runs/run-xyzw/log", "runs/run-other/log", "runs/run-xyzw/data/log"),
        ("model.pt", "runs/run-xyzw/lag", "runs/run-xyzw/data/log"),
        ("model.pt", "other.pt", "runs/run-xyzw/log", "runs/run-xyzw/data/log"),
    ],
)
def test_other_differences_stay(names: tuple[str, ...]) -> None:
    assert names_of_chance(FIRST, AGAIN, left(*names)) is None


def test_an_original_that_names_its_files_alike_excuses_nothing() -> None:
    assert names_of_chance(FIRST, FIRST, left("model.pt")) is None


SCRIPT = """\
import os
import string
import secrets
import torch
{more}
torch.manual_seed(0)
model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    optimizer.zero_grad()
    model(torch.ones(4, 2)).mean().backward()
    optimizer.step()
if int(os.environ.get("RANK", 0)) == 0:
    name = "".join(secrets.choice(string.ascii_lowercase) for _ in range(8))
    os.makedirs(f"runs/{{name}}")
    open(f"runs/{{name}}/log", "w").close()
    {saved}
"""
JOIN = """\
if "RANK" in os.environ:
    torch.distributed.init_process_group("gloo")
"""


@pytest.mark.slow
@pytest.mark.parametrize("lost", [False, True])
def test_a_real_audit(tmp_path: Path, auditor: Auditor, lost: bool) -> None:
    original, converted = tmp_path / "train.py", tmp_path / "dist.py"
    saved = "torch.save(model.state_dict(), 'm.pt')"
    original.write_text(SCRIPT.format(more="", saved=saved))
    converted.write_text(SCRIPT.format(more=JOIN, saved="pass" if lost else saved))
    report = auditor.audit(original, converted, world_sizes=(2,))
    (check,) = [one for one in report.runs[-1].checks if one.name == "same files as the original"]
    assert check.failed is lost, check
