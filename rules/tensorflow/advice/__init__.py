"""What to do about each finding of TensorFlow's rules, in its own words."""

from __future__ import annotations

from transpile.rules.tensorflow.advice import training

ADVICE = {**training.ADVICE}
