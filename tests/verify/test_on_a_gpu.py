"""Outputs on a real GPU, where there is one: one process over NCCL, two over Gloo."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest
from cases import Case, cases, converted
from ranks import Ended, held_port, run_all, run_ranks

NAMES = (
    "main_sgd",
    "mnist_arguments",
    "gan",
    "mixed_precision",
    "early_stopping",
    "frozen_backbone",
)
CASES = [case for case in cases("pytorch") if case.folder.name in NAMES]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", autouse=True)
def gpu() -> None:
    """Skip these tests where CUDA sees no GPU."""
    import torch

    if not torch.cuda.is_available():
        pytest.skip("CUDA sees no GPU on this machine")


def script_of(case: Case, folder: Path, **options: object) -> Path:
    """The output in a folder like that of the script."""
    shutil.copytree(case.folder, folder / "run")
    script = folder / "run" / "train_dist.py"
    script.write_bytes(converted(case, **options).data)
    return script


def ended_well(ranks: list[Ended]) -> None:
    assert [rank.status for rank in ranks] == [0] * len(ranks), ranks[0].errors


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.folder.name)
def test_one_process_over_nccl(case: Case, tmp_path: Path) -> None:
    script = script_of(case, tmp_path)
    with held_port() as port:
        job = {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1"}
        command = [sys.executable, script.name, *case.arguments]
        ended_well(run_all([command], script.parent, [{**job, "MASTER_PORT": port}], {}))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.folder.name)
def test_two_processes_over_gloo(case: Case, tmp_path: Path) -> None:
    ended_well(run_ranks(script_of(case, tmp_path, backend="gloo"), 2))
