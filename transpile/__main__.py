"""Runs the command as ``python -m transpile``."""

from __future__ import annotations

from transpile.cli import start

if __name__ == "__main__":
    start()
