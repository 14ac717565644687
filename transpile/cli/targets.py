"""Where each converted script goes, decided before anything is converted."""

from __future__ import annotations

import os
from collections.abc import Sequence

from transpile.cli.inputs import NOTEBOOK, Input


class TargetError(Exception):
    """The inputs and the output do not go together; the message is one line."""


def choose_targets(scripts: Sequence[Input], output: str) -> list[str]:
    """Return the file that each script is written to.

    Args:
        scripts: the inputs.
        output: a file, or a folder: one that exists or whose name ends in a slash.

    Raises:
        TargetError: two scripts would go to one file, or one would overwrite an input.
    """
    if is_folder(output):
        targets = [
            output if os.path.isdir(script.path) else _in_folder(script, output)
            for script in scripts
        ]
    elif len(scripts) == 1 and not os.path.isdir(scripts[0].path):
        targets = [output]
    else:
        what = "a folder as input needs" if len(scripts) == 1 else "several inputs need"
        raise TargetError(f"{what} a folder as output: -o FOLDER/")
    if any(target.endswith(NOTEBOOK) for target in targets):
        raise TargetError("the output is a script, not a notebook: -o FILE.py")
    _refuse_collisions(scripts, targets)
    return targets


def is_folder(path: str) -> bool:
    """Whether the user means a folder by `path`."""
    separators = tuple(filter(None, (os.sep, os.altsep)))
    return path.endswith(separators) or os.path.isdir(path)


def _in_folder(script: Input, folder: str) -> str:
    if script.is_standard_input:
        raise TargetError("standard input has no name within a folder: name a file with -o")
    return os.path.join(folder, script_name(script.path))


def script_name(path: str) -> str:
    """The name of the script that a file becomes: that of a notebook ends in ``.py``."""
    name = os.path.basename(path)
    return f"{name.removesuffix(NOTEBOOK)}.py" if name.endswith(NOTEBOOK) else name


def _refuse_collisions(scripts: Sequence[Input], targets: Sequence[str]) -> None:
    taken: set[str] = set()
    for target in targets:
        real = os.path.realpath(target)
        if real in taken:
            raise TargetError(f"two inputs would be written to {target}")
        taken.add(real)
        for script in scripts:
            if not script.is_standard_input and _is_same_file(script.path, target):
                raise TargetError(f"the output {target} is an input: --in-place overwrites it")


def _is_same_file(first: str, second: str) -> bool:
    try:
        return os.path.samefile(first, second)
    except OSError:
        return False
