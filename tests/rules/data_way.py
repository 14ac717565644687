"""Conversions in which the ranks shard batches, and never the calls of models."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from transpile import Options, Result
from transpile import convert as convert_on_any_way


def convert(source: bytes | str, options: Options | None = None, **more: Any) -> Result:
    """Convert a script with its batches sharded, whatever the calls of its models are."""
    return convert_on_any_way(source, replace(options or Options(), shard="data"), **more)
