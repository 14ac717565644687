"""What to do about each finding of Fluid's rules, in its own words."""

from __future__ import annotations

from transpile.rules.fluid.advice import effects, losses, programs

ADVICE = {**effects.ADVICE, **losses.ADVICE, **programs.ADVICE}
