"""The helper functions for what one process does alone, or the processes in turn."""

from __future__ import annotations

from transpile.prelude import HelperSource, HelperTemplate
from transpile.rules.singa._helpers.names import CONTEXTMANAGER, LOGGING, NUMPY

ONCE: dict[str, HelperTemplate] = {
    "is_main_process": HelperSource(
        '''
def $is_main_process():
    """Tell whether this is the process with rank 0, which alone writes files and prints."""
    return $get_rank() == 0
''',
        (),
        ("get_rank",),
        without_group=True,
    ),
    "print_once": HelperSource(
        '''
def $print_once(*args, **kwargs):
    """Print on the process with rank 0 alone."""
    if $is_main_process():
        print(*args, **kwargs)
''',
        (),
        ("is_main_process",),
        without_group=True,
    ),
    "quiet_logging": HelperSource(
        '''
def $quiet_logging():
    """Switch messages below a warning off in all processes but that with rank 0."""
    if not $is_main_process():
        $logging.disable($logging.INFO)
''',
        (LOGGING,),
        ("is_main_process",),
        without_group=True,
    ),
    "wait_for_all": HelperSource(
        '''
def $wait_for_all():
    """Wait until every process has come here."""
    if $shared_optimizer() is not None:
        $add_up($np.zeros(1, $np.float32))
''',
        (NUMPY,),
        ("shared_optimizer", "add_up"),
        without_group=True,
    ),
    "main_process_first": HelperSource(
        '''
@$contextmanager
def $main_process_first():
    """Let rank 0 go first, the first process of each other node, the rest; then all go on."""
    shared = $shared_optimizer()
    turn = 0 if $is_main_process() else 1 if shared.local_rank == 0 else 2
    for _ in range(turn):
        $wait_for_all()
    try:
        yield
    finally:
        for _ in range(3 - turn):
            $wait_for_all()
''',
        (CONTEXTMANAGER,),
        ("shared_optimizer", "is_main_process", "wait_for_all"),
        without_group=True,
    ),
}
