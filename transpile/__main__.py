"""Runs the command as ``python -m transpile``."""

from __future__ import annotations

import os
import sys


def only_this_package() -> None:
    """Let the folder that the command runs in hide no module of this package or of others.

    With ``-m`` it is the first place that Python looks in, and a project may have a folder called
    ``transpile``.
    """
    package = os.path.dirname(os.path.abspath(__file__))
    if sys.path and sys.path[0] in ("", os.getcwd()) and os.getcwd() != os.path.dirname(package):
        del sys.path[0]
    found = sys.modules.get("transpile")
    file = getattr(found, "__file__", None)
    if file is None or os.path.dirname(os.path.abspath(file)) != package:
        for name in [name for name in sys.modules if name.partition(".")[0] == "transpile"]:
            del sys.modules[name]


if __name__ == "__main__":
    only_this_package()
    from transpile.cli import start

    start()
