"""What it costs to split the calls of a model, next to sharded batches and to work by hand.

    python benchmarks/split_calls.py [--rounds N]

Trains a convolutional classifier, a language model and a contrastive model in two processes of one
thread each, over Gloo: as the tool writes them with ``--shard data`` and with ``--shard calls``,
and as written by hand, in turns. Prints samples per second, divided by those of the script by hand
in the same round: the median and the least of all rounds; the same by processor time, which other
work on the machine changes less; the bytes that a rank gathers in a step, and its collectives.

Sharded batches give the contrastive model another loss, of which the tool warns: not measured.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from transpile import Options, Outcome, convert

SCRIPTS = Path(__file__).with_name("split_calls_scripts")
#: The scripts, and the ways of the tool that train what one process would.
MODELS: dict[str, tuple[Literal["data", "calls"], ...]] = {
    "classifier": ("data", "calls"),
    "transformer": ("data", "calls"),
    "contrastive": ("calls",),
}
WORLD_SIZE = 2
#: All that is gathered is of float32.
VALUE_BYTES = 4


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7, help="runs of each [7]")
    rounds = parser.parse_args().rounds
    heads = f"{'samples/s':>12}{'least':>8}{'processor':>12}{'least':>8}{'gathered':>12}"
    print(f"{'':26}{heads}  collectives", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for name in MODELS:
            scripts = dict(written(name, Path(folder, name)))
            runs = [{way: run(script) for way, script in scripts.items()} for _ in range(rounds)]
            for way in scripts:
                show(f"{name}, {way}", [each["by hand"] for each in runs], [r[way] for r in runs])


def written(name: str, folder: Path) -> Iterator[tuple[str, Path]]:
    """The scripts of one model, by how they were made distributed."""
    yield "by hand", SCRIPTS / f"{name}_by_hand.py"
    script = SCRIPTS / f"{name}.py"
    for way in MODELS[name]:
        result = convert(script.read_text("utf-8"), Options(shard=way), path=str(script))
        if result.outcome is not Outcome.CONVERTED:
            raise SystemExit(f"{script.name} with --shard {way}: {result.outcome}")
        path = folder / way / script.name
        path.parent.mkdir(parents=True)
        path.write_text(result.text, "utf-8")
        yield f"--shard {way}", path


def run(script: Path) -> dict[str, Any]:
    """Run a script as two processes, and return what rank 0 says of its steps."""
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(("127.0.0.1", 0))
        started = []
        for rank in range(WORLD_SIZE):
            environment = {
                **os.environ,
                "OMP_NUM_THREADS": "1",
                "RANK": str(rank),
                "LOCAL_RANK": str(rank),
                "WORLD_SIZE": str(WORLD_SIZE),
                "MASTER_ADDR": "127.0.0.1",
                "MASTER_PORT": str(holder.getsockname()[1]),
            }
            words = [sys.executable, str(SCRIPTS / "timed_steps.py"), str(script)]
            started.append(
                subprocess.Popen(
                    words,
                    env=environment,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    text=True,
                )
            )
        outputs = [process.communicate()[0] for process in started]
    if any(process.returncode for process in started):
        raise SystemExit(f"{script} failed")
    found: dict[str, Any] = json.loads(outputs[0].splitlines()[-1])
    return found


def show(label: str, by_hand: list[dict[str, Any]], own: list[dict[str, Any]]) -> None:
    """Print one row."""
    columns = ""
    for clock in ("wall", "processor"):
        pairs = zip(by_hand, own, strict=True)
        ratios = [quick(hand[clock]) / quick(mine[clock]) for hand, mine in pairs]
        columns += f"{statistics.median(ratios):>12.2f}{min(ratios):>8.2f}"
    collectives = own[0]["collectives"]
    gathered = sum(values for kind, values in collectives if kind == "all_gather")
    kinds = [kind for kind, _ in collectives]
    counted = ", ".join(f"{kinds.count(kind)} {kind}" for kind in sorted(set(kinds)))
    print(f"{label:26}{columns}{gathered * WORLD_SIZE * VALUE_BYTES:>12,}  {counted}", flush=True)


def quick(seconds: list[float]) -> float:
    """A step that little else interrupted: of four, three take longer."""
    return statistics.quantiles(seconds, n=4)[0]


if __name__ == "__main__":
    main()
