"""How the run of one process decides what depends on its position."""

from __future__ import annotations

import pytest

from transpile.auditing import audit

SCRIPT = """
import argparse
import os
import torch
import torch.distributed as dist

parser = argparse.ArgumentParser()
parser.add_argument("--distributed", action="store_true")
parser.add_argument("--every", type=int, default=2)
args = parser.parse_args()
dist.init_process_group("gloo")
rank = 0
if args.distributed:
    rank = dist.get_rank()
local_rank = int(os.environ.get("LOCAL_RANK", 0))
if {test}:
    torch.save({{}}, "state.pt")
dist.destroy_process_group()
"""


def codes(test: str) -> list[str]:
    return [finding.code for finding in audit(SCRIPT.format(test=test))]


@pytest.mark.parametrize(
    "test",
    [
        "rank == 0",
        "not rank",
        "args.distributed and dist.get_rank() == 0",
        "not args.distributed or dist.get_rank() == 0",
        "rank in (-1, 0)",
        "dist.get_rank() % args.every == 0",
        'os.environ["RANK"] == "0"',
    ],
)
def test_a_test_of_the_rank_guards_whatever_stands_beside_it(test: str) -> None:
    assert codes(test) == []


@pytest.mark.parametrize(
    ("test", "code"),
    [
        ("dist.get_world_size() > 1", "AU401"),
        ("args.distributed", "AU401"),
        ("dist.is_initialized()", "AU401"),
        ("local_rank == 0", "AU402"),
        ("args.distributed and local_rank in [-1, 0]", "AU402"),
        ("(args.node * args.every + local_rank) % args.every == 0", "AU402"),
    ],
)
def test_what_is_no_test_of_the_rank_guards_nothing(test: str, code: str) -> None:
    assert codes(test) == [code]
