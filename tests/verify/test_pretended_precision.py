"""Conversions of mixed precision and of chosen GPUs compute on two GPUs what one process does."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
from on_gpus import ran, said

from transpile import Options, convert
from transpile.verify import Auditor
from transpile.verify.launcher import Launcher
from transpile.verify.table import format_report

SCRIPT = """\
import torch, torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(64, 8)
loader = DataLoader(TensorDataset(x, (x.sum(1) > 0).long()), batch_size=16)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2)).to("cuda:0")
# WRAP
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
scaler = torch.amp.GradScaler("cuda", init_scale=SCALE)
for epoch in range(3):
    total = 0.0
    for x, y in loader:
        x, y = x.to("cuda:0"), y.to("cuda:0")
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.DTYPE):
            scores = model(x)
            loss = nn.functional.cross_entropy(scores, y)
        assert scores.dtype in (torch.DTYPE, torch.float64)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        scaler.step(optimizer)
        scaler.update()
        total += loss.item()
    print("epoch", epoch, "loss", total, "scale", scaler.get_scale())
"""
WRAPS = {
    "one GPU": "",
    "numbers": "model = nn.DataParallel(model, device_ids=[0, 1])",
    "those there are": "model = nn.DataParallel(model, list(range(torch.cuda.device_count())))",
    "a choice": "ids = [0, 1]\nmodel = nn.DataParallel(model, ids, ids[0])",
    "a condition": "if torch.cuda.device_count() > 1:\n    model = nn.DataParallel(model)",
}
DTYPES = ("float16", "bfloat16")
WAYS = ("data", "calls")


@pytest.fixture(scope="module")
def auditor() -> Iterator[Auditor]:
    with Auditor(pretend_cuda=2) as running:
        yield running


def script(dtype: str, wrap: str, scale: str = "1024.0") -> str:
    return SCRIPT.replace("DTYPE", dtype).replace("# WRAP", WRAPS[wrap]).replace("SCALE", scale)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dtype", "wrap", "way"),
    [
        *itertools.product(DTYPES, ("one GPU", "numbers"), WAYS),
        *(("float16", wrap, "data") for wrap in list(WRAPS)[2:]),
    ],
)
def test_mixed_precision_is_that_of_one_process(
    auditor: Auditor, tmp_path: Path, dtype: str, wrap: str, way: str
) -> None:
    original, output = tmp_path / "train.py", tmp_path / "train_dist.py"
    original.write_text(script(dtype, wrap))
    output.write_text(
        convert(original.read_bytes(), Options(shard=way), path="train.py").text  # type: ignore
    )
    # In double precision nothing is cast, and all else is equal; in single precision the rest is
    # that of half numbers, which have 3 digits, or 2.
    for double, tolerance in ((True, 1e-9), (False, 0.01 if dtype == "float16" else 0.05)):
        report = auditor.audit(
            original,
            output,
            world_sizes=(2,),
            tolerance=tolerance,
            double=double,
            printed_numbers=True,
        )
        assert report.passed, format_report(report)


@pytest.mark.slow
def test_all_processes_skip_the_steps_that_overflow(tmp_path: Path) -> None:
    text = convert(script("float16", "one GPU", "2.0**24").encode(), path="train.py").text
    assert 'print_once("epoch' in text
    with Launcher(pretend_cuda=2) as launcher:
        run = ran(launcher, tmp_path, text.replace('print_once("epoch', 'print("epoch'))
    assert run.finished, said(run)
    first, second = (
        [line for line in rank.output.splitlines() if "scale" in line] for rank in run.ranks
    )
    assert first == second
    assert float(first[0].split()[-1]) < 2.0**24
