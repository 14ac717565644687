"""What ``--explain-numbers`` says is what converted scripts do."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cases import Case, cases

from transpile import Options, convert
from transpile.verify.evidence import Iteration, RankEvidence, RunEvidence
from transpile.verify.launcher import Launcher

#: Fixtures without files of their own, of every way to draw batches and to count steps.
NAMES = (
    "accumulation_tail",
    "gradient_accumulation",
    "iteration_based",
    "mnist_arguments",
    "random_split_seeded",
    "schedule_by_length",
)
CASES = [case for case in cases("pytorch") if case.script.parent.name in NAMES]


@pytest.fixture(scope="module")
def launcher() -> Iterator[Launcher]:
    with Launcher() as running:
        yield running


def figures(document: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    """For each section of a kind, quantity to what it is after the conversion."""
    return [
        {figure["quantity"]: figure["after"] for figure in section["figures"]}
        for section in document["sections"]
        if section["kind"] == kind
    ]


def number(found: dict[str, Any] | None) -> float | None:
    """A number that is certain."""
    if found is None or found.get("at_most"):
        return None
    value: float | None = found.get("value")
    return value


def agrees(said: dict[str, Any], seen: Iteration) -> bool:
    """Whether a pass over a loader went as was said."""
    sizes = [len(batch) for batch in seen.batches]
    steps, batch = number(said.get("steps per epoch")), number(said.get("batch per process"))
    samples = number(said.get("samples per epoch and process"))
    if batch is not None and sizes[0] != min(batch, samples or batch):
        return False
    if not seen.exhausted:
        return True
    return steps in (None, len(sizes)) and samples in (None, sum(sizes))


def compare(document: dict[str, Any], rank: RankEvidence) -> list[str]:
    """Where a process did something else than was said."""
    wrong = []
    drawn = figures(document, "data")
    for seen in rank.training:
        if drawn and not any(agrees(said, seen) for said in drawn):
            wrong.append(f"a pass of {[len(batch) for batch in seen.batches]}")
    optimizers = figures(document, "optimizer")
    if len(optimizers) == len(rank.optimizers):
        for said, optimizer in zip(optimizers, rank.optimizers, strict=True):
            steps = said.get("optimizer steps altogether")
            value = (steps or {}).get("value")
            more = value is not None and optimizer.steps > value
            if more or number(steps) not in (None, optimizer.steps):
                wrong.append(f"{optimizer.steps} steps, said {steps}")
            rate = number(said.get("learning rate"))
            first = optimizer.learning_rates[0][0]
            if rate is not None and not document_has_schedule(document) and first != rate:
                wrong.append(f"learning rate {first}, said {rate}")
    return wrong


def document_has_schedule(document: dict[str, Any]) -> bool:
    return any(section["kind"] == "schedule" for section in document["sections"])


def run(
    launcher: Launcher, case: Case, world_size: int, options: Options, folder: Path
) -> tuple[dict[str, Any], RunEvidence]:
    """What is said of a case, and what happens when it runs without arguments."""
    result = convert(case.script.read_bytes(), options, path=str(case.script))
    work, evidence = folder / "work", folder / "evidence"
    shutil.copytree(case.folder, work)
    evidence.mkdir()
    (work / "train.py").write_bytes(result.data)
    seen = launcher.run(
        work / "train.py",
        [],
        world_size=world_size,
        working_directory=work,
        evidence=evidence,
        folders={work: ""},
        timeout_seconds=90,
    )
    return dict(result.plan["numbers"]), seen


@pytest.mark.parametrize("world_size", [1, 2, 4])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_numbers_are_those_of_a_run(
    launcher: Launcher, tmp_path: Path, case: Case, world_size: int
) -> None:
    options = Options(explain_numbers=world_size)
    said, seen = run(launcher, case, world_size, options, tmp_path)
    if said["problems"]:
        assert any("is not divisible by" in rank.errors for rank in seen.ranks)
        return
    assert seen.finished, seen.first.errors
    for rank in seen.ranks:
        assert compare(said, rank) == []


@pytest.mark.parametrize("scale", ["none", "linear", "sqrt"])
def test_numbers_of_larger_batches_are_those_of_a_run(
    launcher: Launcher, tmp_path: Path, scale: Any
) -> None:
    case = next(case for case in CASES if case.script.parent.name == "gradient_accumulation")
    options = Options(explain_numbers=2, batch_size="per-device", scale_lr=scale)
    said, seen = run(launcher, case, 2, options, tmp_path)
    assert seen.finished, seen.first.errors
    (drawn,) = figures(said, "data")
    assert drawn["steps per epoch"] == {"value": 12}
    for rank in seen.ranks:
        assert compare(said, rank) == []


def test_a_wrong_number_is_seen(launcher: Launcher, tmp_path: Path) -> None:
    case = next(case for case in CASES if case.script.parent.name == "accumulation_tail")
    said, seen = run(launcher, case, 2, Options(explain_numbers=2), tmp_path)
    for section in said["sections"]:
        for figure in section["figures"]:
            if figure["quantity"] == "optimizer steps altogether":
                figure["after"]["value"] -= 1
    assert compare(said, seen.first) != []
