"""The helper functions that Fluid conversions insert, in the order in which they are written.

Each works in one process without a launcher, so that the script stays a plain script, and on every
Python that Fluid 1.x runs on: no f-strings, no keyword-only arguments.
"""

from __future__ import annotations

from transpile.prelude import HelperTemplate
from transpile.rules.fluid._helpers.data import DATA
from transpile.rules.fluid._helpers.datasets import DATASETS
from transpile.rules.fluid._helpers.launcher import LAUNCHER
from transpile.rules.fluid._helpers.servers import SERVERS
from transpile.rules.fluid._helpers.training import TRAINING

HELPERS: dict[str, HelperTemplate] = {**LAUNCHER, **DATA, **DATASETS, **TRAINING, **SERVERS}
