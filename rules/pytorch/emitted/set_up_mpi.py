"""The set-up of what mpirun starts."""

import os

import torch
import torch.distributed as dist


def adopt_mpi_environment() -> None:
    """Put what mpirun says of this process where the other launchers put it."""
    names = {
        "RANK": ["OMPI_COMM_WORLD_RANK", "PMI_RANK"],
        "WORLD_SIZE": ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE"],
        "LOCAL_RANK": ["OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID"],
    }
    for name, sources in names.items():
        for source in sources:
            if source in os.environ:
                os.environ[name] = os.environ[source]


def setup_distributed() -> None:
    """Join the process group of what mpirun started; stay one process without it."""
    adopt_mpi_environment()
    if "RANK" not in os.environ:
        if int(os.environ.get("SLURM_STEP_NUM_TASKS", 1)) > 1:
            raise SystemExit("several tasks but no RANK: start them with mpirun")
        return
    if not dist.is_mpi_available():
        raise SystemExit("the backend mpi needs a PyTorch that is built with MPI")
    if torch.cuda.is_available():
        rank = int(os.environ.get("LOCAL_RANK", os.environ["RANK"]))
        torch.cuda.set_device(rank % torch.cuda.device_count())
    dist.init_process_group("mpi")
