"""The source of the helper that joins the process group, as the options want it."""

from __future__ import annotations

from transpile.options import Options
from transpile.prelude import HelperSource
from transpile.rules.pytorch._model_places import Place

DIST = ("dist", "torch.distributed")
OS = ("os", "os")
TIMEDELTA = ("timedelta", "datetime.timedelta")
TORCH = ("torch", "torch")
#: The first version of PyTorch that joins a group with a backend for each device.
BOTH_SINCE = (2, 0)
#: The first one that is told the GPU of each process where it joins.
DEVICE_ID_SINCE = (2, 3)

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
ONE_GPU_EACH = """
    gpus, ranks = $torch.cuda.device_count(), int($os.environ.get("LOCAL_WORLD_SIZE", 1))
    if "TORCHELASTIC_RUN_ID" in $os.environ and 0 < gpus < ranks:
        raise SystemExit(f"{ranks} processes, but {gpus} GPUs: start one process per GPU")
"""
DEVICE = """
    if $torch.cuda.is_available():
        $torch.cuda.set_device($own_gpu())
"""
CUDA = """
    backend = "nccl" if $torch.cuda.is_available() else "gloo"
"""
EITHER = """
    # The models may be on the CPU or on GPUs: each has a backend of its own.
    backend = "cpu:gloo,cuda:nccl" if $torch.cuda.is_available() else "gloo"
"""
JOIN_CUDA = """
    $dist.init_process_group("nccl" if $torch.cuda.is_available() else "gloo")
"""
CUDA_BY_DEVICE = """
    backend, device = "gloo", None
    if $torch.cuda.is_available():
        backend, device = "nccl", $torch.device("cuda", $own_gpu())
        $torch.cuda.set_device(device)
    $dist.init_process_group(backend, device_id=device)
"""
BY_ACCELERATOR = """
    backend = "gloo"
    if $torch.accelerator.is_available():
        $torch.accelerator.set_device_index($own_gpu())
        device = $torch.accelerator.current_accelerator().type
        backend = f"cpu:gloo,{device}:{$dist.get_default_backend_for_device(device)}"
"""
JOIN_CHOSEN = """
    $dist.init_process_group(backend)
"""
JOIN_CHOSEN_WITHIN = """
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


#: The first version that says which backend an accelerator has.
BACKENDS_SINCE = (2, 7)
#: How long the others wait for rank 0 where it prepares something: NCCL would wait 10 minutes.
PATIENCE = 60


def set_up_helper(
    options: Options,
    place: Place = "either",
    waits_long: bool = False,
    accelerator: bool = False,
) -> HelperSource:
    """The helper ``setup_distributed`` for the chosen backend, timeout and arguments.

    Args:
        options: what the user chose.
        place: where the models of the script are.
        waits_long: the processes wait for what rank 0 does alone.
        accelerator: the script leaves open what kind of GPU there is.
    """
    backend = backend_of(options, place)
    minutes = options.timeout_minutes
    if minutes is None and waits_long and backend in ("nccl", "cuda"):
        minutes = PATIENCE
    launcher = "torchrun"
    device = [] if backend == "gloo" and place == "cpu" else [DEVICE]
    if backend in ("nccl", "cuda"):
        device.insert(0, ONE_GPU_EACH)
    if options.script_args:
        parts = by_arguments(minutes)
        launcher = "torchrun or --rank"
    elif backend == "mpi":
        parts = [BY_MPI, COUNTS, CHECKS, MPI_CHECK, DEVICE]
        launcher = "mpirun"
    else:
        check = [NCCL_CHECK] if backend == "nccl" else []
        parts = [BY_LAUNCHER, COUNTS, CHECKS, NEEDED, *check, *device]
        if backend == "cuda" and knows_device(options):
            parts[-1] = CUDA_BY_DEVICE
    if accelerator and backend == "either" and parts[-1] == DEVICE:
        parts[-1:] = [BY_ACCELERATOR, JOIN_CHOSEN if minutes is None else JOIN_CHOSEN_WITHIN]
    elif not options.script_args and CUDA_BY_DEVICE not in parts:
        parts += join_of(backend, minutes)
    code = "".join(part.removeprefix("\n") for part in parts)
    for mark, text in (
        ("@launcher", launcher),
        ("@backend", backend),
        ("@minutes", str(minutes)),
    ):
        code = code.replace(mark, text)
    if minutes is not None:
        code = code.replace(
            "device_id=device)", f"timeout=$timedelta(minutes={minutes}), device_id=device)"
        )
    within = (TIMEDELTA,) if minutes is not None else ()
    torch = (TORCH,) if "$torch" in code else ()
    helpers = ["own_gpu"] if "$own_gpu" in code else []
    if options.script_args or backend == "mpi":
        helpers.append("adopt_mpi_environment")
    return HelperSource(code, (DIST, OS, *torch, *within), tuple(helpers))


def backend_of(options: Options, place: Place) -> str:
    """The backend: a name, or ``cuda`` and ``either`` where the machine's GPUs decide."""
    if options.backend != "auto":
        return options.backend
    if place == "cpu":
        return "gloo"
    old = options.target_version is not None and options.target_version < BOTH_SINCE
    return "cuda" if old else place


def knows_device(options: Options) -> bool:
    """Whether the group is told the GPU of each process where it is joined."""
    version = options.target_version
    return version is not None and version >= DEVICE_ID_SINCE


def names_backends(options: Options) -> bool:
    """Whether PyTorch says which backend an accelerator has."""
    return options.target_version is None or options.target_version >= BACKENDS_SINCE


def by_arguments(minutes: int | None) -> list[str]:
    """The parts of the helper that is given the script's arguments."""
    join = JOIN_BY_ARGUMENTS if minutes is None else JOIN_BY_ARGUMENTS_WITHIN
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


def join_of(backend: str, minutes: int | None) -> list[str]:
    """The lines that join without arguments."""
    if backend == "cuda" and minutes is None:
        return [JOIN_CUDA]
    if backend in ("cuda", "either"):
        choice = CUDA if backend == "cuda" else EITHER
        return [choice, JOIN_CHOSEN if minutes is None else JOIN_CHOSEN_WITHIN]
    return [JOIN if minutes is None else JOIN_WITHIN]


OWN_GPU = HelperSource(
    '''
def $own_gpu():
    """Return the number of this process's GPU."""
    rank = int($os.environ.get("LOCAL_RANK", $os.environ["RANK"]))
    return rank % $torch.cuda.device_count()
''',
    (OS, TORCH),
    without_group=True,
)
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
