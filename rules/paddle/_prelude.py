"""The helper functions that Paddle conversions insert, in the order in which they are written.

Each works in one process without a launcher, so that the script stays a plain script:
``paddle.distributed.get_rank`` and ``get_world_size`` answer there, too.
"""

from __future__ import annotations

from transpile.helpers.files import from_file
from transpile.prelude import HelperTemplate
from transpile.rules.paddle._helpers.data import DATA
from transpile.rules.paddle._helpers.evaluation import EVALUATION
from transpile.rules.paddle._helpers.graphs import GRAPHS
from transpile.rules.paddle._helpers.models import MODELS
from transpile.rules.paddle._helpers.numbers import NUMBERS
from transpile.rules.paddle._helpers.rates import RATES
from transpile.rules.paddle._helpers.start import START
from transpile.rules.paddle._helpers.turns import TURNS

#: Helpers that are real files, in their order.
FILES = (
    "rows_of_ranks", "own_rows", "all_rows", "ShareRows", "GatherRows", "each_tensor",
    "tensors_in", "axis_of_rows", "differ", "unchanged_randomness", "SplitCalls",
)  # fmt: skip

HELPERS: dict[str, HelperTemplate] = {
    **START,
    **DATA,
    **MODELS,
    **NUMBERS,
    **GRAPHS,
    **RATES,
    **TURNS,
    **EVALUATION,
    **{name: from_file("transpile.rules.paddle.emitted.split_calls", name) for name in FILES},
}
