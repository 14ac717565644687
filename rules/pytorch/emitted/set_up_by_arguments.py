"""The set-up that the script's own arguments describe."""

import os
from typing import Optional

import torch
import torch.distributed as dist

from transpile.rules.pytorch.emitted.processes import own_gpu
from transpile.rules.pytorch.emitted.set_up_mpi import adopt_mpi_environment


def setup_distributed(
    backend: str,
    init_method: Optional[str],
    rank: Optional[int],
    world_size: Optional[int],
) -> None:
    """Join the process group of the arguments or the launcher; stay one process without."""
    if backend == "mpi":
        adopt_mpi_environment()
    if rank is not None:
        os.environ["RANK"] = str(rank)
    if world_size is not None:
        os.environ["WORLD_SIZE"] = str(world_size)
    if "RANK" not in os.environ:
        if int(os.environ.get("WORLD_SIZE", 1)) > 1:
            raise SystemExit("several tasks but no RANK: use torchrun or --rank")
        return
    needed = ["WORLD_SIZE"]
    if backend != "mpi" and init_method in (None, "env://"):
        needed += ["MASTER_ADDR", "MASTER_PORT"]
    for name in needed:
        if name not in os.environ:
            raise SystemExit(
                f"no {name}: use torchrun, or --world-size and --init-method"
            )
    if backend == "nccl" and not torch.cuda.is_available():
        raise SystemExit("the backend nccl needs a GPU: use --backend gloo without one")
    if backend == "mpi" and not dist.is_mpi_available():
        raise SystemExit("the backend mpi needs a PyTorch that is built with MPI")
    if torch.cuda.is_available():
        torch.cuda.set_device(own_gpu())
    if backend == "mpi":
        dist.init_process_group(backend)
    else:
        dist.init_process_group(
            backend,
            init_method=init_method,
            world_size=int(os.environ["WORLD_SIZE"]),
            rank=int(os.environ["RANK"]),
        )
