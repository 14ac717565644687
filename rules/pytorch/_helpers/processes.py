"""The helper functions for the process group and its ranks."""

from __future__ import annotations

from transpile.prelude import HelperSource, HelperTemplate
from transpile.rules.pytorch._helpers.names import DIST, OS
from transpile.rules.pytorch._set_up_helper import ADOPT_MPI_ENVIRONMENT, OWN_GPU, set_up_helper

CLEANUP = HelperSource(
    '''
def $cleanup_distributed():
    """Leave the process group once every process has arrived here."""
    if $dist.is_initialized():
        # Kept beyond this call: Gloo may hang where it is freed while the group is destroyed.
        $cleanup_distributed.work = $dist.barrier(async_op=True)
        $cleanup_distributed.work.wait()
        $dist.destroy_process_group()
''',
    (DIST,),
)
PROCESSES: dict[str, HelperTemplate] = {
    "adopt_mpi_environment": ADOPT_MPI_ENVIRONMENT,
    "own_gpu": OWN_GPU,
    "setup_distributed": set_up_helper,
    "cleanup_distributed": CLEANUP,
    "get_rank": HelperSource(
        '''
def $get_rank():
    """Return the rank of this process, from the launcher until the process group exists."""
    if $dist.is_initialized():
        return $dist.get_rank()
    return int($os.environ.get("RANK", 0))
''',
        (DIST, OS),
        without_group=True,
    ),
    "get_world_size": HelperSource(
        '''
def $get_world_size():
    """Return the number of processes; 1 without a process group."""
    return $dist.get_world_size() if $dist.is_initialized() else 1
''',
        (DIST,),
    ),
    "is_main_process": HelperSource(
        '''
def $is_main_process():
    """Tell whether this process has rank 0, which alone writes files and prints."""
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
}
