"""What to do about each finding of SINGA's rules, in its own words."""

from __future__ import annotations

from transpile.rules.singa.advice import agreement, training

ADVICE = {**agreement.ADVICE, **training.ADVICE}
