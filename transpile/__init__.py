"""Rewrites single-process training scripts into distributed ones.

>>> import transpile
>>> result = transpile.convert(b"print('no training here')")
>>> result.outcome
<Outcome.UNCHANGED: 'unchanged'>

The names below are imported when they are first used, so that ``import transpile`` costs nothing.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from transpile.engine import convert
    from transpile.finding import Finding, Level
    from transpile.options import Options
    from transpile.result import Decision, Outcome, Result, Verdict
    from transpile.text.source import SourceError

__version__ = "0.1.0"

__all__ = [
    "Decision",
    "Finding",
    "Level",
    "Options",
    "Outcome",
    "Result",
    "SourceError",
    "Verdict",
    "__version__",
    "convert",
]

_HOME = {
    "convert": "transpile.engine",
    "Options": "transpile.options",
    "Result": "transpile.result",
    "Outcome": "transpile.result",
    "Decision": "transpile.result",
    "Verdict": "transpile.result",
    "Finding": "transpile.finding",
    "Level": "transpile.finding",
    "SourceError": "transpile.text.source",
}

# In a clone the rules stand beside this folder; from there, too, they are ``transpile.rules``.
_FOLDER = os.path.dirname(os.path.abspath(__file__))
_CLONE = os.path.dirname(_FOLDER)
if not os.path.isdir(os.path.join(_FOLDER, "rules")) and os.path.isdir(
    os.path.join(_CLONE, "rules")
):
    __path__.append(_CLONE)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
