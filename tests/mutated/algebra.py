"""Breakages of what is made of quantities."""

from __future__ import annotations

from . import Mutant

QUANTITY = "transpile/quantity/"
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
        "an unknown axis never counts samples",
        QUANTITY + "domain.py",
        "        if self.dim is None:\n            return True\n",
        "        if self.dim is None:\n            return False\n",
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
        "the sum of places",
        QUANTITY + "algebra.py",
        '    if quantity.kind is Kind.SAMPLE and quantity.content == "place":\n'
        "        return unknown(NUMBERED, whole=True)\n",
        "",
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
)
