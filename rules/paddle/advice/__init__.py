"""What to do about each finding of Paddle's rules, in its own words."""

from __future__ import annotations

from transpile.rules.paddle.advice import losses, models, training_data, ways_of_training

ADVICE = {**losses.ADVICE, **models.ADVICE, **training_data.ADVICE, **ways_of_training.ADVICE}
