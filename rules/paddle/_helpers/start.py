"""The helper functions for joining the processes, and for what one of them does."""

from __future__ import annotations

from transpile.options import Options
from transpile.prelude import HelperSource, HelperTemplate
from transpile.rules.paddle._helpers.names import (
    CONTEXTMANAGER,
    DIST,
    FLEET,
    IO,
    OS,
    PADDLE,
    REDIRECT_STDOUT,
    SYS,
)

SETUP = '''
def $setup_distributed():
    """Join the processes that the launcher started; stay one process without one."""
    counts = [$os.environ.get("OMPI_COMM_WORLD_SIZE"), $os.environ.get("PMI_SIZE")]
    if "SLURM_STEP_ID" in $os.environ:
        counts.append($os.environ.get("SLURM_NTASKS"))
    launched = "PADDLE_TRAINER_ID" in $os.environ
    if not launched and any(int(count or 1) > 1 for count in counts):
        raise SystemExit("several tasks: start this with python -m paddle.distributed.launch")
    if launched and "PADDLE_TRAINERS_NUM" not in $os.environ:
        raise SystemExit("PADDLE_TRAINER_ID is set but not PADDLE_TRAINERS_NUM: use the launcher")
    world_size = $dist.get_world_size()
    expected = int($os.environ.get("EXPECTED_WORLD_SIZE", world_size))
    if expected != world_size:
        raise SystemExit(f"{world_size} processes started, {expected} expected")
    if world_size > 1:
        @join
'''


def set_up(options: Options) -> HelperSource:
    """The helper ``setup_distributed`` for the chosen interface."""
    if options.paddle_api == "fleet":
        join, modules = "$fleet.init(is_collective=True)", (DIST, FLEET, OS)
        return HelperSource(SETUP.replace("@join", join), modules)
    return HelperSource(SETUP.replace("@join", "$dist.init_parallel_env()"), (DIST, OS))


START: dict[str, HelperTemplate] = {
    "dynamic_graph": HelperSource(
        '''
@$contextmanager
def $dynamic_graph():
    """Leave static graph mode for as long as the processes talk to each other."""
    static = not $paddle.in_dynamic_mode()
    if static:
        $paddle.disable_static()
    try:
        yield
    finally:
        if static:
            $paddle.enable_static()
''',
        (CONTEXTMANAGER, PADDLE),
    ),
    "wait_for_all": HelperSource(
        '''
@$dynamic_graph()
def $wait_for_all():
    """Go on once every process has arrived here."""
    if $dist.get_world_size() > 1:
        $dist.barrier()
''',
        (DIST,),
        ("dynamic_graph",),
    ),
    "setup_distributed": set_up,
    "cleanup_distributed": HelperSource(
        '''
def $cleanup_distributed():
    """Leave the process group once every process has arrived here."""
    if $dist.get_world_size() > 1:
        $dist.barrier()
        $dist.destroy_process_group()
''',
        (DIST,),
    ),
    "is_main_process": HelperSource(
        '''
def $is_main_process():
    """Tell whether this process has rank 0, which alone writes files and prints."""
    return $dist.get_rank() == 0
''',
        (DIST,),
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
    "report_once": HelperSource(
        '''
def $report_once(function):
    """Return a function that every process calls, and that prints on rank 0 alone."""

    def call(*args, **kwargs):
        with $redirect_stdout($sys.stdout if $is_main_process() else $io.StringIO()):
            return function(*args, **kwargs)

    return call
''',
        (IO, REDIRECT_STDOUT, SYS),
        ("is_main_process",),
        without_group=True,
    ),
}
