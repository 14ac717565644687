"""What to do about each finding of MXNet's rules, in its own words."""

from __future__ import annotations

from transpile.rules.mxnet.advice import data, numbers, steps, stores

ADVICE = {**data.ADVICE, **numbers.ADVICE, **steps.ADVICE, **stores.ADVICE}
