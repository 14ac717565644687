"""A script that is distributed is never said not to be, where the audit cannot see how."""

from __future__ import annotations

import pytest

from transpile.auditing import audit

UNUSED = """\
import torch
from torch.nn.parallel import DistributedDataParallel
import torch.distributed as dist

DISTRIBUTED = False
model = torch.nn.Linear(2, 1)
if DISTRIBUTED:
    dist.init_process_group("nccl")
    model = DistributedDataParallel(model)
"""
PADDLE = """\
import paddle

paddle.distributed.init_parallel_env()
model = paddle.DataParallel(paddle.nn.Linear(2, 1))
"""
PLAIN = """\
import torch

model = torch.nn.Linear(2, 1)
"""


@pytest.mark.parametrize(("text", "code"), [(UNUSED, "AU003"), (PADDLE, "AU003"), (PLAIN, "AU001")])
def test_what_is_said_of_a_script(text: str, code: str) -> None:
    assert [found.code for found in audit(text)] == [code]
