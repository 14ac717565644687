"""The manual of findings that no rule gives: why they matter, and what to do about them."""

from __future__ import annotations

from transpile.cli.advice import on_jobs, on_outputs, on_scripts, on_sharding

ADVICE = {**on_scripts.ADVICE, **on_sharding.ADVICE, **on_outputs.ADVICE, **on_jobs.ADVICE}
