"""Which Paddle the files beside a script ask for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from transpile.plan.requirements import Required, required

#: The first version without Fluid.
WITHOUT_FLUID = (2, 5)
PACKAGE = r"paddlepaddle(?:[-_]gpu)?"


def without_fluid(files: Mapping[str, str]) -> Iterator[Required]:
    """Every line of some files that allows no Paddle but those that have no Fluid any more."""
    for each in required(files, PACKAGE, r"paddlepaddle(?:_gpu)?"):
        if any(is_later(operator, version) for operator, version in each.bounds):
            yield each


def is_later(operator: str, version: tuple[int, ...]) -> bool:
    """Whether a bound leaves out every version that has Fluid."""
    if operator not in ("", "=", "==", "===", ">=", ">", "~=", "^"):
        return False
    if operator in ("", "=", "==", "===") and len(version) == 1:
        # 2 stands for 2.0 as well as for 2.*, and 3 for none with Fluid.
        return version > WITHOUT_FLUID[:1]
    return (*version, 0)[:2] >= WITHOUT_FLUID
