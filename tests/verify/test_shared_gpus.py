"""Processes that are more than the GPUs share these, over Gloo."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from ranks import held_port, run_all

from transpile.cli.commands.verify import command

ROOT = Path(__file__).resolve().parents[2]

SHARING = """\
import datetime, torch, torch.distributed as dist
from transpile.verify.worker.gpus import share

torch.cuda.device_count = lambda: {gpus}
share(2)
dist.init_process_group("{backend}", timeout=datetime.timedelta(seconds=30), **{named})
x = torch.ones(1)
dist.all_reduce(x, group=dist.new_group(backend="nccl"))
dist.barrier(device_ids=[0])
print(dist.get_backend(), x.item())
"""


def said(folder: Path, **values: object) -> list[str]:
    """What two processes say on a machine of so many GPUs."""
    script = folder / "train.py"
    script.write_text(SHARING.format(**{"named": {}, **values}))
    with held_port() as port:
        job = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
        ranks = [{"RANK": str(rank), **job} for rank in range(2)]
        ended = run_all(
            [[sys.executable, script.name]] * 2, folder, ranks, {"PYTHONPATH": str(ROOT)}
        )
    return [rank.output.strip() or rank.errors for rank in ended]


@pytest.mark.parametrize("backend", ["nccl", "cpu:gloo,cuda:nccl"])
def test_more_processes_than_gpus_meet_over_gloo(tmp_path: Path, backend: str) -> None:
    assert said(tmp_path, gpus=1, backend=backend) == ["gloo 2.0"] * 2


def test_the_number_of_a_gpu_is_no_matter_then(tmp_path: Path) -> None:
    named = "{'device_id': torch.device('cuda:0')}"
    assert said(tmp_path, gpus=1, backend="nccl", named=named) == ["gloo 2.0"] * 2


def test_processes_with_gpus_of_their_own_keep_nccl(tmp_path: Path) -> None:
    assert all("NCCL" in text for text in said(tmp_path, gpus=2, backend="nccl"))


def test_sharing_is_for_gpus_of_the_machine(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.touch()
    result = CliRunner().invoke(command, [str(script), str(script), "--share-gpus"])
    assert result.exit_code == 2
    assert "--share-gpus is for --cuda" in result.output
