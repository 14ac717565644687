"""The helper functions that join the processes."""

from __future__ import annotations

from transpile.options import Options
from transpile.prelude import HelperSource, HelperTemplate
from transpile.rules.singa._helpers.names import (
    DEVICE,
    FUNCTOOLS,
    MULTIPROCESSING,
    OPT,
    OS,
    RUNPY,
    SINGA,
    SYS,
)

BY_MPI = '''
@$functools.lru_cache(maxsize=None)
def $shared_optimizer():
    """Make the DistOpt of all processes; there is none where only one was started."""
    counts = [$os.environ.get("OMPI_COMM_WORLD_SIZE"), $os.environ.get("PMI_SIZE")]
    if "SLURM_STEP_ID" in $os.environ:
        counts.append($os.environ.get("SLURM_NTASKS"))
    started = max(int(count or 1) for count in counts)
    if int($os.environ.get("WORLD_SIZE", started)) != started:
        raise SystemExit("WORLD_SIZE is set, but no such processes of MPI: use mpiexec")
    expected = int($os.environ.get("EXPECTED_WORLD_SIZE", started))
    if started != expected:
        raise SystemExit(f"{started} processes started, {expected} expected")
    shared = $opt.DistOpt() if started > 1 else None
    if shared is not None and shared.world_size != started:
        raise SystemExit(f"MPI joined {shared.world_size} of {started} processes")
    return shared
'''
BY_PROCESSES = '''
@$functools.lru_cache(maxsize=None)
def $shared_optimizer():
    """Make the DistOpt of all processes; there is none where only one was started."""
    process = $multiprocessing.current_process()
    if not hasattr(process, "nccl_id"):
        return None
    return $opt.DistOpt(
        nccl_id=process.nccl_id, local_rank=process.local_rank, world_size=process.world_size
    )
'''
RUN_PROCESS = '''
def $run_process(nccl_id, local_rank, world_size):
    """Run the script as one of several processes."""
    process = $multiprocessing.current_process()
    process.nccl_id, process.local_rank, process.world_size = nccl_id, local_rank, world_size
    $runpy.run_path($sys.argv[0], run_name="__main__")
'''
START_PROCESSES = '''
def $start_processes():
    """Run the script once on each GPU of this machine, wait for all, and end.

    WORLD_SIZE in the environment says on how many; with one, the script goes on by itself.
    """
    if hasattr($multiprocessing.current_process(), "nccl_id"):
        return
    for name in ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE"):
        if int($os.environ.get(name, 1)) > 1:
            raise SystemExit(f"{name} is set: start this script without mpiexec")
    context = $multiprocessing.get_context("fork")
    if "WORLD_SIZE" in $os.environ:
        world_size = int($os.environ["WORLD_SIZE"])
    else:
        with context.Pool(1) as pool:  # CUDA must not start in this process, which forks
            world_size = pool.apply($device.get_num_gpus)
    expected = int($os.environ.get("EXPECTED_WORLD_SIZE", world_size))
    if world_size != expected:
        raise SystemExit(f"{world_size} processes, {expected} expected")
    if world_size == 1:
        return
    nccl_id = $singa_wrap.NcclIdHolder()
    processes = [
        context.Process(target=$run_process, args=(nccl_id, local_rank, world_size))
        for local_rank in range(world_size)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    $sys.exit(max(abs(process.exitcode) for process in processes))
'''


def shared_optimizer(options: Options) -> HelperSource:
    """The helper that joins the processes, as they are started."""
    if options.singa_start == "mpi":
        return HelperSource(BY_MPI, (FUNCTOOLS, OS, OPT), without_group=True)
    return HelperSource(BY_PROCESSES, (FUNCTOOLS, MULTIPROCESSING, OPT), without_group=True)


START: dict[str, HelperTemplate] = {
    "run_process": HelperSource(RUN_PROCESS, (MULTIPROCESSING, RUNPY, SYS), without_group=True),
    "start_processes": HelperSource(
        START_PROCESSES,
        (MULTIPROCESSING, OS, DEVICE, SINGA, SYS),
        ("run_process",),
        without_group=True,
    ),
    "shared_optimizer": shared_optimizer,
    "get_rank": HelperSource(
        '''
def $get_rank():
    """Return the rank of this process among all; 0 without a launcher."""
    shared = $shared_optimizer()
    return shared.global_rank if shared is not None else 0
''',
        (),
        ("shared_optimizer",),
        without_group=True,
    ),
    "get_world_size": HelperSource(
        '''
def $get_world_size():
    """Return the number of processes; 1 without a launcher."""
    shared = $shared_optimizer()
    return shared.world_size if shared is not None else 1
''',
        (),
        ("shared_optimizer",),
        without_group=True,
    ),
    "own_gpu": HelperSource(
        '''
@$functools.lru_cache(maxsize=None)
def $own_gpu():
    """Return the GPU of this process; None without a launcher."""
    shared = $shared_optimizer()
    return $device.create_cuda_gpu_on(shared.local_rank) if shared is not None else None
''',
        (FUNCTOOLS, DEVICE),
        ("shared_optimizer",),
        without_group=True,
    ),
    "share_optimizer": HelperSource(
        '''
def $share_optimizer(optimizer):
    """Average the gradients of all processes before an optimizer updates."""
    shared = $shared_optimizer()
    if shared is None:
        return optimizer
    shared.opt = optimizer
    return shared
''',
        (),
        ("shared_optimizer",),
        without_group=True,
    ),
}
