"""The stand-in for GPUs: which GPU a barrier uses, and groups that are bound to one.

PyTorch documents the order of `barrier`: the device that the call names, that of
`init_process_group`, the first that the group used; where NCCL is one of several backends and none
of these is given, the CPU waits. A group that is bound refuses tensors of other GPUs.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from on_gpus import ran, said

from transpile.verify.launcher import Launcher

START = """\
import os
import torch, torch.distributed as dist
rank = int(os.environ["RANK"])
"""
BOTH, NCCL = 'dist.init_process_group("cpu:gloo,cuda:nccl"', 'dist.init_process_group("nccl"'
OWN = "torch.cuda.set_device(rank)\n"
#: What two processes do, and what is said; nothing where all is well.
CASES = {
    "a barrier before any process has chosen its GPU": (
        f"{NCCL})\ndist.barrier()\n{OWN}",
        "NCCL error in barrier, invalid usage: Duplicate GPU detected",
    ),
    "a barrier of both backends before the GPUs are chosen": (f"{BOTH})\ndist.barrier()\n", ""),
    "a barrier of both backends that names the same GPU in all processes": (
        f"{BOTH})\ndist.barrier(device_ids=[0])\n",
        "NCCL error in barrier, invalid usage: Duplicate GPU detected",
    ),
    "a barrier on the GPU that the group used before": (
        f'{NCCL})\ndist.all_reduce(torch.ones(1, device=f"cuda:{{rank}}"))\ndist.barrier()\n',
        "",
    ),
    "a barrier on the GPU that the group is bound to": (
        f'{NCCL}, device_id=torch.device("cuda", rank))\ndist.barrier()\n',
        "",
    ),
    "a barrier of both backends, bound to GPUs": (
        f'{BOTH}, device_id=torch.device("cuda", rank))\ndist.barrier()\n',
        "",
    ),
    "a barrier of a bound group that names another GPU": (
        f'{BOTH}, device_id=torch.device("cuda", rank))\ndist.barrier(device_ids=[1 - rank])\n',
        "Attempt to perform collective on tensor not on device passed to init_process_group",
    ),
    "a tensor of another GPU in a bound group": (
        f'{BOTH}, device_id=torch.device("cuda", rank))\n'
        'dist.all_reduce(torch.ones(1, device=f"cuda:{1 - rank}"))\n',
        "Attempt to perform collective on tensor not on device passed to init_process_group",
    ),
    "objects of a bound group where no GPU is the current one": (
        f'{NCCL}, device_id=torch.device("cuda", rank))\ndist.all_gather_object([0, 0], rank)\n',
        "(all_gather_object: cuda:0, but the group is bound to cuda:1)",
    ),
    "a tensor of another GPU in a group made of a bound one": (
        f'{NCCL}, device_id=torch.device("cuda", rank))\n{OWN}'
        'dist.all_reduce(torch.ones(1, device=f"cuda:{1 - rank}"), group=dist.new_group())\n',
        "not on device passed to init_process_group",
    ),
    "a device alone chooses NCCL alone": (
        'dist.init_process_group(device_id=torch.device("cuda", rank))\n'
        "dist.all_reduce(torch.ones(1))\n",
        "No backend type associated with device type cpu (all_reduce)",
    ),
    "a device by its number": (f"{NCCL}, device_id=rank)\ndist.barrier()\n", ""),
}


@pytest.fixture(scope="module")
def launcher() -> Iterator[Launcher]:
    with Launcher(pretend_cuda=2) as running:
        yield running


@pytest.mark.parametrize("name", CASES)
def test_groups_use_the_gpus_of_nccl(launcher: Launcher, tmp_path: Path, name: str) -> None:
    text, message = CASES[name]
    run = ran(launcher, tmp_path, START + text, seconds=30)
    assert run.finished is not bool(message), said(run)
    assert message in said(run)
