"""Which versions of a framework an output runs on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from transpile.records import dataclass

if TYPE_CHECKING:
    from transpile.plan.model import Plan

Version = tuple[int, ...]


@dataclass(frozen=True)
class Need:
    """What a choice of the user, or something in the script, asks of the framework.

    Args:
        what: what asks for it.
        oldest: the oldest version that has it.
        before: the first version that has it no more; empty where all later ones have it.
    """

    what: str
    oldest: Version
    before: Version = ()


@dataclass(frozen=True)
class Versions:
    """The versions of a framework.

    Args:
        name: what people call the framework.
        oldest: the oldest that has what every output uses.
        before: the first that is another framework; empty where there is none.
        needs: what a plan asks for beyond that.
    """

    name: str
    oldest: Version
    before: Version = ()
    needs: Callable[[Plan], Iterator[Need]] | None = None


def unmet(plan: Plan, versions: Versions, target: Version) -> Iterator[str]:
    """Why an output would not run on the oldest version that it has to run on."""
    needs = [Need("what is written", versions.oldest, versions.before)]
    if versions.needs is not None:
        needs.extend(versions.needs(plan))
    for need in needs:
        if padded(target) < padded(need.oldest):
            yield f"{need.what} needs {versions.name} {written(need.oldest)} or later"
        elif need.before and padded(target) >= padded(need.before):
            yield f"{need.what} needs {versions.name} before {written(need.before)}"


def padded(version: Version) -> Version:
    """A version with three numbers."""
    return (*version, 0, 0, 0)[:3]


def written(version: Version) -> str:
    """A version as people write it."""
    return ".".join(map(str, version))
