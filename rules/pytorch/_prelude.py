"""The helper functions that PyTorch conversions insert, in the order in which they are written.

Each works in one process without a process group, so that the script stays a plain script.
"""

from __future__ import annotations

from transpile.prelude import HelperSource

DIST = ("dist", "torch.distributed")
OS = ("os", "os")
TORCH = ("torch", "torch")

HELPERS: dict[str, HelperSource] = {
    "get_rank": HelperSource(
        '''
def $get_rank():
    """Return the rank of this process; 0 without a process group."""
    return $dist.get_rank() if $dist.is_initialized() else 0
''',
        (DIST,),
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
    ),
    "barrier": HelperSource(
        '''
def $barrier():
    """Wait for all processes."""
    if $dist.is_initialized():
        $dist.barrier()
''',
        (DIST,),
    ),
}
