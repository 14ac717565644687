"""Runs a training script as one rank, and prints what its steps cost.

    python timed_training.py SCRIPT

Prints a line of JSON: the seconds and the seconds of processor time of each step of the optimizer
that steps first, and how many collectives of each kind there were in the steps that were counted.
"""

from __future__ import annotations

import json
import runpy
import sys
import time
from collections import Counter
from itertools import pairwise
from pathlib import Path

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook

#: Steps that start things up, then steps whose collectives are counted; the others are timed.
WARM_UP, COUNTED = 5, 10


def main() -> None:
    """Run the script, and print."""
    script = sys.argv[1]
    ends: list[tuple[float, float]] = []
    counts: Counter[str] = Counter()
    profiler = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU])
    first: list[object] = []
    steps = 0

    def after_step(optimizer: object, *_: object) -> None:
        nonlocal steps
        if not first:
            first.append(optimizer)
        if optimizer is not first[0]:
            return
        steps += 1
        if steps == WARM_UP:
            profiler.start()
        elif steps == WARM_UP + COUNTED:
            profiler.stop()
            names = (event.name for event in profiler.events())
            counts.update(name.removeprefix("gloo:") for name in names if name.startswith("gloo:"))
        if steps > WARM_UP + COUNTED:
            ends.append((time.perf_counter(), time.process_time()))

    register_optimizer_step_post_hook(after_step)
    sys.argv = [script]
    sys.path.insert(0, str(Path(script).parent))
    runpy.run_path(script, run_name="__main__")
    taken = [[b - a for a, b in zip(*pair, strict=True)] for pair in pairwise(ends)]
    wall, processor = (list(each) for each in zip(*taken, strict=True))
    found = {"wall": wall, "processor": processor, "steps": COUNTED, "collectives": counts}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
