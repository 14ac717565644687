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
from dataclasses import dataclass
from pathlib import Path

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


@dataclass(frozen=True)
class Mutant:
    """One broken behaviour.

    Args:
        name: what it is called.
        file: where it is.
        old: the text there.
        new: the text that takes its place.
    """

    name: str
    file: str
    old: str
    new: str


#: The tests of each part, those that notice most first.
TESTS = {
    "transpile/quantity/": (
        "tests/rules/test_quantity_of_frameworks.py",
        "tests/rules/test_quantity.py",
    ),
    "rules/pytorch/losses/": (
        "tests/rules/test_denominators_of_numbers.py",
        "tests/rules/test_reduce_reported_numbers.py",
    ),
    "transpile/plan/vocabulary.py": ("tests/rules/test_quantity_of_frameworks.py",),
    "rules/paddle/_quantities.py": (
        "tests/rules/test_quantity_of_frameworks.py",
        "tests/rules/test_paddle_summands.py",
    ),
    "rules/paddle/losses/": ("tests/rules/test_paddle_summands.py",),
    "rules/mxnet/_quantities.py": ("tests/rules/test_quantity_of_frameworks.py",),
    "rules/mxnet/losses/": ("tests/rules/test_mxnet_losses.py",),
    "rules/fluid/_quantities.py": ("tests/rules/test_quantity_of_frameworks.py",),
    "rules/fluid/losses/": ("tests/rules/test_fluid.py", "tests/rules/test_fluid_coupling.py"),
    "transpile/rows/": ("tests/rows/test_rows.py",),
    "rules/pytorch/operations/": ("tests/rows/test_rows.py",),
    "rules/pytorch/emitted/split_calls.py": (
        "tests/rules/test_split_calls_helper.py",
        "tests/rules/test_split_calls.py",
    ),
    "transpile/facts/": ("tests/test_values.py", "tests/rules/test_quantity.py"),
    "transpile/plan/": ("tests/rules/test_hand_written_steps.py",),
}


QUANTITY = "transpile/quantity/"
SPLIT = "rules/pytorch/emitted/split_calls.py"
MUTANTS = (
    Mutant("sum is a mean", QUANTITY + "algebra.py", "quantity.scaled(1).terms", "quantity.terms"),
    Mutant(
        "product of means is linear",
        QUANTITY + "algebra.py",
        'return unknown("it multiplies two numbers that are taken over the batch", whole=True)',
        "return first",
    ),
    Mutant(
        "trained denominator",
        QUANTITY + "algebra.py",
        "        if second.gradient:\n",
        "        if False:\n",
    ),
    Mutant(
        "coupled samples multiply",
        QUANTITY + "algebra.py",
        "        if first.coupled or second.coupled:\n",
        "        if False:\n",
    ),
    Mutant(
        "coupling is forgotten in sums",
        QUANTITY + "algebra.py",
        "coupled = first.coupled or second.kind is Kind.PART",
        "coupled = False",
    ),
    Mutant(
        "nonlinear of a mean",
        QUANTITY + "algebra.py",
        "if any(one.kind is Kind.PART or one.coupled for one in values):",
        "if False:",
    ),
    Mutant(
        "nonlinear of a count",
        QUANTITY + "algebra.py",
        "if any(one.degrees != frozenset({0}) for one in values):",
        "if False:",
    ),
    Mutant(
        "mean of a selection",
        QUANTITY + "algebra.py",
        "        if quantity.selection:\n            return unknown(",
        "        if False:\n            return unknown(",
    ),
    Mutant(
        "axes that do not meet",
        QUANTITY + "algebra.py",
        "return first.dim is not None and first.dim == second.dim",
        "return True",
    ),
    Mutant(
        "places of samples",
        QUANTITY + "algebra.py",
        'one.kind is Kind.SAMPLE and one.content == "place"',
        "False",
    ),
    Mutant(
        "shapes are numbers",
        QUANTITY + "algebra.py",
        "if any(one.kind is Kind.SHAPE for one in several):",
        "if False:",
    ),
    Mutant(
        "remainders divide alike",
        QUANTITY + "algebra.py",
        "return first.degree == second.degree or second.degree < 0",
        "return True",
    ),
    Mutant(
        "denominators need no duty",
        QUANTITY + "algebra.py",
        "pending=second.pending | frozenset({denominator})",
        "pending=second.pending",
    ),
    Mutant(
        "division keeps the degree",
        QUANTITY + "algebra.py",
        "return multiply(first, second.scaled(-2 * second.degree))",
        "return first",
    ),
    Mutant(
        "paths of other degrees",
        QUANTITY + "algebra.py",
        "    if first.degrees != second.degrees:\n        return unknown(\n"
        '            "it is taken over the batch in different ways',
        "    if False:\n        return unknown(\n"
        '            "it is taken over the batch in different ways',
    ),
    Mutant(
        "clamped means",
        QUANTITY + "algebra.py",
        "if below and bounds and all(one.tiny for one in bounds):",
        "if True:",
    ),
    Mutant(
        "a unique count is a size",
        QUANTITY + "sample_axis/pieces.py",
        '"\'unique", ',
        "",
    ),
    Mutant(
        "stores by place",
        QUANTITY + "sample_axis/pieces.py",
        "return isinstance(node, cst.Integer)",
        "return False",
    ),
    Mutant(
        "writes in place are not followed",
        QUANTITY + "tensors/in_place.py",
        '    if event.kind != "call":\n        return ()\n',
        "    return ()\n",
    ),
    Mutant(
        "counts in tensors",
        QUANTITY + "analysis.py",
        "one = replace(one, kind=Kind.PART)",
        "pass",
    ),
    Mutant(
        "numbers beside shares",
        QUANTITY + "analysis.py",
        "        if numbers and linear:\n",
        "        if False:\n",
    ),
    Mutant(
        "what never settles is known",
        QUANTITY + "settling.py",
        "MOST_PASSES = 12",
        "MOST_PASSES = 1",
    ),
    Mutant(
        "square keeps the degree of a count",
        QUANTITY + "numbers.py",
        "return base.scaled(base.degree * (constant.value - 1))",
        "return base",
    ),
    Mutant(
        "reduced twice",
        QUANTITY + "numbers.py",
        "        if quantity.agreed:\n",
        "        if False:\n",
    ),
    Mutant(
        "numbers need no reduction",
        QUANTITY + "numbers.py",
        "        if number.kind is Kind.PART and quantity.tensor:\n",
        "        if False:\n",
    ),
    Mutant(
        "positions reorder nothing",
        QUANTITY + "sample_axis/orders.py",
        "return start == (Constant(0),) and step == (Constant(1),)",
        "return True",
    ),
    Mutant(
        "an index of samples selects",
        QUANTITY + "sample_axis/shapes.py",
        "return replace(result, selection=True, dim=dim + added - removed)",
        "return result",
    ),
    Mutant(
        "flattened over samples",
        QUANTITY + "sample_axis/shapes.py",
        "return replace(tensor, dim=dim if start > dim else (0 if start == 0 else None))",
        "return tensor",
    ),
    Mutant(
        "transposed in place of turned",
        QUANTITY + "sample_axis/shapes.py",
        "return replace(tensor, dim={0: 1, 1: 0}.get(dim))",
        "return tensor",
    ),
    Mutant(
        "unsqueezed before the samples",
        QUANTITY + "sample_axis/shapes.py",
        "dim=dim + 1 if 0 <= at <= dim else dim, rank",
        "dim=dim, rank",
    ),
    Mutant(
        "reduced over the samples",
        QUANTITY + "sample_axis/dimensions.py",
        "    if tensor.dim is not None and tensor.dim in dims:\n"
        "        return domain.unknown(ACROSS",
        "    if False:\n        return domain.unknown(ACROSS",
    ),
    Mutant(
        "an unknown axis never counts samples",
        QUANTITY + "domain.py",
        "        if self.dim is None:\n            return True\n",
        "        if self.dim is None:\n            return False\n",
    ),
    Mutant(
        "reduced over an unknown axis",
        QUANTITY + "sample_axis/dimensions.py",
        "        return domain.unknown(ANY.format(word))\n    if tensor.dim in dims:",
        "        return tensor\n    if tensor.dim in dims:",
    ),
    Mutant(
        "samples meet along unknown axes",
        QUANTITY + "algebra.py",
        "return first.dim is not None and first.dim == second.dim",
        "return first.dim is None or first.dim == second.dim",
    ),
    Mutant(
        "the last size is never the batch",
        QUANTITY + "operators.py",
        "            if position is not None and position != tensor.dim:\n"
        "                return domain.unknown(SOME_SIZE)",
        "            if position is not None and position != tensor.dim:\n"
        "                return domain.equal(tensor=False)",
    ),
    Mutant(
        "batches have two dimensions",
        QUANTITY + "accesses.py",
        "get(None, 0), rank=1)",
        "get(None, 0))",
    ),
    Mutant(
        "reduced over everything",
        QUANTITY + "sample_axis/dimensions.py",
        "    if dims == ():\n        return domain.unknown(f\"'{word}' looks at all",
        "    if False:\n        return domain.unknown(f\"'{word}' looks at all",
    ),
    Mutant(
        "weights of a loss",
        QUANTITY + "losses/calls.py",
        "setup.weight is not False or setup.ignore_index or self.marks_left_out",
        "setup.ignore_index or self.marks_left_out",
    ),
    Mutant(
        "targets that are left out",
        QUANTITY + "losses/calls.py",
        "setup.weight is not False or setup.ignore_index or self.marks_left_out",
        "setup.weight is not False",
    ),
    Mutant(
        "summed losses are means",
        QUANTITY + "losses/calls.py",
        "            return algebra.total(each)\n",
        "            return algebra.average(each)\n",
    ),
    Mutant(
        "a loss of selected samples",
        QUANTITY + "losses/calls.py",
        "if each.selection and signature.sized",
        "if False and signature.sized",
    ),
    Mutant(
        "arange is data",
        QUANTITY + "operations.py",
        'COUNTING = words("arange linspace logspace")',
        'COUNTING = words("logspace")',
    ),
    Mutant(
        "keys of sorting",
        QUANTITY + "calls.py",
        "keys = self.look(given_back(value, self.plan))",
        "keys = domain.NOTHING",
    ),
    Mutant(
        "remainders are kept",
        QUANTITY + "operators.py",
        'if name == "FloorDivide":',
        "if False:",
    ),
    Mutant(
        "denominators are reduced behind their bound",
        "rules/pytorch/losses/_reported/leaves.py",
        "part.event, pending=pending)",
        "part.event)",
    ),
    Mutant(
        "chance is like any factor",
        "rules/pytorch/losses/_reported/chance.py",
        "stack = list(values) if self.private else []",
        "stack: list[Value] = []",
    ),
    Mutant(
        "what is unknown is made of nothing",
        "rules/pytorch/losses/_reported/leaves.py",
        "walk_back(values, self.chance.is_unknown)",
        "values",
    ),
    Mutant(
        "own rows begin at the first",
        SPLIT,
        "rows = tensor.narrow(axis, sum(counts[:rank]), counts[rank])",
        "rows = tensor.narrow(axis, 0, counts[rank])",
    ),
    Mutant("gathered gradients are not divided", SPLIT, "ctx.factor / dist", "ctx.factor * dist"),
    Mutant(
        "own rows are not worth the ranks",
        SPLIT,
        "factor = ctx.factor * dist.get_world_size()",
        "factor = ctx.factor",
    ),
    Mutant("padding is kept", SPLIT, "part.narrow(axis, 0, count)", "part"),
    Mutant("later ranks have more", SPLIT, "size + (rank < more)", "size + (rank >= more)"),
    Mutant(
        "other batches are not seen",
        SPLIT,
        "if not torch.allclose(most, least, rtol=1e-6):",
        "if False:",
    ),
    Mutant(
        "a slice of samples is all",
        "transpile/rows/items.py",
        'raise Mixed("a part of the samples is cut out")',
        "return dim",
    ),
    Mutant(
        "one sample is like another",
        "transpile/rows/items.py",
        'raise Mixed("one sample is picked out of the batch")',
        "continue",
    ),
    Mutant(
        "either axis counts samples",
        "transpile/rows/domain.py",
        "    if one.samples != other.samples:\n        return None\n",
        "",
    ),
    Mutant(
        "coupled is one of several",
        "transpile/rows/domain.py",
        "    if worst is not None:\n",
        "    if False:\n",
    ),
    Mutant(
        "NumPy draws nothing",
        "rules/pytorch/operations/library.py",
        "return Number(drawn=True)\n        if package",
        "return Number()\n        if package",
    ),
    Mutant(
        "gradients flow through places",
        "transpile/plan/models/second_passes.py",
        "return not any(words_of(base) & WITH_PLACES for base in value.operands[0])",
        "return True",
    ),
    Mutant(
        "all that is set learns",
        "transpile/plan/roles/models.py",
        'if event.kind == "store" and descends(event.result, gradients):',
        'if event.kind == "store":',
    ),
    Mutant(
        "an unknown word goes by element",
        "transpile/plan/vocabulary.py",
        'return self.operations.get(plain, "")',
        'return self.operations.get(plain, "elementwise")',
    ),
    Mutant(
        "turned sides of a product",
        QUANTITY + "tensors/products.py",
        "    if matrix.may_count_along(-1) or matrix.may_count_along(-2):\n",
        "    if False:\n",
    ),
    Mutant(
        "products of many matrices",
        QUANTITY + "tensors/products.py",
        "(left.dim or right.dim):",
        "False:",
    ),
    Mutant(
        "sums along all by default",
        QUANTITY + "tensors/functions.py",
        'plain in ("cumsum", "cumprod")',
        'plain in ("cumprod",)',
    ),
    Mutant(
        "axes that are left out",
        QUANTITY + "sample_axis/dimensions.py",
        '    if tensor.dim in dims:\n        return replace(tensor, content="", dim=sum',
        '    if tensor.dim not in dims:\n        return replace(tensor, content="", dim=sum',
    ),
    Mutant(
        "padding from the first axis",
        QUANTITY + "sample_axis/dimensions.py",
        'if word == "pad_either" and pads_first(tensor, widths):',
        "if False:",
    ),
    Mutant(
        "what is added to a scaled sum",
        QUANTITY + "tensors/functions.py",
        "return algebra.add(scaled, self.look(more)) if more else scaled",
        "return scaled",
    ),
    Mutant(
        "repeated for each sample",
        QUANTITY + "tensors/functions.py",
        "                if at is not None:\n"
        "                    return domain.sample(tensor.gradient, dim=at)",
        "                if at is None:\n"
        "                    return domain.sample(tensor.gradient, dim=at)",
    ),
    Mutant(
        "the sum of places",
        QUANTITY + "algebra.py",
        '    if quantity.kind is Kind.SAMPLE and quantity.content == "place":\n'
        "        return unknown(NUMBERED, whole=True)\n",
        "",
    ),
    Mutant(
        "a loss along another axis",
        QUANTITY + "losses/settings.py",
        'or given("batch_axis") not in ((), (Constant(0),))',
        "",
    ),
    Mutant(
        "losses that compare samples",
        QUANTITY + "losses/calls.py",
        "if signature.couples and each.kind is Kind.SAMPLE:",
        "if False:",
    ),
    Mutant(
        "targets that versions leave out",
        QUANTITY + "losses/calls.py",
        "if signature.unsure and self.marks_left_out",
        "if False and self.marks_left_out",
    ),
    Mutant(
        "zeros that sums start from",
        QUANTITY + "operators.py",
        "one = replace(NOTHING, tensor=one.tensor)",
        "pass",
    ),
    Mutant(
        "sizes as attributes",
        QUANTITY + "accesses.py",
        '            if name == "size":\n                return self.counted(found, None)\n',
        "",
    ),
    Mutant(
        "variadic joins",
        QUANTITY + "tensors/functions.py",
        "        for one in parts[1:]:\n"
        "            found = algebra.join(found, one)\n"
        "        return concatenated(word, found, given, parts)",
        "        return concatenated(word, found, given, [])",
    ),
    Mutant(
        "sums of several tensors",
        QUANTITY + "tensors/functions.py",
        "        for one in parts:\n"
        "            found = algebra.add(found, one)\n        return found",
        "        return parts[0]",
    ),
    Mutant("the axis of concat", "rules/mxnet/_quantities.py", '"concat": 1,', '"concat": 0,'),
    Mutant(
        "the axis of take",
        "rules/mxnet/_quantities.py",
        '"take": ("index", "dim")',
        '"take": ("dim", "index")',
    ),
    Mutant("kept sizes", "rules/mxnet/_quantities.py", "sizes_kept=frozenset({0}),", ""),
    Mutant(
        "coupling losses of Gluon",
        "rules/mxnet/_quantities.py",
        '_loss("SDMLLoss", couples=True)',
        '_loss("SDMLLoss")',
    ),
    Mutant(
        "parts of tensors by index",
        "rules/paddle/_quantities.py",
        '"gather": ("index", "dim")',
        '"gather": ("dim", "index")',
    ),
    Mutant(
        "transposed products of Paddle",
        "rules/paddle/_quantities.py",
        '"matmul": ("other", "transpose_x", "transpose_y"),\n',
        "",
    ),
    Mutant(
        "cumulated sums of Paddle",
        "rules/paddle/_quantities.py",
        'frozenset({"cumsum", "cumprod", "logcumsumexp"})',
        "frozenset()",
    ),
    Mutant(
        "split of Fluid",
        "rules/fluid/_quantities.py",
        '"split": ("pieces", "dim"),',
        '"split": ("pieces",),',
    ),
    Mutant(
        "layers before operations",
        "rules/fluid/_quantities.py",
        "operations_first=True",
        "operations_first=False",
    ),
    Mutant(
        "the factor of a summand",
        "rules/paddle/losses/_shares.py",
        "pending = summand(value, first is left)",
        "pending = None",
    ),
    Mutant(
        "noise as large as a share",
        "rules/paddle/losses/_shares.py",
        "if found.kind is Kind.EQUAL and holds_share(self.plan, value):",
        "if False:",
    ),
    Mutant(
        "penalties beside sums",
        "rules/mxnet/losses/_losses.py",
        "return Reduction.UNEVEN if degrees == {0, 1} else Reduction.UNKNOWN",
        "return Reduction.SUM",
    ),
    Mutant(
        "coupled losses",
        "rules/mxnet/losses/_losses.py",
        "return Reduction.COUPLED if known else Reduction.UNKNOWN",
        "return Reduction.UNKNOWN",
    ),
    Mutant(
        "sums of Fluid",
        "rules/fluid/losses/_losses.py",
        "{0: Kind.MEAN, 1: Kind.SUM}",
        "{0: Kind.MEAN, 1: Kind.MEAN}",
    ),
)


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
