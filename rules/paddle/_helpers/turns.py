"""The helper functions for what the processes do in turn."""

from __future__ import annotations

from transpile.prelude import HelperSource, HelperTemplate
from transpile.rules.paddle._helpers.names import CONTEXTMANAGER, DIST, OS

TURNS: dict[str, HelperTemplate] = {
    "main_process_first": HelperSource(
        '''
@$contextmanager
def $main_process_first():
    """Let rank 0 go first, the first process of each other node, the rest; then all go on."""
    local_rank = int($os.environ.get("PADDLE_LOCAL_RANK", 0))
    turn = 0 if $is_main_process() else 1 if local_rank == 0 else 2
    several = $dist.get_world_size() > 1
    for _ in range(turn if several else 0):
        $dist.barrier()
    try:
        yield
    finally:
        for _ in range(3 - turn if several else 0):
            $dist.barrier()
''',
        (CONTEXTMANAGER, OS, DIST),
        ("is_main_process",),
    ),
}
