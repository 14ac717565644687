"""Every converted fixture on a real GPU, where there is one, next to its original.

One process over NCCL, and two that share the GPU over Gloo: NCCL takes no two on one.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cases import Case, cases
from on_gpus import ran, said

from transpile import Options, convert
from transpile.verify import Auditor
from transpile.verify.launcher import Launcher
from transpile.verify.table import format_report

CONVERTED = [case for case in cases("pytorch") if case.expect == "converted"]
#: Outputs that do not train there as their originals, with the reason.
EXCEPTIONS: dict[str, str] = {}

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def on_gpu() -> Iterator[Auditor]:
    """An auditor that lets scripts see the GPU; skips where CUDA sees none."""
    import torch

    # Counted without a use of CUDA, after which forked processes could not use it.
    if not torch.cuda.device_count():
        pytest.skip("CUDA sees no GPU on this machine")
    with Auditor(cuda=True, share_gpus=True) as running:
        yield running


def parameter(case: Case) -> Any:
    reason = EXCEPTIONS.get(case.folder.name)
    marks = [] if reason is None else [pytest.mark.xfail(reason=reason)]
    return pytest.param(case, id=case.folder.name, marks=marks)


@pytest.mark.parametrize("case", [parameter(case) for case in CONVERTED])
def test_output_trains_on_a_gpu(case: Case, on_gpu: Auditor) -> None:
    report = on_gpu.audit(
        case.script,
        case.expected_output,
        world_sizes=(1, 2),
        arguments=case.arguments,
        batch_size=str(dict(case.options).get("batch_size", "global")),  # type: ignore[arg-type]
        tolerance=1e-5 if case.deterministic else None,
        workdir_seed=case.folder,
        length_may_differ=case.length_may_differ,
        launched=True,
        timeout_seconds=90,
    )
    assert report.passed, format_report(report)


def test_two_processes_on_one_gpu_stop(tmp_path: Path) -> None:
    """Without sharing it, NCCL says which processes use one GPU, and all of them end."""
    import torch

    if torch.cuda.device_count() != 1:
        pytest.skip("there is not one GPU on this machine")
    script = Path(__file__).parent / "scripts" / "on_gpu.py"
    output = convert(script.read_bytes(), Options(), path="train.py").text
    with Launcher(cuda=True) as launcher:
        run = ran(launcher, tmp_path, output)
    assert not run.finished
    assert "Duplicate GPU detected" in said(run), said(run)
