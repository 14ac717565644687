"""The helper functions that PyTorch conversions insert, in the order in which they are written.

Each works in one process without a process group, so that the script stays a plain script.
"""

from __future__ import annotations

from transpile.helper_files import from_file
from transpile.prelude import HelperSource, HelperTemplate
from transpile.rules.pytorch._helpers.data import DATA_SHARES
from transpile.rules.pytorch._helpers.evaluation import EVALUATION
from transpile.rules.pytorch._helpers.loaders import LOADERS
from transpile.rules.pytorch._helpers.names import CONTEXTMANAGER, OS
from transpile.rules.pytorch._helpers.numbers import NUMBERS
from transpile.rules.pytorch._helpers.processes import PROCESSES
from transpile.rules.pytorch._helpers.randomness import RANDOMNESS
from transpile.rules.pytorch._helpers.training import TRAINING
from transpile.rules.pytorch._sharding_helpers import SHARDING

#: Helpers that are real files: the name, and the module of :mod:`transpile.rules.pytorch.emitted`.
FILES = (
    ("rows_of_ranks", "split_calls"),
    ("ShareRows", "split_calls"),
    ("GatherRows", "split_calls"),
    ("each_tensor", "split_calls"),
    ("SplitCalls", "split_calls"),
    ("axes_of", "split_calls"),
    ("CheckedSplitCalls", "split_calls"),
    ("batches_of_main_process", "batches"),
)

HELPERS: dict[str, HelperTemplate] = {
    **RANDOMNESS,
    **PROCESSES,
    **DATA_SHARES,
    **LOADERS,
    **TRAINING,
    **NUMBERS,
    **EVALUATION,
    "main_process_first": HelperSource(
        '''
@$contextmanager
def $main_process_first():
    """Let rank 0 go first, then the first process of each other node, then the rest."""
    local_rank = int($os.environ.get("LOCAL_RANK", 0))
    turn = 0 if $is_main_process() else 1 if local_rank == 0 else 2
    for _ in range(turn):
        $barrier()
    try:
        yield
    finally:
        for _ in range(2 - turn):
            $barrier()
''',
        (CONTEXTMANAGER, OS),
        ("is_main_process", "barrier"),
    ),
    **SHARDING,
    **{name: from_file(f"transpile.rules.pytorch.emitted.{file}", name) for name, file in FILES},
}
