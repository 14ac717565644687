"""Runs a training script as one rank, and prints what its steps cost.

    python timed_steps.py SCRIPT

Prints a line of JSON: the seconds and the seconds of processor time that the steps took, and the
collectives of one step, each with the number of values that a rank hands in.
"""

from __future__ import annotations

import json
import math
import runpy
import sys
import time
from itertools import pairwise
from pathlib import Path

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook

#: Steps that start things up: the first batches are compared, buckets of gradients recreated.
WARM_UP = 5


def main() -> None:
    """Run the script, and print."""
    script = sys.argv[1]
    collectives: list[tuple[str, int]] = []
    ends: list[tuple[float, float]] = []
    profiler = torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=True
    )
    steps = 0

    def after_step(*_: object) -> None:
        nonlocal steps
        steps += 1
        if steps == WARM_UP:
            profiler.start()
        if steps == WARM_UP + 1:
            profiler.stop()
            for event in profiler.events():
                if event.name.startswith("gloo:"):
                    values = sum(math.prod(shape) for shape in event.input_shapes)
                    collectives.append((event.name.removeprefix("gloo:"), values))
        if steps > WARM_UP:
            ends.append((time.perf_counter(), time.process_time()))

    register_optimizer_step_post_hook(after_step)
    sys.argv = [script]
    sys.path.insert(0, str(Path(script).parent))
    runpy.run_path(script, run_name="__main__")
    taken = [[b - a for a, b in zip(*pair, strict=True)] for pair in pairwise(ends)]
    wall, processor = (list(each) for each in zip(*taken, strict=True))
    print(json.dumps({"wall": wall, "processor": processor, "collectives": collectives}))


if __name__ == "__main__":
    main()
