"""How fast outputs train, next to plain work by hand and to Accelerate.

    python benchmarks/throughput.py [--rounds N]

Trains a convolutional classifier, a language model that gathers gradients and a GAN in two
processes of one thread each, over Gloo: as written by hand, as the tool writes them, and with
Accelerate where it is installed (``pip install accelerate==1.15.0``), in turns. Prints the speed of
a step, divided by that of the script by hand in the same round: the median and the least of all
rounds; the same by processor time, which other work on the machine changes less; the collectives
per step.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from transpile import Options, Outcome, convert

SCRIPTS = Path(__file__).with_name("throughput_scripts")
NAMES = ("classifier", "transformer", "gan")
WORLD_SIZE = 2


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7, help="runs of each [7]")
    rounds = parser.parse_args().rounds
    heads = f"{'steps/s':>10}{'least':>8}{'processor':>12}{'least':>8}"
    print(f"{'':26}{heads}  collectives per step", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for name in NAMES:
            scripts = dict(written(name, Path(folder)))
            runs = [{way: run(script) for way, script in scripts.items()} for _ in range(rounds)]
            for way in scripts:
                show(f"{name}, {way}", [each["by hand"] for each in runs], [r[way] for r in runs])


def written(name: str, folder: Path) -> Iterator[tuple[str, Path]]:
    """The scripts of one model, by how they were made distributed."""
    yield "by hand", SCRIPTS / f"{name}_by_hand.py"
    script = SCRIPTS / f"{name}.py"
    result = convert(script.read_text("utf-8"), Options(shard="data"), path=str(script))
    if result.outcome is not Outcome.CONVERTED:
        raise SystemExit(f"{script.name}: {result.outcome}")
    path = folder / script.name
    path.write_text(result.text, "utf-8")
    yield "converted", path
    if importlib.util.find_spec("accelerate") is not None:
        yield "accelerate", SCRIPTS / f"{name}_accelerate.py"


def run(script: Path) -> dict[str, Any]:
    """Run a script as two processes, and return what rank 0 says of its steps."""
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(("127.0.0.1", 0))
        shared = {
            **os.environ,
            "ACCELERATE_USE_CPU": "true",
            "OMP_NUM_THREADS": "1",
            "WORLD_SIZE": str(WORLD_SIZE),
            "LOCAL_WORLD_SIZE": str(WORLD_SIZE),
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(holder.getsockname()[1]),
        }
        words = [sys.executable, str(SCRIPTS / "timed_training.py"), str(script)]
        started = [
            subprocess.Popen(
                words,
                env={**shared, "RANK": str(rank), "LOCAL_RANK": str(rank)},
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
            for rank in range(WORLD_SIZE)
        ]
        outputs = [process.communicate()[0] for process in started]
    if any(process.returncode for process in started):
        raise SystemExit(f"{script} failed")
    found: list[dict[str, Any]] = [json.loads(output.splitlines()[-1]) for output in outputs]
    if any(each["collectives"] != found[0]["collectives"] for each in found):
        raise SystemExit(f"{script}: the ranks have not the same collectives")
    return found[0]


def show(label: str, by_hand: list[dict[str, Any]], own: list[dict[str, Any]]) -> None:
    """Print one row."""
    columns = ""
    for clock in ("wall", "processor"):
        pairs = zip(by_hand, own, strict=True)
        ratios = [quick(hand[clock]) / quick(mine[clock]) for hand, mine in pairs]
        width = 10 if clock == "wall" else 12
        columns += f"{statistics.median(ratios):>{width}.2f}{min(ratios):>8.2f}"
    steps, collectives = own[0]["steps"], own[0]["collectives"]
    counted = ", ".join(f"{count / steps:.1f} {kind}" for kind, count in collectives.items())
    print(f"{label:26}{columns}  {counted}", flush=True)


def quick(seconds: list[float]) -> float:
    """A step that little else interrupted: of four, three take longer."""
    return statistics.quantiles(seconds, n=4)[0]


if __name__ == "__main__":
    main()
