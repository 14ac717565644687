"""What a conversion costs, and how that grows: with lines, modules, and files that do not train.

    python benchmarks/scale.py [--quick] [--keep]

Prints, from one run, processor time as ratios that another machine gives, too: of scripts to the
least that they could cost, of a long script to a short one by the line, of projects to the parsing
of their modules, and of files that do not train to the start of Python; and the peak memory. Beside
each stands the figure of the last release, from ``figures.json``, which ``--keep`` writes anew.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from conversion_cost import LINES, alternate, processes, with_bytecode
from training_script import training_script

ROOT = Path(__file__).resolve().parent.parent
FIGURES = Path(__file__).with_name("figures.json")
PARSE = """\
import pathlib
import sys

import libcst

for path in sys.argv[1:]:
    libcst.parse_module(pathlib.Path(path).read_bytes()).code
"""
IMPORT = "import libcst"
HEAD = "import torch\nfrom torch.utils.data import DataLoader, TensorDataset\n"
LOOP = """
model = torch.nn.Linear(3, 1)
data = TensorDataset(torch.randn(64, 3), torch.randn(64, 1))
loader = DataLoader(data, batch_size=8, shuffle=True)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in loader:
    optimizer.zero_grad()
    torch.nn.functional.mse_loss(model({argument}), y).backward()
    optimizer.step()
"""
LAYER = """

class Layer{0}(torch.nn.Module):
    def __init__(self, size):
        super().__init__()
        self.linear = torch.nn.Linear(size, size)

    def forward(self, x):
        return torch.relu(self.linear(x)) + {0}


def helper{0}(x):
    return x * {0} + 1
"""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="leave the largest out")
    parser.add_argument("--keep", action="store_true", help="keep the figures for later runs")
    arguments = parser.parse_args()
    before = json.loads(FIGURES.read_text("utf-8")) if FIGURES.exists() else {}
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, figure in measured(Path(folder), arguments.quick):
            found[name] = round(figure, 3)
            last = f"{before[name]:>12.2f}" if name in before else f"{'-':>12}"
            print(f"{name:46}{figure:>10.2f}{last}", flush=True)
    if arguments.keep:
        FIGURES.write_text(json.dumps({**before, **found}, indent=2) + "\n", "utf-8")


def measured(folder: Path, quick: bool) -> Iterator[tuple[str, float]]:
    """Each figure with its name."""
    os.environ.update(with_bytecode(folder))
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    for words in (["-c", IMPORT], ["-m", "transpile", "--version"]):
        run([sys.executable, *words])
    start, _ = run([sys.executable, "-c", IMPORT])
    version, _ = run([sys.executable, "-m", "transpile", "--version"])
    yield "--version / import libcst", version / start
    for lines in LINES:
        path = folder / f"floor_{lines}.py"
        path.write_text(training_script(lines), "utf-8")
        costs = alternate(processes(path, str(folder)), 3)
        yield f"{lines} lines / floor", costs["convert"] / costs["floor"]
        yield f"{lines} lines / black", costs["convert"] / costs["black"]
    short = per_line(folder, 500)
    for lines in (2000,) if quick else (2000, 8000):
        yield f"a line of {lines} / a line of 500", per_line(folder, lines) / short
    for name, modules in projects(quick):
        home = folder / name.replace(" ", "_")
        home.mkdir()
        for module, text in modules.items():
            (home / module).write_text(text, "utf-8")
        paths = [str(home / module) for module in modules]
        parsed, _ = run([sys.executable, "-c", PARSE, *paths])
        whole, memory = run([sys.executable, "-m", "transpile", "--check", str(home / "train.py")])
        yield f"{name} / parsing it", whole / parsed
        yield f"{name}, peak MiB", memory
    home = folder / "plain"
    home.mkdir()
    for number in range(2000):
        text = f"import m{(number + 1) % 2000}\n\n\ndef work(x):\n    return x + {number}\n"
        (home / f"m{number}.py").write_text(text, "utf-8")
    plain, memory = run([sys.executable, "-m", "transpile", "--check", str(home)])
    yield "2000 files that do not train / import libcst", plain / start
    yield "2000 files that do not train, peak MiB", memory


def per_line(folder: Path, lines: int) -> float:
    """The processor time for a line of a script, without the start."""
    path = folder / f"train_{lines}.py"
    path.write_text(training_script(lines), "utf-8")
    empty = folder / "empty.py"
    empty.write_text(HEAD + LOOP.format(argument="x"), "utf-8")
    least = min(run([sys.executable, "-m", "transpile", "--check", str(empty)])[0] for _ in "12")
    whole = min(run([sys.executable, "-m", "transpile", "--check", str(path)])[0] for _ in "12")
    return (whole - least) / lines


def projects(quick: bool) -> Iterator[tuple[str, dict[str, str]]]:
    """Projects of several shapes: their modules by name."""
    for count in (20, 60) if quick else (20, 60, 200):
        modules = {f"part{n}.py": HEAD + LAYER.format(n) for n in range(count)}
        imports = "".join(f"from part{n} import helper{n}\n" for n in range(count))
        modules["train.py"] = HEAD + imports + LOOP.format(argument="helper0(x)")
        yield f"{count} modules", modules
    chain = {
        f"part{n}.py": f"import torch\nfrom part{n + 1} import step{n + 1}\n\n\n"
        f"def step{n}(x):\n    return step{n + 1}(x) + 1\n"
        for n in range(30)
    }
    chain["part30.py"] = "def step30(x):\n    return x\n"
    chain["train.py"] = HEAD + "from part0 import step0\n" + LOOP.format(argument="step0(x)")
    yield "a chain of 30 calls", chain
    wide = "".join(f"def wide{n}(x):\n    return torch.relu(x) + {n}\n\n\n" for n in range(300))
    steps = "".join(f"    x = wide{n}(x)\n" for n in range(300))
    script = f"{HEAD}\n\n{wide}def total(x):\n{steps}    return x\n\n"
    yield "300 calls in one", {"train.py": script + LOOP.format(argument="total(x)")}


def run(words: list[str]) -> tuple[float, float]:
    """The processor time in seconds and the peak memory in MiB of a process and its children."""
    with subprocess.Popen(
        words, cwd=ROOT, env=os.environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as started:
        _, status, usage = os.wait4(started.pid, 0)
        started.returncode = os.waitstatus_to_exitcode(status)
    # 2 where no file of a folder trains.
    if started.returncode not in ((0, 1, 2) if os.path.isdir(words[-1]) else (0, 1)):
        raise SystemExit(f"{words[:4]} ended with {started.returncode}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


if __name__ == "__main__":
    main()
