"""Converts random training programs, runs them, and tells which go wrong.

    python tests/random_programs.py --count 500 --seed 0 [--shard WAY] [--jobs J] [--keep FOLDER]
    python tests/random_programs.py --scripts FILE...

Each program runs as one process and, converted, as one, two and three. One that goes wrong without
a warning is made smaller while it still does, and kept in the folder. Ends with the table of
outcomes by construct; the status is 1 if a program went wrong. `--without loss.classes=focal`
leaves a construct out, `--with template=tensor_totals` gives all the same choice. With `--scripts`
these are taken in place of random programs.

With `--pretend-cuda` the programs put their models onto GPUs, by flags or without, with mixed
precision or without, and run on two pretended ones; converted, as one process and as two. Those
that decide by a result run once more with results that differ from process to process. With
`--on-gpu` they run on the GPU of this machine, converted as one process over NCCL and as two that
share it over Gloo; `--seconds` begins none after so long.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import multiprocessing
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from programs.check import BROKEN, PRETENDED, REAL, Checked, check
from programs.methods import called_by_method
from programs.processes import Gpus
from programs.program import Program, program
from programs.shrink import shrunk
from programs.table import Table

from transpile import Options

MODULES = ("torch.distributed", "torch.nn.parallel", "torch.utils.data", "torch._dynamo")


def main(arguments: list[str]) -> int:
    """Run as many programs as told."""
    options = parse(arguments)
    prepare()
    if options.scripts:
        return check_scripts(options.scripts, options.shard, gpus_of(options))
    started = time.monotonic()
    seeds = [
        range(options.seed + job, options.seed + options.count, options.jobs)
        for job in range(options.jobs)
    ]
    table = Table()
    count = wrong = 0
    fixed = tuple((name, given) for name, _, given in (one.partition("=") for one in options.fixed))
    how = How(
        options.shard,
        tuple(options.without),
        gpus_of(options),
        options.seconds,
        options.methods,
        fixed,
    )
    for made, checked in results(seeds, how):
        count += 1
        table.add(made, checked)
        if options.verbose:
            print(made.seed, checked.outcome, checked.details, flush=True)
        if checked.outcome == BROKEN:
            print(f"seed {made.seed}: {BROKEN}: {checked.details}", flush=True)
        elif checked.is_wrong:
            wrong += 1
            print(f"seed {made.seed}: {checked.outcome}: {checked.details}", flush=True)
            if options.keep:
                print(f"    kept as {keep(made, checked, options.keep, how)}", flush=True)
    print(table)
    took = time.monotonic() - started
    print(f"{count} programs from seed {options.seed} in {took:.0f} s, {wrong} wrong")
    return int(wrong > 0)


def gpus_of(options: argparse.Namespace) -> Gpus | None:
    """The GPUs that the command line chooses."""
    if options.on_gpu:
        return REAL
    return PRETENDED if options.pretend_cuda else None


def check_scripts(scripts: list[Path], way: str, gpus: Gpus | None) -> int:
    """Say what comes of some scripts, a line for each."""
    wrong = False
    for path in scripts:
        checked = check(path.read_text("utf-8"), options_of(way), way=way, gpus=gpus)
        wrong = wrong or checked.is_wrong
        print(f"{path.name}: {checked.outcome}: {' '.join(checked.details.split())}", flush=True)
    return int(wrong)


def parse(arguments: list[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--shard", default="data", choices=("data", "calls", "auto"))
    parser.add_argument("--without", action="append", default=[], metavar="CONSTRUCT")
    parser.add_argument(
        "--with", action="append", default=[], dest="fixed", metavar="CHOICE=OPTION"
    )
    parser.add_argument("--scripts", nargs="+", type=Path)
    parser.add_argument("--methods", action="store_true", help="call models by a method")
    parser.add_argument("--keep", type=Path, help="folder for what goes wrong, made small")
    parser.add_argument("--pretend-cuda", action="store_true", help="on two pretended GPUs")
    parser.add_argument("--on-gpu", action="store_true", help="on the GPU of this machine")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin none later")
    parser.add_argument("--verbose", action="store_true", help="a line for each program")
    return parser.parse_args(arguments)


def prepare() -> None:
    """Import what every process needs, so that forks have it."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    # Asked otherwise, a GPU is of no use to the processes that are forked afterwards.
    os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"
    torch = importlib.import_module("torch")
    for name in MODULES:
        importlib.import_module(name)
    torch.set_num_threads(1)
    check("import torch", Options())
    gc.collect()
    gc.freeze()


def options_of(way: str) -> Options:
    """The options of a conversion in one way, where this version of the tool has ways."""
    chosen: dict[str, Any] = {}
    if any(field.name == "shard" for field in fields(Options)):
        chosen["shard"] = way
    return Options(**chosen)


@dataclass(frozen=True)
class How:
    """How programs are made and converted.

    Args:
        way: the value of ``--shard``.
        without: constructs that are left out.
        gpus: the GPUs that they run on; None for the CPU.
        seconds: after how long no program is begun any more.
        methods: models of classes are called by a method of their own.
        fixed: choices that all programs have in common, by name.
    """

    way: str
    without: tuple[str, ...] = ()
    gpus: Gpus | None = None
    seconds: float = float("inf")
    methods: bool = False
    fixed: tuple[tuple[str, str], ...] = ()


def results(seeds: list[range], how: How) -> Iterator[tuple[Program, Checked]]:
    """Every program with what came of it; several workers if there are several ranges."""
    end = time.monotonic() + how.seconds
    if len(seeds) == 1:
        for seed in seeds[0]:
            if time.monotonic() >= end:
                return
            yield examined(seed, how)
        return
    with multiprocessing.get_context("fork").Pool(len(seeds)) as pool:
        tasks = [(seed, how, end) for turn in zip(*seeds, strict=False) for seed in turn]
        for found in pool.imap_unordered(_examined, tasks):
            if found is not None:
                yield found


def _examined(task: tuple[int, How, float]) -> tuple[Program, Checked] | None:
    seed, how, end = task
    return examined(seed, how) if time.monotonic() < end else None


def examined(seed: int, how: How) -> tuple[Program, Checked]:
    """The program of a seed and what comes of it."""
    made = program(seed, dict(how.fixed), without=how.without, gpus=how.gpus is not None)
    return made, outcome_of(made, how)


def outcome_of(made: Program, how: How) -> Checked:
    """What comes of a program."""
    text = called_by_method(made.text) if how.methods else made.text
    return check(text, options_of(how.way), made.inexact, how.way, how.gpus)


def keep(made: Program, checked: Checked, folder: Path, how: How) -> Path:
    """Make a failing program small and write it and its output."""
    # Each attempt at what hangs takes as long as a hang is waited for.
    attempts = 6 if checked.outcome == "hang" else 80
    small = shrunk(
        made, lambda other: outcome_of(other, how).kind == checked.kind, attempts=attempts
    )
    last = outcome_of(small, how)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{how.way}{'_gpus' if how.gpus else ''}_{made.seed}.py"
    text = called_by_method(small.text) if how.methods else small.text
    path.write_text(f"# {last.outcome}: {' '.join(last.details.split())[:300]}\n{text}")
    path.with_suffix(".out").write_text(last.converted)
    return path


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
