"""The helper functions that MXNet conversions insert, in the order in which they are written.

Each works without a launcher, where there is no shared store and everything is as it was.
"""

from __future__ import annotations

from transpile.prelude import HelperTemplate
from transpile.rules.mxnet._helpers.data import DATA_HELPERS
from transpile.rules.mxnet._helpers.exchange import EXCHANGE
from transpile.rules.mxnet._helpers.numbers import NUMBERS
from transpile.rules.mxnet._helpers.parameters import PARAMETER_HELPERS
from transpile.rules.mxnet._helpers.split_calls import SPLIT_CALLS
from transpile.rules.mxnet._helpers.store import STORE
from transpile.rules.mxnet._helpers.workers import WORKERS

HELPERS: dict[str, HelperTemplate] = {
    **STORE,
    **WORKERS,
    **EXCHANGE,
    **NUMBERS,
    **PARAMETER_HELPERS,
    **DATA_HELPERS,
    **SPLIT_CALLS,
}
