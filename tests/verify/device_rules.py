"""What CUDA and NCCL do with tensors and devices: snippets, and what comes of each.

    python tests/verify/device_rules.py [--pretend-cuda] [--jobs J] [--json FILE]

runs every snippet on the GPU of this machine, or on a pretended one, and prints what comes of it:
the value of its last line, or the class of its exception. The snippets are in
``scripts/device_rules.txt``.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path(__file__).parent / "scripts"
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from transpile.verify.launcher import Launcher  # noqa: E402

#: What stands before every snippet.
PREAMBLE = """\
import copy, io, os, pickle, warnings
import numpy as np
import torch, torch.nn as nn, torch.nn.functional as F
import torch.distributed as dist
from torch.utils.data import DataLoader, TensorDataset, random_split
warnings.simplefilter("ignore")
gpu = "cuda"
"""

# A snippet is run by this, which says what came of it on one line.
RUN = """\
import ast
tree = ast.parse(SNIPPET)
last = tree.body.pop()
try:
    if isinstance(last, ast.Expr):
        exec(compile(tree, "snippet", "exec"), globals())
        value = eval(compile(ast.Expression(last.value), "snippet", "eval"), globals())
    else:
        tree.body.append(last)
        exec(compile(tree, "snippet", "exec"), globals())
        value = None
    said = "gives", repr(value)
except BaseException as error:
    said = "raises", type(error).__name__, " ".join(str(error).split())[:160]
print("OUTCOME", *said, sep="\\t", flush=True)
os._exit(0)
"""

RULES = dict(
    re.findall(r"^# (.+)\n((?:.+\n)+)", (FOLDER / "device_rules.txt").read_text(), re.MULTILINE)
)


def outcome(launcher: Launcher, name: str) -> list[str]:
    """What comes of a rule's snippet: a value, or an exception's class and message."""
    text = f"{PREAMBLE}SNIPPET = {RULES[name]!r}\n{RUN}"
    with tempfile.TemporaryDirectory(prefix="rules-") as t:
        folder = Path(t)
        for part in ("run", "evidence"):
            (folder / part).mkdir()
        script = folder / "run" / "rule.py"
        script.write_text(text)
        run = launcher.run(
            script,
            (),
            world_size=1,
            launched=name.startswith("in a group"),
            working_directory=script.parent,
            evidence=folder / "evidence",
            folders={script.parent: ""},
            timeout_seconds=40,
        )
    rank = run.ranks[0]
    lines = [line for line in rank.output.splitlines() if line.startswith("OUTCOME\t")]
    if not lines:
        return ["ends", str(rank.exit_status), " ".join(rank.errors.split())[-160:]]
    return lines[-1].split("\t")[1:]


def outcomes(
    names: Sequence[str],
    jobs: int,
    pretended: bool,
    tell: Callable[[str, list[str]], None] = lambda name, said: None,
) -> dict[str, list[str]]:
    """What comes of some rules, several at a time; each is told of at once."""

    def some(part: Sequence[str]) -> dict[str, list[str]]:
        found = {}
        with Launcher(cuda=not pretended, pretend_cuda=int(pretended)) as launcher:
            for name in part:
                found[name] = outcome(launcher, name)
                tell(name, found[name])
        return found

    with ThreadPoolExecutor(jobs) as pool:
        parts = list(pool.map(some, [names[job::jobs] for job in range(jobs)]))
    found = {name: said for part in parts for name, said in part.items()}
    return {name: found[name] for name in names}


def show(name: str, said: list[str]) -> None:
    """Print what came of a rule."""
    sys.stdout.write("\t".join([name, *said]) + "\n")
    sys.stdout.flush()


def main() -> int:
    """Print what comes of every rule."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pretend-cuda", action="store_true")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", default="", help="a part of the names")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    names = [name for name in RULES if options.only in name]
    found = outcomes(names, options.jobs, options.pretend_cuda, show)
    if options.json is not None:
        options.json.write_text(json.dumps(found, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
