"""Breakages of helpers, of rows and of the words of frameworks."""

from __future__ import annotations

from . import Mutant

SPLIT = "rules/pytorch/emitted/split_calls.py"
MUTANTS = (
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
