"""What a user may choose about a conversion."""

from __future__ import annotations

from typing import Literal

from transpile.records import shown_dataclass as dataclass

BatchSize = Literal["global", "per-device"]
ScaleLearningRate = Literal["none", "linear", "sqrt"]
Evaluation = Literal["replicate", "shard"]
Shard = Literal["auto", "data", "calls"]
Batches = Literal["own", "broadcast"]
Backend = Literal["auto", "nccl", "gloo", "mpi"]
SyncBatchNorm = Literal["auto", "on", "off"]
Strategy = Literal["ddp", "fsdp"]
HelperPlace = Literal["auto", "module", "inline"]
PaddleInterface = Literal["parallel", "fleet"]
KVStore = Literal["dist_sync", "dist_device_sync", "dist_async"]
Compression = Literal["none", "2bit", "fp16", "bf16", "powersgd"]
Communication = Literal["auto", "collective", "nccl2", "pserver"]
SingaStart = Literal["mpi", "multiprocess"]
Leave = Literal["none", "horovod"]
DistOption = Literal[
    "fp32", "plain", "fp16", "half", "partialUpdate", "sparseTopK", "sparseThreshold"
]


@dataclass(frozen=True)
class Options:
    """Choices of one conversion; the defaults are those of the command.

    Args:
        framework: the name of a folder of rules; ``auto`` looks at what the script imports.
        batch_size: whether the script's batch size is that of all processes together (``global``:
            each takes its share) or of each process (``per-device``).
        scale_lr: how the learning rate follows the larger global batch; needs ``per-device``.
        shard: what the ranks shard: every batch (``data``), or the calls of the models, of
            which each rank computes its rows on whole batches (``calls``); ``auto`` shards
            batches where that is shown to train the same model, else calls.
        batches: every rank draws the batches itself, or rank 0 draws and broadcasts them; the
            latter needs calls to be sharded.
        evaluation: every rank evaluates everything (``replicate``), or its shard, reduced.
        backend: communication backend; ``auto`` is NCCL for models on GPUs, Gloo for those on the
            CPU, and both where the run decides.
        script_args: add ``--backend``, ``--init-method``, ``--rank`` and ``--world-size`` to the
            script's own argument parser.
        timeout_minutes: how long a collective may wait; None keeps the framework's default.
        sync_batch_norm: whether batch norm takes its statistics over all ranks.
        strategy: each process has the whole model (``ddp``), or a part of each parameter
            (``fsdp``).
        paddle_api: whether Paddle scripts join through ``init_parallel_env`` and ``DataParallel``
            or through ``fleet``.
        kvstore: the kind of the store that the workers share.
        compression: how gradients are compressed on their way: ``2bit`` for MXNet, the others for
            PyTorch.
        mode: how gradients are shared, where a framework has several ways; ``auto`` is the first of
            the framework.
        async_mode: each trainer updates the parameter servers without waiting for the others.
        slice_var_up: large variables are cut into slices for several parameter servers.
        split_method: which parameter server a variable goes to: ``RoundRobin``, ``HashName``, or a
            dispatcher class, by its name in the script or its dotted name.
        distributed_embedding: large embedding tables stay on the parameter servers.
        check_launch: the set-up tells a launch with other processes than the launch file says.
        singa_start: how the processes of SINGA are started: by ``mpiexec``, or by the script
            itself, one on each GPU of one machine.
        dist_option: how SINGA's gradients travel: whole (``fp32``, also ``plain``), as half as many
            bits (``fp16``, ``half``), a part of the parameters at a time (``partialUpdate``), or
            the largest alone (``sparseTopK``, ``sparseThreshold``).
        spars: the fraction of gradients that ``sparseTopK`` sends, or the least absolute value that
            ``sparseThreshold`` does.
        helpers: whether what is written calls stands in a module beside the script (``module``) or
            in the script itself (``inline``), where no other module of the project needs any;
            ``auto`` makes a module for scripts that import others of their project.
        leave: a library whose calls become those of the framework's own, in a script that it
            distributes; its batch sizes are those of each process then.
        allow_partial: give the converted text in spite of errors.
        respect_distributed: leave a script that is already distributed alone; tests switch it off.
        target_python: oldest Python (major, minor) that the emitted syntax must run on.
        target_version: oldest version of the framework that the output must run on; None for the
            oldest that has what the output uses.
        explain_numbers: put into the plan what batches, steps and rates become for so many
            processes.
        roles: dotted names of in-house code outside the project, each with the known name that it
            stands for; both may end in ``.*``.
        apart: dotted names of models of such code that keep the samples of a batch apart; they may
            end in ``.*``, too.
    """

    framework: str = "auto"
    batch_size: BatchSize = "global"
    scale_lr: ScaleLearningRate = "none"
    shard: Shard = "auto"
    batches: Batches = "own"
    evaluation: Evaluation = "replicate"
    backend: Backend = "auto"
    script_args: bool = False
    timeout_minutes: int | None = None
    sync_batch_norm: SyncBatchNorm = "auto"
    strategy: Strategy = "ddp"
    paddle_api: PaddleInterface = "parallel"
    kvstore: KVStore = "dist_sync"
    compression: Compression = "none"
    mode: Communication = "auto"
    async_mode: bool = False
    slice_var_up: bool = True
    split_method: str = "RoundRobin"
    distributed_embedding: bool = False
    check_launch: bool = False
    singa_start: SingaStart = "mpi"
    dist_option: DistOption = "fp32"
    spars: float = 0.05
    helpers: HelperPlace = "auto"
    leave: Leave = "none"
    allow_partial: bool = False
    respect_distributed: bool = True
    target_python: tuple[int, int] = (3, 6)
    target_version: tuple[int, ...] | None = None
    explain_numbers: int | None = None
    roles: tuple[tuple[str, str], ...] = ()
    apart: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.scale_lr != "none" and self.batch_size != "per-device":
            raise ValueError("scale_lr needs batch_size='per-device': a global batch does not grow")
        if self.timeout_minutes is not None and self.timeout_minutes < 1:
            raise ValueError("timeout_minutes must be at least 1")
        if self.strategy == "fsdp" and self.compression != "none":
            raise ValueError("compression needs strategy='ddp': shards have no hook for it")
        if self.strategy == "fsdp" and self.evaluation == "shard":
            raise ValueError(
                "evaluation='shard' needs strategy='ddp': all processes call a sharded model"
            )
        if self.shard == "calls":
            if self.batch_size == "per-device":
                raise ValueError("shard='calls' needs batch_size='global': each rank has all of it")
            if self.strategy == "fsdp":
                raise ValueError("shard='calls' needs strategy='ddp': whole models are called")
            if self.compression != "none":
                raise ValueError("shard='calls' goes with compression='none'")
        if self.batches == "broadcast" and self.shard == "data":
            raise ValueError("batches='broadcast' needs shard='calls': each rank draws its share")
        if self.spars <= 0:
            raise ValueError("spars must be greater than 0")
        if self.explain_numbers is not None and self.explain_numbers < 1:
            raise ValueError("explain_numbers must be at least 1")
        if self.mode in ("collective", "nccl2"):
            if self.async_mode:
                raise ValueError(f"async_mode needs mode='pserver': {self.mode} is synchronous")
            if self.distributed_embedding:
                raise ValueError(
                    f"distributed_embedding needs mode='pserver': {self.mode} has no servers"
                )
        if not all(part.isidentifier() for part in self.split_method.split(".")):
            raise ValueError(f"split_method {self.split_method!r} is no name of a class")
        for name, known in self.roles:
            if name.endswith(".*") != known.endswith(".*"):
                raise ValueError(f"role {name!r}: it and {known!r} both end in '.*', or neither")
        for each in (*(each for role in self.roles for each in role), *self.apart):
            if not all(part.isidentifier() for part in each.removesuffix(".*").split(".")):
                raise ValueError(f"role {each!r} is no dotted name")

    @property
    def plain_dist_option(self) -> str:
        """How SINGA's gradients travel, each way by one word."""
        return {"plain": "fp32", "half": "fp16"}.get(self.dist_option, self.dist_option)
