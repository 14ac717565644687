"""Runs a script for NCCL2 without any GPU and prints what it would run; no test itself.

python nccl2_record.py SCRIPT

The transpiler and the programs are those of Fluid; nothing that needs a GPU is run.
"""

import json
import runpy
import sys
from typing import Any

import paddle.fluid as fluid

seen: dict = {  # type: ignore[type-arg]
    "gpus": [],
    "startup": None,
    "executor": None,
    "strategy": None,
    "batches": [],
}


def place(number: int) -> Any:
    seen["gpus"].append(number)
    return fluid.CPUPlace()


def rows(feed: Any) -> Any:
    return {name: list(tensor.shape()) for name, tensor in (feed or {}).items()}


def run(self: Any, program: Any = None, feed: Any = None, **rest: Any) -> Any:
    if feed is None:
        ops = program.global_block().ops
        seen["startup"] = {
            op.type: {name: op.attr(name) for name in ("trainers", "trainer_id")}
            for op in ops
            if op.type == "gen_nccl_id"
        }
        return []
    strategy = getattr(program, "_build_strategy", None)
    if strategy is not None:
        seen["strategy"] = [strategy.num_trainers, strategy.trainer_id]
    seen["batches"].append(rows(feed))
    return []


class ParallelExecutor:
    """Notes what it is given."""

    def __init__(self, **named: Any) -> None:
        seen["executor"] = [named["num_trainers"], named["trainer_id"]]

    def run(self, feed: Any = None, **rest: Any) -> None:
        seen["batches"].append(rows(feed))


fluid.CUDAPlace = place
fluid.Executor.run = run
fluid.ParallelExecutor = ParallelExecutor
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
print("SEEN", json.dumps(seen))
