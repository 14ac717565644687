"""Codes of findings about what accepts nothing."""

from __future__ import annotations

UNUSED_COMMENT = "DT906"
UNUSED_ENTRY = "DT908"
