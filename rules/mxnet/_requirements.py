"""Which MXNet the files beside a script ask for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from transpile.plan.requirements import Required, required
from transpile.records import dataclass

#: The first version whose packages can share a store, by ``USE_DIST_KVSTORE``.
OLDEST = (1, 2, 1)
PACKAGE = r"mxnet(?:-(?:cu\d+(?:mkl)?|mkl|native|gpu|cpu))?"


@dataclass(frozen=True)
class Wanted:
    """What one line asks for.

    Args:
        path: the file.
        line: its number, from 1.
        text: the line.
        too_old: no version that it allows can share a store.
        built: it names a package that somebody has built.
    """

    path: str
    line: int
    text: str
    too_old: bool = False
    built: bool = False


def wanted(files: Mapping[str, str]) -> Iterator[Wanted]:
    """Every line of some files that asks for MXNet."""
    for each in required(files, PACKAGE, "mxnet"):
        yield Wanted(each.path, each.line, each.text, is_too_old(each), each.built)


def is_too_old(asked: Required) -> bool:
    """Whether all versions that are allowed are older than those that can share a store."""
    for operator, version in asked.bounds:
        if operator in ("", "=", "==", "===") and older(version):
            return True
        if operator == "<=" and older(version):
            return True
        if operator == "<" and padded(version) <= OLDEST:
            return True
        if operator in ("~=", "^") and len(version) > 1 and version[:2] < OLDEST[:2]:
            # 0.11 may grow to 0.x, 1.1.0 to 1.1.x; 1.1 and ^1.1 to any 1.x.
            if version[0] == 0 or (operator == "~=" and len(version) > 2):
                return True
    return False


def older(version: tuple[int, ...]) -> bool:
    """Whether a version, or all that begin with it, are too old."""
    return version < OLDEST[: len(version)]


def padded(version: tuple[int, ...]) -> tuple[int, ...]:
    """A version with all of its numbers."""
    return (*version, 0, 0)[:3]
