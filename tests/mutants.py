"""Breaks single behaviours of the solvers, and tells which of them no test notices.

    python tests/mutants.py [NAME ...] [--tests FILE ...] [--jobs J]

Each mutant is an exact substitution in one file of a temporary copy of the tool; the tests of what
it belongs to run on the copy and stop at the first failure. A substitution that no longer fits is
told as such. The status is the number of mutants that survived, and of those that no longer fit.
"""

from __future__ import annotations

import argparse
import os
import queue
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

from mutated import Mutant, algebra, facts, others, tensors

ROOT = Path(__file__).resolve().parent.parent
LIMIT = 300

#: Runs pytest with the packages of a copy: the finder of the editable installation is told of it.
RUN = """
import sys
from pathlib import Path
root = Path(sys.argv[1])
for name, module in list(sys.modules.items()):
    if name.startswith("__editable___disttranspile"):
        for package in module.MAPPING:
            folder = {"transpile": root / "transpile", "transpile.rules": root / "rules"}
            if package in folder:
                module.MAPPING[package] = str(folder[package])
import pytest
import transpile
assert str(root) in transpile.__file__, transpile.__file__
sys.exit(pytest.main(["-q", "-x", "-n0", "-p", "no:cacheprovider", *sys.argv[2:]]))
"""


#: The tests of each part, those that notice most first.
TESTS = {
    "transpile/quantity/sample_axis/joins.py": ("tests/rules/test_batches_joined.py",),
    "transpile/quantity/tensors/places.py": ("tests/rules/test_rows_by_place.py",),
    "transpile/quantity/": (
        "tests/test_settings_of_losses.py",
        "tests/rules/test_kinds_of_targets.py",
        "tests/rules/test_made_of_sizes.py",
        "tests/rules/test_quantity_of_frameworks.py",
        "tests/rules/test_quantity.py",
    ),
    "rules/pytorch/losses/": (
        "tests/test_settings_of_losses.py",
        "tests/rules/test_bounds_of_numbers.py",
        "tests/rules/test_scale_loss.py",
        "tests/rules/test_denominators_of_numbers.py",
        "tests/rules/test_reduce_reported_numbers.py",
    ),
    "transpile/plan/vocabulary.py": ("tests/rules/test_quantity_of_frameworks.py",),
    "rules/paddle/_quantities.py": (
        "tests/rules/test_quantity_of_frameworks.py",
        "tests/rules/test_paddle_summands.py",
    ),
    "rules/paddle/losses/": ("tests/rules/test_paddle_summands.py",),
    "rules/mxnet/_quantities.py": (
        "tests/rules/test_quantity_of_frameworks.py",
        "tests/rules/test_layers_of_frameworks.py",
    ),
    "rules/mxnet/losses/": ("tests/rules/test_mxnet_losses.py",),
    "rules/fluid/_quantities.py": ("tests/rules/test_quantity_of_frameworks.py",),
    "rules/fluid/losses/": ("tests/rules/test_fluid.py", "tests/rules/test_fluid_coupling.py"),
    "transpile/rows/": ("tests/rows/test_rows.py",),
    "rules/pytorch/operations/": ("tests/rows/test_rows.py",),
    "rules/pytorch/emitted/split_calls.py": (
        "tests/rules/test_split_calls_helper.py",
        "tests/rules/test_split_calls.py",
    ),
    "transpile/facts/": (
        "tests/test_values_of_scripts.py",
        "tests/test_values.py",
        "tests/rules/test_quantity.py",
    ),
    "transpile/plan/models/": (
        "tests/rules/test_gradient_paths.py",
        "tests/rules/test_modes_of_models.py",
        "tests/rules/test_frozen_parameters.py",
        "tests/rules/test_uneven_noise.py",
    ),
    "rules/pytorch/agreement/": (
        "tests/rules/test_agreement_on_decisions.py",
        "tests/rules/test_agreement_refusals.py",
    ),
    "transpile/plan/": ("tests/rules/test_hand_written_steps.py",),
}

#: All of them, by subject.
MUTANTS = (*algebra.MUTANTS, *tensors.MUTANTS, *others.MUTANTS, *facts.MUTANTS)


def main(arguments: list[str]) -> int:
    """Break, test, tell."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="mutants to try; all of them else")
    parser.add_argument("--tests", nargs="+", default=[])
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args(arguments)
    chosen = [one for one in MUTANTS if not options.names or one.name in options.names]
    left = 0
    for mutant, fate in fates(chosen, options.tests, options.jobs):
        print(f"{fate:12} {mutant.name}", flush=True)
        left += fate != "noticed"
    print(f"{left} of {len(chosen)} were not noticed")
    return left


def fates(mutants: list[Mutant], tests: list[str], jobs: int) -> Iterator[tuple[Mutant, str]]:
    """What the tests make of some mutants, several at a time, each in a copy of its own."""
    copies: queue.Queue[Path] = queue.Queue()
    with ExitStack() as stack:
        for _ in range(jobs):
            copy = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="mutants-")))
            for folder in ("transpile", "rules", "tests"):
                # With what Python has compiled, which takes longer than the tests.
                shutil.copytree(ROOT / folder, copy / folder, ignore=shutil.ignore_patterns(".*"))
            shutil.copy(ROOT / "pyproject.toml", copy / "pyproject.toml")
            copies.put(copy)

        def try_out(mutant: Mutant) -> str:
            copy = copies.get()
            try:
                return fate_of(mutant, copy, tests or tests_of(mutant))
            finally:
                copies.put(copy)

        pool = stack.enter_context(ThreadPoolExecutor(jobs))
        yield from zip(mutants, pool.map(try_out, mutants), strict=True)


def tests_of(mutant: Mutant) -> list[str]:
    """The tests of the part that a mutant belongs to."""
    if mutant.tests:
        return list(mutant.tests)
    return [test for part, tests in TESTS.items() if mutant.file.startswith(part) for test in tests]


def fate_of(mutant: Mutant, copy: Path, tests: list[str]) -> str:
    """What the tests make of one mutant, which is there meanwhile."""
    path = copy / mutant.file
    text = path.read_text("utf-8")
    if text.count(mutant.old) != 1:
        return "fits not"
    path.write_text(text.replace(mutant.old, mutant.new), "utf-8")
    try:
        ended = subprocess.run(
            [sys.executable, "-c", RUN, str(copy), *tests],
            cwd=copy,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            check=False,
            timeout=LIMIT,
        )
    except subprocess.TimeoutExpired:
        return "noticed"
    finally:
        path.write_text(text, "utf-8")
    if ended.returncode not in (0, 1):
        return "broken run"
    return "survived" if ended.returncode == 0 else "noticed"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
