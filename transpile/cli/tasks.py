"""Which scripts are converted, and where each of them goes."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from transpile.cli.inputs import Input, find_scripts
from transpile.cli.job import Mode
from transpile.cli.targets import choose_targets

if TYPE_CHECKING:
    from transpile.cli.gate import Gate


def targets_of(scripts: Sequence[Input], mode: Mode, output: str) -> list[str]:
    """The output of each input."""
    if mode is Mode.WRITE:
        return choose_targets(scripts, output)
    return [script.path for script in scripts]


def target_in(script: Input, target: str, mode: Mode) -> str:
    """The file that a script goes to; one from a folder keeps its place below it."""
    if not script.from_folder:
        return target
    if mode is Mode.IN_PLACE:
        return script.path
    return os.path.join(target, *script.below.split("/"))


def expand(
    script: Input, gate: Gate | None = None, *, respect_gitignore: bool = True
) -> Iterator[Input]:
    """Yield the script, or where it is a folder the scripts below it that may train."""
    if script.is_standard_input or not os.path.isdir(script.path):
        yield script
        return
    gate = gate or gate_of_frameworks()
    for found in find_scripts(script.path, respect_gitignore=respect_gitignore):
        if found.problem or gate.lets_through(found.path):
            yield found


def gate_of_frameworks() -> Gate:
    """What tells, without parsing, which files name a framework that has rules."""
    from transpile import catalog
    from transpile.cli.gate import Gate

    return Gate(package for name in catalog.frameworks() for package in catalog.packages(name))
