"""PyTorch's audit: one check a module."""

from __future__ import annotations

from transpile.audit.vocabulary import Vocabulary

DDP = "torch.nn.parallel.DistributedDataParallel"
FSDP = "torch.distributed.fsdp.FullyShardedDataParallel"
#: Functions of the framework in which all processes of a group take part.
COLLECTIVES = frozenset(
    f"torch.distributed.{word}"
    for word in (
        "all_reduce", "all_reduce_coalesced", "broadcast", "broadcast_object_list", "all_gather",
        "all_gather_object", "all_gather_into_tensor", "all_gather_coalesced", "reduce",
        "reduce_scatter", "reduce_scatter_tensor", "gather", "gather_object", "scatter",
        "scatter_object_list", "all_to_all", "all_to_all_single", "barrier", "monitored_barrier",
    )
)  # fmt: skip
#: Functions in which a process joins the others.
STARTS = frozenset(
    {
        "torch.distributed.init_process_group",
        "torch.distributed.init_device_mesh",
        "torch.distributed.device_mesh.init_device_mesh",
        "deepspeed.init_distributed",
        "accelerate.Accelerator",
    }
)
SPAWNS = frozenset(
    {
        "torch.multiprocessing.spawn",
        "torch.multiprocessing.spawn.spawn",
        "torch.multiprocessing.start_processes",
    }
)
#: Decorators by which a function runs on the first process alone.
MAIN_ONLY = (
    "pytorch_lightning.utilities.rank_zero_only",
    "pytorch_lightning.utilities.rank_zero.rank_zero_only",
    "pytorch_lightning.utilities.distributed.rank_zero_only",
    "lightning.pytorch.utilities.rank_zero_only",
    "lightning.pytorch.utilities.rank_zero.rank_zero_only",
    "lightning.fabric.utilities.rank_zero.rank_zero_only",
    "lightning_utilities.core.rank_zero.rank_zero_only",
    "mmcv.runner.master_only",
    "mmengine.dist.master_only",
)

#: What Lightning's Fabric tells of a process.
FABRIC = {
    "global_rank": "rank",
    "local_rank": "local_rank",
    "node_rank": "node_rank",
    "world_size": "world_size",
    "is_global_zero": "is_first",
}
#: Context managers that also decorate functions.
CONTEXTS = frozenset(
    {
        "torch.no_grad", "torch.inference_mode", "torch.enable_grad", "torch.autograd.no_grad",
        "torch.set_grad_enabled", "torch.autocast", "torch.amp.autocast", "torch.cuda.amp.autocast",
    }
)  # fmt: skip

VOCABULARY = Vocabulary(
    calls={
        "torch.distributed.get_rank": "rank",
        "torch.distributed.get_world_size": "world_size",
        "torch.distributed.get_node_local_rank": "local_rank",
        "torch.distributed.distributed_c10d.get_rank": "rank",
        "torch.cuda.device_count": "local_world_size",
        "horovod.torch.rank": "rank",
        "horovod.torch.size": "world_size",
        "horovod.torch.local_rank": "local_rank",
        "horovod.torch.local_size": "local_world_size",
        "mpi4py.MPI.COMM_WORLD.Get_rank": "rank",
        "mpi4py.MPI.COMM_WORLD.Get_size": "world_size",
    },
    attributes={
        ("accelerate.Accelerator", "is_main_process"): "is_first",
        ("accelerate.Accelerator", "is_local_main_process"): "is_local_first",
        ("accelerate.Accelerator", "is_last_process"): "is_last",
        ("accelerate.Accelerator", "process_index"): "rank",
        ("accelerate.Accelerator", "local_process_index"): "local_rank",
        ("accelerate.Accelerator", "num_processes"): "world_size",
        **{
            (fabric, name): word
            for fabric in ("lightning.Fabric", "lightning.fabric.Fabric", "lightning_fabric.Fabric")
            for name, word in FABRIC.items()
        },
    },
    variables={
        "RANK": "rank",
        "LOCAL_RANK": "local_rank",
        "WORLD_SIZE": "world_size",
        "LOCAL_WORLD_SIZE": "local_world_size",
        "GROUP_RANK": "node_rank",
        "SLURM_PROCID": "rank",
        "SLURM_LOCALID": "local_rank",
        "SLURM_NTASKS": "world_size",
        "SLURM_NODEID": "node_rank",
        "OMPI_COMM_WORLD_RANK": "rank",
        "OMPI_COMM_WORLD_LOCAL_RANK": "local_rank",
        "OMPI_COMM_WORLD_SIZE": "world_size",
        "PMI_RANK": "rank",
        "PMI_SIZE": "world_size",
    },
    launch_arguments={"local_rank": "local_rank", "rank": "rank"},
    constants={"torch.distributed.is_available": True},
    joins=STARTS,
    asks_joined=frozenset({"torch.distributed.is_initialized"}),
    spawns=SPAWNS,
    processes=frozenset({"torch.multiprocessing.Process", "multiprocessing.Process"}),
    main_only=dict.fromkeys(MAIN_ONLY, "is_first"),
    wraps={DDP: "module", FSDP: "module", "apex.parallel.DistributedDataParallel": "module"},
    applied={"torch.autograd.Function": "forward"},
    meets=COLLECTIVES,
    main_rank="torch.distributed.get_rank",
    contexts=CONTEXTS,
    fills=frozenset(
        {"torch.distributed.broadcast_object_list", "torch.distributed.all_gather_object"}
    ),
)
