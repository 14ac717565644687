"""Rules are tested on the lines that their edits make; their style is tested by itself."""

from __future__ import annotations

import pytest

from transpile import engine


@pytest.fixture(autouse=True)
def lines_as_edits_make_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave lines as long as edits make them, with the quotes that these have."""
    monkeypatch.setattr(engine, "with_own_quotes", lambda before, after: after)
    monkeypatch.setattr(engine, "with_short_lines", lambda before, after: after)
