"""The helper functions that TensorFlow conversions insert, in the order in which they are written.

Each works without a launcher, where there is one process and everything is as it was.
"""

from __future__ import annotations

from transpile.prelude import HelperTemplate
from transpile.rules.tensorflow._helpers.calls import CALLS
from transpile.rules.tensorflow._helpers.workers import WORKERS

HELPERS: dict[str, HelperTemplate] = {**WORKERS, **CALLS}
