"""The helper functions that TensorFlow conversions insert, in the order in which they are written.

Each works without a launcher, where there is one process and everything is as it was.
"""

from __future__ import annotations

from transpile.helpers.files import from_file, helpers_in
from transpile.prelude import HelperTemplate

_EMITTED = "transpile.rules.tensorflow.emitted"

HELPERS: dict[str, HelperTemplate] = {
    name: from_file(f"{_EMITTED}.{file}", name)
    for file in ("workers", "rows", "layers", "calls")
    for name in helpers_in(f"{_EMITTED}.{file}")
}
