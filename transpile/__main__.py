"""Runs the command as ``python -m transpile``."""

from __future__ import annotations

import sys

from transpile.cli import main

if __name__ == "__main__":
    sys.exit(main())
