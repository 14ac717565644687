"""What a conversion costs, next to the least that it could cost and to ``black --check``.

    python benchmarks/conversion_cost.py [--rounds N]

For a script of 300 and one of 1,500 lines, alternately and in one run: the conversion, the floor
(``import libcst``, parse, generate code) and ``black --check``, each as a process of its own and
within one process. Prints medians of processor time and the ratios.
"""

from __future__ import annotations

import argparse
import gc
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from training_script import training_script

ROOT = Path(__file__).resolve().parent.parent
LINES = (300, 1500)
FLOOR = """\
import sys
import libcst
with open(sys.argv[1], "rb") as stream:
    tree = libcst.parse_module(stream.read())
sys.stdout.write(tree.code)
"""

Measure = Callable[[], float]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15, help="runs of each [15]")
    rounds = parser.parse_args().rounds
    print(f"{'':34}{'convert':>10}{'floor':>10}{'black':>10}{'/ floor':>10}{'/ black':>10}")
    with tempfile.TemporaryDirectory() as folder:
        for lines in LINES:
            path = Path(folder, f"train_{lines}.py")
            path.write_text(training_script(lines), "utf-8")
            count = path.read_text("utf-8").count("\n")
            show(f"{count} lines, a process", alternate(processes(path, folder), rounds))
            show(f"{count} lines, within a process", alternate(calls(path), rounds))


def alternate(measures: Mapping[str, Measure], rounds: int) -> dict[str, float]:
    """Return the median of each measure, taken in turns after one round that does not count."""
    taken: dict[str, list[float]] = {name: [] for name in measures}
    for turn in range(rounds + 1):
        for name, measure in measures.items():
            seconds = measure()
            if turn:
                taken[name].append(seconds)
    return {name: statistics.median(seconds) for name, seconds in taken.items()}


def processes(path: Path, folder: str) -> dict[str, Measure]:
    """Each as its user starts it."""
    black = ["-m", "black", "--check", "-q", "-l", "100"]
    return {
        "convert": lambda: process(["-m", "transpile", str(path)], {0, 1}, folder),
        "floor": lambda: process(["-c", FLOOR, str(path)], {0}, folder),
        "black": lambda: process([*black, str(path)], {0}, folder),
    }


def process(words: Sequence[str], statuses: set[int], folder: str) -> float:
    """Run Python and return the processor time that it took."""
    environment = with_bytecode(folder)
    with tempfile.TemporaryDirectory() as cache:
        # Otherwise black remembers that it has seen the file.
        environment["BLACK_CACHE_DIR"] = cache
        started = subprocess.Popen(
            [sys.executable, *words],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        assert started.stderr is not None
        errors = started.stderr.read()
        _, status, usage = os.wait4(started.pid, 0)
        started.returncode = os.waitstatus_to_exitcode(status)
    if started.returncode not in statuses:
        raise SystemExit(f"{words} failed:\n{errors.decode()}")
    return usage.ru_utime + usage.ru_stime


def with_bytecode(folder: str | Path) -> dict[str, str]:
    """The environment of a process that keeps bytecode in a folder: what is installed has its."""
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(Path(folder, "bytecode"))}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    return environment


def calls(path: Path) -> dict[str, Measure]:
    """Each as a function, everything imported."""
    import black
    import libcst
    from black.report import NothingChanged

    import transpile

    data = path.read_bytes()
    text = data.decode()
    mode = black.Mode(line_length=100)

    def check() -> None:
        try:
            black.format_file_contents(text, fast=False, mode=mode)
        except NothingChanged:
            return

    return {
        "convert": lambda: timed(lambda: transpile.convert(data, path=str(path))),
        "floor": lambda: timed(lambda: libcst.parse_module(data).code),
        "black": lambda: timed(check),
    }


def timed(call: Callable[[], object]) -> float:
    """Return the processor time of one call."""
    gc.collect()
    before = time.process_time()
    call()
    return time.process_time() - before


def show(label: str, medians: Mapping[str, float]) -> None:
    """Print one row."""
    convert, floor, black = (medians[name] for name in ("convert", "floor", "black"))
    times = "".join(f"{1000 * seconds:>7.0f} ms" for seconds in (convert, floor, black))
    print(f"{label:34}{times}{convert / floor:>10.2f}{convert / black:>10.2f}", flush=True)


if __name__ == "__main__":
    main()
