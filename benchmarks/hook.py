"""What the hooks cost, beside ruff and black, on files without and with training.

    python benchmarks/hook.py [--idle 2000] [--training 20] [--tries 3]

A folder of scripts of standard-library modules, and one of training scripts, are given file by
file, as pre-commit does, to `disttranspile --check` and `disttranspile audit`, to `ruff check`,
`ruff format --check` and `black --check`. Prints the least of several times, in seconds of the
clock and, behind a slash, of all processors together, which a busy machine tells more truly: the
first run, which keeps nothing yet and finds nothing kept, and a run when nothing has changed.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from training_script import training_script

# A command line has so many names at most; pre-commit parts them likewise.
_AT_ONCE = 1000
_LINES = 300
# Modules of the standard library are longer than those of most projects.
_LONGEST = 12_000

#: Seconds of the clock, and of all processors.
Time = tuple[float, float]


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--idle", type=int, default=2000, help="files without training")
    parser.add_argument("--training", type=int, default=20, help="training scripts")
    parser.add_argument("--tries", type=int, default=3)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        idle = idle_files(folder / "idle", chosen.idle)
        training = training_files(folder / "training", chosen.training)
        lines = sum(path.read_text("utf-8", "replace").count("\n") for path in idle)
        print(f"{len(idle)} files without training ({lines} lines); {len(training)} that train")
        print(f"{'':24}{'without':>28}{'with training':>28}")
        print(f"{'':24}" + 2 * f"{'first':>14}{'again':>14}")
        for title, words, forget in commands(folder):
            times: list[Time] = []
            for files in (idle, training):
                times += measured(words, files, forget, chosen.tries)
            cells = [f"{clock:.2f} / {processor:.2f}" for clock, processor in times]
            print(f"{title:24}" + "".join(f"{each:>14}" for each in cells), flush=True)


def commands(folder: Path) -> list[tuple[str, list[str], list[Path]]]:
    """The programs, how they are called, and what they keep."""
    scripts = Path(sysconfig.get_path("scripts"))
    tool = [sys.executable, "-m", "transpile"]
    hook = ["--force-exclude", "--quiet", "--cache-dir", str(folder / "kept")]
    ruff, black = str(scripts / "ruff"), str(scripts / "black")
    kept = [folder / "kept"]
    ruffs, blacks = folder / "ruff", folder / "black"
    os.environ["BLACK_CACHE_DIR"] = str(blacks)
    return [
        ("disttranspile --check", [*tool, "--check", *hook], kept),
        ("disttranspile audit", [*tool, "audit", *hook], kept),
        ("ruff check", [ruff, "check", "-q", "--isolated", "--cache-dir", str(ruffs)], [ruffs]),
        (
            "ruff format --check",
            [ruff, "format", "-q", "--check", "--isolated", "--cache-dir", str(ruffs)],
            [ruffs],
        ),
        ("black --check", [black, "-q", "--check", "--config", os.devnull], [blacks]),
    ]


def measured(
    words: Sequence[str], files: Sequence[Path], forget: Sequence[Path], tries: int
) -> tuple[Time, Time]:
    """The least times of a run that knows nothing, and of one behind it."""
    first, again = [], []
    for _ in range(tries):
        for folder in forget:
            shutil.rmtree(folder, ignore_errors=True)
        first.append(run(words, files))
        again.append(run(words, files))
    return min(first), min(again)


def run(words: Sequence[str], files: Sequence[Path]) -> Time:
    """How long it takes to look at files: by the clock, and of all processors."""
    started, used = time.perf_counter(), processors()
    for at in range(0, len(files), _AT_ONCE):
        part = [str(path) for path in files[at : at + _AT_ONCE]]
        subprocess.run([*words, *part], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - started, processors() - used


def processors() -> float:
    """What processes that have ended took of all processors."""
    found = resource.getrusage(resource.RUSAGE_CHILDREN)
    return found.ru_utime + found.ru_stime


def idle_files(folder: Path, count: int) -> list[Path]:
    """Modules of the standard library, copied as often as it takes."""
    folder.mkdir()
    library = Path(sysconfig.get_path("stdlib"))
    found = [path for path in sorted(library.glob("*/*.py")) if "site-packages" not in path.parts]
    texts = [path.read_bytes() for path in found if path.stat().st_size < _LONGEST]
    files = []
    for number in range(count):
        files.append(folder / f"module{number}.py")
        files[-1].write_bytes(texts[number % len(texts)])
    return files


def training_files(folder: Path, count: int) -> list[Path]:
    """Training scripts of usual length, no two the same."""
    files = []
    for number in range(count):
        files.append(folder / f"job{number}" / "train.py")
        files[-1].parent.mkdir(parents=True)
        files[-1].write_text(training_script(_LINES + 5 * number), "utf-8")
    return files


if __name__ == "__main__":
    main()
