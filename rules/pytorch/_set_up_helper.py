"""The source of the helper that joins the process group, as the options want it."""

from __future__ import annotations

from transpile.options import Options
from transpile.prelude import HelperSource

DIST = ("dist", "torch.distributed")
OS = ("os", "os")
TIMEDELTA = ("timedelta", "datetime.timedelta")
TORCH = ("torch", "torch")

BY_LAUNCHER = '''
def $setup_distributed():
    """Join the process group that the launcher describes; stay one process without one."""
'''
BY_ARGUMENTS = '''
def $setup_distributed(backend, init_method, rank, world_size):
    """Join the process group of the arguments or the launcher; stay one process without."""
    if backend == "mpi":
        $adopt_mpi_environment()
    if rank is not None:
        $os.environ["RANK"] = str(rank)
    if world_size is not None:
        $os.environ["WORLD_SIZE"] = str(world_size)
'''
BY_MPI = '''
def $setup_distributed():
    """Join the process group of what mpirun started; stay one process without it."""
    $adopt_mpi_environment()
'''
COUNTS = """
    counts = [$os.environ.get("OMPI_COMM_WORLD_SIZE"), $os.environ.get("PMI_SIZE")]
"""
COUNT_OF_ARGUMENTS = """
    counts.append(world_size)
"""
CHECKS = """
    if "SLURM_STEP_ID" in $os.environ:
        counts.append($os.environ.get("SLURM_NTASKS"))
    if "RANK" not in $os.environ and any(int(count or 1) > 1 for count in counts):
        raise SystemExit("several tasks but no RANK: start this script with @launcher")
    world_size = int($os.environ.get("WORLD_SIZE", 1)) if "RANK" in $os.environ else 1
    expected = int($os.environ.get("EXPECTED_WORLD_SIZE", world_size))
    if expected != world_size:
        raise SystemExit(f"{world_size} processes started, {expected} expected")
    if "RANK" not in $os.environ:
        return
"""
NEEDED = """
    for name in ("WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"):
        if name not in $os.environ:
            raise SystemExit(f"RANK is set but not {name}: start this with @launcher")
"""
NEEDED_BY_ARGUMENTS = """
    needed = ["WORLD_SIZE"]
    if backend != "mpi" and init_method in (None, "env://"):
        needed += ["MASTER_ADDR", "MASTER_PORT"]
    for name in needed:
        if name not in $os.environ:
            raise SystemExit(f"no {name}: use torchrun, or --world-size and --init-method")
"""
NCCL_CHECK = """
    if not $torch.cuda.is_available():
        raise SystemExit("the backend nccl needs a GPU in every process")
"""
MPI_CHECK = """
    if not $dist.is_mpi_available():
        raise SystemExit("the backend mpi needs a PyTorch that is built with MPI")
"""
CHECKS_BY_ARGUMENTS = """
    if backend == "nccl" and not $torch.cuda.is_available():
        raise SystemExit("the backend nccl needs a GPU: use --backend gloo without one")
    if backend == "mpi" and not $dist.is_mpi_available():
        raise SystemExit("the backend mpi needs a PyTorch that is built with MPI")
"""
DEVICE = """
    if $torch.cuda.is_available():
        rank = int($os.environ["RANK"])
        $torch.cuda.set_device(
            int($os.environ.get("LOCAL_RANK", rank % $torch.cuda.device_count()))
        )
"""
JOIN_AUTO = """
    $dist.init_process_group("nccl" if $torch.cuda.is_available() else "gloo")
"""
JOIN_AUTO_WITHIN = """
    backend = "nccl" if $torch.cuda.is_available() else "gloo"
    $dist.init_process_group(backend, timeout=$timedelta(minutes=@minutes))
"""
JOIN = """
    $dist.init_process_group("@backend")
"""
JOIN_WITHIN = """
    $dist.init_process_group("@backend", timeout=$timedelta(minutes=@minutes))
"""
JOIN_BY_ARGUMENTS = """
    if backend == "mpi":
        $dist.init_process_group(backend)
    else:
        $dist.init_process_group(
            backend,
            init_method=init_method,
            world_size=world_size,
            rank=int($os.environ["RANK"]),
        )
"""
JOIN_BY_ARGUMENTS_WITHIN = """
    timeout = $timedelta(minutes=@minutes)
    if backend == "mpi":
        $dist.init_process_group(backend, timeout=timeout)
    else:
        $dist.init_process_group(
            backend,
            init_method=init_method,
            timeout=timeout,
            world_size=world_size,
            rank=int($os.environ["RANK"]),
        )
"""


def set_up_helper(options: Options) -> HelperSource:
    """The helper ``setup_distributed`` for the chosen backend, timeout and arguments."""
    if options.script_args:
        parts = by_arguments(options)
        launcher = "torchrun or --rank"
    elif options.backend == "mpi":
        parts = [BY_MPI, COUNTS, CHECKS, MPI_CHECK, DEVICE]
        launcher = "mpirun"
    else:
        check = [NCCL_CHECK] if options.backend == "nccl" else []
        parts = [BY_LAUNCHER, COUNTS, CHECKS, NEEDED, *check, DEVICE]
        launcher = "torchrun"
    if not options.script_args:
        parts.append(join_of(options))
    code = "".join(part.removeprefix("\n") for part in parts)
    for mark, text in (
        ("@launcher", launcher),
        ("@backend", options.backend),
        ("@minutes", str(options.timeout_minutes)),
    ):
        code = code.replace(mark, text)
    within = (TIMEDELTA,) if options.timeout_minutes is not None else ()
    mpi = ("adopt_mpi_environment",) if options.script_args or options.backend == "mpi" else ()
    return HelperSource(code, (DIST, OS, TORCH, *within), mpi)


def by_arguments(options: Options) -> list[str]:
    """The parts of the helper that is given the script's arguments."""
    join = JOIN_BY_ARGUMENTS if options.timeout_minutes is None else JOIN_BY_ARGUMENTS_WITHIN
    return [
        BY_ARGUMENTS,
        COUNTS,
        COUNT_OF_ARGUMENTS,
        CHECKS,
        NEEDED_BY_ARGUMENTS,
        CHECKS_BY_ARGUMENTS,
        DEVICE,
        join,
    ]


def join_of(options: Options) -> str:
    """The lines that join without arguments."""
    if options.backend == "auto":
        return JOIN_AUTO if options.timeout_minutes is None else JOIN_AUTO_WITHIN
    return JOIN if options.timeout_minutes is None else JOIN_WITHIN


ADOPT_MPI_ENVIRONMENT = HelperSource(
    '''
def $adopt_mpi_environment():
    """Put what mpirun says of this process where the other launchers put it."""
    names = {
        "RANK": ["OMPI_COMM_WORLD_RANK", "PMI_RANK"],
        "WORLD_SIZE": ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE"],
        "LOCAL_RANK": ["OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID"],
    }
    for name, sources in names.items():
        for source in sources:
            if source in $os.environ:
                $os.environ[name] = $os.environ[source]
''',
    (OS,),
)
