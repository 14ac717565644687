"""How much of a project's text is followed: the work is bounded by what there is to read.

A script may stand within a package of a thousand modules, all of which its first import leads to.
"""

from __future__ import annotations

import os
from collections import Counter

import libcst as cst

from transpile.facts.state import TooComplex
from transpile.text.source import Source

#: Characters of modules that are run abstractly, each of which costs more than the next.
MOST_RUN = 2_000_000
#: Characters of modules that are read for their names alone.
MOST_NAMED = 4_000_000


class TooLarge(TooComplex):
    """The modules that a script comes to hold more than is followed.

    Args:
        path: the module at which that was seen.
        modules: how many were followed.
        folder: where most of what they hold stands.
    """

    def __init__(self, path: str, modules: int, folder: str) -> None:
        super().__init__()
        self.path = path
        self.modules = modules
        self.folder = folder

    def __str__(self) -> str:
        told = f"most of what they hold is in '{self.folder}'" if self.folder else "and more"
        return f"its modules are more than can be followed; of {self.modules} so far, {told}"


class Extent:
    """Counts what was followed.

    Args:
        most: characters that it may be.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.modules = 0
        self._sizes: Counter[str] = Counter()

    def add(self, path: str, size: int) -> None:
        """Count one module.

        Raises:
            TooLarge: that is more than is followed.
        """
        self.modules += 1
        self._sizes[os.path.dirname(path)] += size
        if self._sizes.total() > self.most:
            raise TooLarge(path, self.modules, self._sizes.most_common(1)[0][0])


def only_defines(source: Source) -> bool:
    """Whether running a script calls nothing, but for what decorators and classes are made with."""
    definitions = (cst.FunctionDef, cst.ClassDef, cst.Lambda)
    return all(
        any(isinstance(outer, definitions) for outer in source.parents(call))
        for call in source.nodes_of(cst.Call)
    )
