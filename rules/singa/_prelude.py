"""The helper functions that SINGA conversions insert, in the order in which they are written.

Each works without a launcher, where nothing is shared and everything is as it was.
"""

from __future__ import annotations

from transpile.prelude import HelperTemplate
from transpile.rules.singa._helpers.data import DATA
from transpile.rules.singa._helpers.once import ONCE
from transpile.rules.singa._helpers.parameters import PARAMETERS
from transpile.rules.singa._helpers.start import START

HELPERS: dict[str, HelperTemplate] = {**START, **DATA, **ONCE, **PARAMETERS}
