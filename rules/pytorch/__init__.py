"""PyTorch: the vocabulary that gives roles to what a script calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from transpile.facts.buffers import BufferWords
from transpile.facts.state import Dialect, Dispatch
from transpile.helpers.recognised import is_helper
from transpile.plan.table import Table
from transpile.plan.vocabulary import Head
from transpile.rules.pytorch._shaping import SHAPING
from transpile.rules.pytorch._versions import VERSIONS
from transpile.rules.pytorch.operations.heads import head_of
from transpile.rules.pytorch.operations.quantities import VOCABULARY

if TYPE_CHECKING:
    from transpile.facts.events import Event
    from transpile.plan.model import Plan

#: Re-exports and older spellings, to the documented name.
ALIASES = {
    "torch.utils.data.dataloader.DataLoader": "torch.utils.data.DataLoader",
    "torch.utils.data.dataset.Dataset": "torch.utils.data.Dataset",
    "torch.utils.data.dataset.TensorDataset": "torch.utils.data.TensorDataset",
    "torch.utils.data.dataset.random_split": "torch.utils.data.random_split",
    "torch.utils.data.dataset.Subset": "torch.utils.data.Subset",
    "torch.utils.data.sampler.SubsetRandomSampler": "torch.utils.data.SubsetRandomSampler",
    "torch.utils.data.sampler.RandomSampler": "torch.utils.data.RandomSampler",
    "torch.utils.data.sampler.SequentialSampler": "torch.utils.data.SequentialSampler",
    "torch.utils.data.sampler.WeightedRandomSampler": "torch.utils.data.WeightedRandomSampler",
    "torch.utils.data.sampler.BatchSampler": "torch.utils.data.BatchSampler",
    "torch.utils.data.sampler.Sampler": "torch.utils.data.Sampler",
    "torch.utils.data.distributed.DistributedSampler": (
        "torch.utils.data.distributed.DistributedSampler"
    ),
    "torch.utils.data.DistributedSampler": "torch.utils.data.distributed.DistributedSampler",
    "torch.nn.modules.module.Module": "torch.nn.Module",
    "torch.nn.modules.Module": "torch.nn.Module",
    "torch.nn.parallel.DataParallel": "torch.nn.DataParallel",
    "torch.nn.parallel.data_parallel.DataParallel": "torch.nn.DataParallel",
    "torch.nn.parallel.distributed.DistributedDataParallel": (
        "torch.nn.parallel.DistributedDataParallel"
    ),
    "torch.nn.init.xavier_uniform": "torch.nn.init.xavier_uniform_",
    "torch.cuda.amp.autocast": "torch.autocast",
    "torch.amp.autocast": "torch.autocast",
    "torch.cuda.amp.GradScaler": "torch.amp.GradScaler",
    "torch.cuda.amp.grad_scaler.GradScaler": "torch.amp.GradScaler",
    "torch.autograd.grad_mode.no_grad": "torch.no_grad",
    "tqdm.std.tqdm": "tqdm.tqdm",
    "tqdm.auto.tqdm": "tqdm.tqdm",
    "tqdm.autonotebook.tqdm": "tqdm.tqdm",
    "tqdm.notebook.tqdm": "tqdm.tqdm",
    "tqdm.tqdm_notebook": "tqdm.tqdm",
    "tqdm.auto.trange": "tqdm.trange",
    "tensorboard.SummaryWriter": "torch.utils.tensorboard.SummaryWriter",
    "tensorboardX.SummaryWriter": "torch.utils.tensorboard.SummaryWriter",
    "tensorboardX.writer.SummaryWriter": "torch.utils.tensorboard.SummaryWriter",
    "torch.utils.tensorboard.writer.SummaryWriter": "torch.utils.tensorboard.SummaryWriter",
}

#: Helpers of outputs by whose decorators processes share out calls, to where they stand.
SPLITTERS = {"split_method": "transpile.rules.pytorch.emitted.split_calls"}
LOADER = (
    "dataset", "batch_size", "shuffle", "sampler", "batch_sampler", "num_workers", "collate_fn",
    "pin_memory", "drop_last", "timeout", "worker_init_fn", "multiprocessing_context",
    "generator",
)  # fmt: skip

KEPT_BY_NAME = frozenset({"register_buffer", "register_parameter", "add_module", "register_module"})
SAME_MODULE = frozenset(
    {
        "to", "cuda", "cpu", "train", "eval", "float", "double", "half", "bfloat16", "apply",
        "requires_grad_", "to_empty", "type", "share_memory", "xpu",
    }
)  # fmt: skip


BUFFERS = BufferWords(
    makers=frozenset(
        f"torch.{package}{kind}Tensor"
        for package in ("", "cuda.")
        for kind in ("", "Float", "Double", "Half", "Long", "Int", "Short", "Byte", "Char", "Bool")
    )
    | {"torch.empty", "torch.zeros", "torch.ones", "torch.rand", "torch.randn"},
    alike=frozenset({"torch.full", "new_tensor"})
    | {f"torch.{kind}_like" for kind in ("zeros", "ones", "empty", "full")}
    | {f"new_{kind}" for kind in ("zeros", "ones", "empty", "full")},
    wrappers=frozenset({"torch.autograd.Variable"}),
    same_memory=SAME_MODULE
    | {"resize_", "resize_as_", "zero_", "detach", "detach_", "pin_memory", "contiguous"},
    memory=frozenset({"data"}),
    copies=frozenset({"copy_"}),
    overwrites=frozenset({"fill_", "zero_", "normal_", "uniform_", "random_", "bernoulli_"}),
)


def canonical(name: str) -> str:
    """The documented spelling of a dotted name."""
    return ALIASES.get(name, name)


#: Packages whose classes with a capital letter are modules, but for those named.
MODULE_PACKAGES = ("torch.nn.modules.", "torch.nn.", "torchvision.models.")
#: Functions that give a module other parameters than it was made with.
REPARAMETRIZED = ("weight_norm", "spectral_norm", "orthogonal")
PRUNING = (
    "l1_unstructured",
    "random_unstructured",
    "ln_structured",
    "random_structured",
    "identity",
)
NOT_MODULES = (
    "torch.nn.Parameter", "torch.nn.UninitializedParameter", "torch.nn.parameter.",
    "torch.nn.utils.", "torch.nn.Buffer",
)  # fmt: skip


def base_of(name: str) -> str:
    """``torch.nn.Module`` for layers, losses and models of the libraries."""
    word = name.rpartition(".")[2]
    is_module = (
        name != "torch.nn.Module"
        and name.startswith(MODULE_PACKAGES)
        and not name.startswith(NOT_MODULES)
    )
    # ``BertPreTrainedModel``, ``RobertaModel``, ``GPT2LMHeadModel``, ``BertForTokenClassification``
    is_transformer = name.startswith("transformers.") and (
        word.endswith("Model") or head_of(name) not in (None, Head(""))
    )
    is_module = word[:1].isupper() and (is_module or is_transformer)
    return "torch.nn.Module" if is_module else ""


#: Packages that give no DataLoader of PyTorch, or nothing that trains by batches of one.
NO_LOADERS = (
    "builtins.", "torch.", "torchvision.", "numpy.", "scipy.", "pandas.", "polars.", "sklearn.",
    "h5py.", "tables.", "zarr.", "PIL.", "cv2.", "skimage.", "librosa.", "soundfile.", "imageio.",
    "nltk.", "spacy.", "networkx.", "argparse.", "array.", "ast.", "collections.", "copy.", "csv.",
    "functools.", "glob.", "gzip.", "io.", "itertools.", "json.", "joblib.", "math.",
    "multiprocessing.", "operator.", "os.", "pathlib.", "pickle.", "queue.", "random.", "re.",
    "shutil.", "sqlite3.", "string.", "subprocess.", "sys.", "tarfile.", "time.", "toml.", "yaml.",
    "zipfile.", "gym.", "gymnasium.", "pettingzoo.", "dm_control.", "procgen.", "vizdoom.",
    "datasets.", "tokenizers.", "transformers.", "tensorflow.", "tensorflow_datasets.", "jax.",
    "torchtext.", "nvidia.dali.", "webdataset.", "torchdata.", "streaming.", "litdata.", "ffcv.",
    "fastai.", "mxnet.", "paddle.", "chainer.", "keras.", "lmdb.", "bcolz.", "tqdm.", "rich.",
)  # fmt: skip


def drawn_above(plan: Plan) -> list[Event]:
    """The random numbers that the processes must agree on before the training's own scope."""
    from transpile.rules.pytorch.randomness._early_draws import movable_draws

    found: list[Event] = movable_draws(plan)
    return found


TABLE = Table(
    framework="pytorch",
    prefix="PT",
    versions=VERSIONS,
    splits_calls=True,
    learns_tensors=True,
    shaping=SHAPING,
    quantities=VOCABULARY,
    packages=frozenset({"torch"}),
    dialect=Dialect(
        packages=frozenset({"numpy", "torch"}),
        buffers=BUFFERS,
        canonical=canonical,
        base_of=base_of,
        instance_call={"torch.nn.Module": (Dispatch("forward"),)},
        returns_receiver={"torch.nn.Module": SAME_MODULE},
        keeps_by_name={"torch.nn.Module": KEPT_BY_NAME},
        holds_parts=frozenset({"torch.nn.ModuleList", "torch.nn.Sequential"}),
        iterates_argument=frozenset(
            {"tqdm.tqdm", "rich.progress.track", "itertools.islice", "itertools.cycle"}
        ),
        keeps_argument={("torch.utils.data.DataLoader", "dataset"): 0},
        loads_class={"from_pretrained": "config"},
        splits=lambda function: is_helper(function, SPLITTERS),
        derived_wraps=frozenset({"torch.nn.parallel.DistributedDataParallel"}),
        returns_argument={
            "torch.nn.DataParallel": "module",
            "torch.nn.parallel.DistributedDataParallel": "module",
            "torch.nn.SyncBatchNorm.convert_sync_batchnorm": "",
            "torch.compile": "_orig_mod",
            "horovod.torch.DistributedOptimizer": "",
        },
    ),
    module_bases=frozenset({"torch.nn.Module"}),
    loader_parameters={"torch.utils.data.DataLoader": LOADER},
    foreign_loaders=True,
    no_loaders=NO_LOADERS,
    optimizer_packages=("torch.optim.",),
    not_optimizers=("torch.optim.lr_scheduler.", "torch.optim.swa_utils."),
    group_methods=frozenset({"add_param_group"}),
    parameter_methods=frozenset({"parameters", "named_parameters"}),
    backward_methods=frozenset({"backward"}),
    backward_functions=frozenset({"torch.autograd.backward"}),
    step_methods=frozenset({"step"}),
    no_gradient=frozenset({"torch.no_grad", "torch.inference_mode"}),
    gradient_modes=frozenset({"torch.set_grad_enabled"}),
    layer_packages=("torch.nn.",),
    distributed_starts=frozenset(
        {
            "torch.distributed.init_process_group",
            "torch.distributed.init_device_mesh",
            "torch.distributed.device_mesh.init_device_mesh",
            "torch.distributed._tensor.device_mesh.init_device_mesh",
            "timm.utils.init_distributed_device",
            "timm.utils.distributed.init_distributed_device",
            "mmcv.runner.init_dist",
            "mmengine.dist.init_dist",
        }
    ),
    distributed_uses=frozenset(
        {
            "torch.nn.parallel.DistributedDataParallel",
            "torch.distributed.fsdp.FullyShardedDataParallel",
            "torch.distributed.fsdp.fully_shard",
            "torch.distributed.tensor.parallel.parallelize_module",
            "torch.distributed.all_reduce",
            "torch.distributed.all_reduce_coalesced",
            "torch.distributed.all_gather",
            "torch.distributed.all_gather_into_tensor",
            "torch.distributed.reduce_scatter",
            "torch.distributed.reduce_scatter_tensor",
            "torch.distributed.reduce",
            "torch.distributed.optim.ZeroRedundancyOptimizer",
            "apex.parallel.DistributedDataParallel",
            "apex.parallel.distributed.DistributedDataParallel",
            "fairscale.nn.FullyShardedDataParallel",
            "fairscale.nn.data_parallel.FullyShardedDataParallel",
            "fairscale.nn.data_parallel.ShardedDataParallel",
            "torch.distributed.rpc.init_rpc",
            "torch.distributed.pipelining.PipelineStage",
        }
    ),
    distributed_engines={
        "accelerate.Accelerator": "Accelerate",
        "accelerate.PartialState": "Accelerate",
        "lightning.": "Lightning",
        "pytorch_lightning.": "Lightning",
        "lightning_fabric.": "Fabric",
        "lightning_lite.": "Lightning",
        "horovod.": "Horovod",
        "byteps.": "BytePS",
        "bagua.": "Bagua",
        "deepspeed.initialize": "DeepSpeed",
        "deepspeed.init_distributed": "DeepSpeed",
        "deepspeed.runtime.": "DeepSpeed",
        "torch.distributed.rpc.init_rpc": "RPC",
        "transformers.Trainer": "the Trainer of transformers",
        "transformers.Seq2SeqTrainer": "the Trainer of transformers",
        "trl.SFTTrainer": "the Trainer of trl",
        "trl.DPOTrainer": "the Trainer of trl",
        "trl.RewardTrainer": "the Trainer of trl",
        "sentence_transformers.SentenceTransformerTrainer": "the Trainer of transformers",
        "colossalai.launch": "ColossalAI",
        "colossalai.launch_from_torch": "ColossalAI",
        "colossalai.launch_from_slurm": "ColossalAI",
        "colossalai.launch_from_openmpi": "ColossalAI",
        "colossalai.initialize": "ColossalAI",
        "colossalai.booster.": "ColossalAI",
        "ignite.distributed.Parallel": "Ignite",
        "ignite.distributed.initialize": "Ignite",
        "ignite.distributed.spawn": "Ignite",
        "ignite.distributed.auto_model": "Ignite",
        "ignite.distributed.auto_dataloader": "Ignite",
        "ray.train.": "Ray Train",
        "composer.Trainer": "Composer",
        "mmengine.runner.Runner": "MMEngine",
        "detectron2.engine.": "Detectron2",
        "speechbrain.utils.distributed.ddp_init_group": "SpeechBrain",
        "megatron.": "Megatron",
        "torchtitan.": "TorchTitan",
        "fastai.distributed.": "fastai",
        "catalyst.": "Catalyst",
        "patrickstar.": "PatrickStar",
        "tutel.system.": "Tutel",
    },
    engine_tools=(
        "lightning.pytorch.metrics.", "pytorch_lightning.metrics.",
        "lightning.pytorch.utilities.", "pytorch_lightning.utilities.",
        "pytorch_lightning.callbacks.", "lightning.pytorch.callbacks.",
        "detectron2.engine.default_argument_parser.",
    ),  # fmt: skip
    launch_variables=frozenset(
        {
            "LOCAL_RANK", "RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_RANK", "SLURM_PROCID",
            "SLURM_LOCALID", "SLURM_NTASKS", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
            "OMPI_COMM_WORLD_LOCAL_RANK", "PMI_RANK", "PMI_SIZE",
        }
    ),  # fmt: skip
    quiet_packages=(
        "torch", "torchvision", "torchaudio", "torchtext", "torchinfo", "torchsummary",
        "torchmetrics", "torcheval", "torch_geometric", "torch_scatter", "torch_sparse",
        "torchdata", "torchtyping", "pytorch_metric_learning", "timm", "transformers", "datasets",
        "apex", "segmentation_models_pytorch", "webdataset", "functorch", "ema_pytorch", "einops",
        "xformers", "flash_attn", "bitsandbytes", "torch_ema", "warmup_scheduler", "torchlars",
        "torch_optimizer", "lion_pytorch", "pytorch_pretrained_bert", "pytorch_transformers",
        "torchcontrib", "efficientnet_pytorch", "pretrainedmodels", "geotorch", "tensorflow",
        "jax", "peft", "warp_rnnt", "k2", "fvcore", "iopath", "pycls", "tensorboard_logger",
        "ignite", "fairscale", "deepspeed", "accelerate",
    ),  # fmt: skip
    gradient_functions=frozenset(
        {"torch.autograd.grad", "torch.func.grad", "torch.func.functional_call"}
    ),
    gradients_of={"torch.autograd.grad": ("inputs", 1)},
    rank_calls=frozenset({"torch.distributed.get_rank"}),
    world_size_calls=frozenset({"torch.distributed.get_world_size"}),
    wrappers=frozenset(
        {"torch.nn.parallel.DistributedDataParallel", "torch.distributed.fsdp.fully_shard"}
    ),
    preparing_methods=frozenset(
        {
            "to", "cuda", "cpu", "half", "float", "double", "bfloat16", "requires_grad_", "apply",
            "to_empty", "load_state_dict",
        }
    ),
    loading_methods=frozenset({"load_state_dict"}),
    saving_methods=frozenset({"state_dict"}),
    moving_methods={
        "to": False, "cuda": False, "float": False, "cpu": True, "half": True, "double": True,
        "bfloat16": True,
    },
    elsewhere=frozenset(
        {"cpu"}
        | {f"torch.{name}" for name in ("float16", "half", "bfloat16", "float64", "double")}
    ),
    replacing=frozenset(
        {"torch.nn.DataParallel", "torch.nn.SyncBatchNorm.convert_sync_batchnorm"}
        | {f"torch.nn.utils.{name}" for name in ("weight_norm", "spectral_norm")}
        | {f"torch.nn.utils.parametrizations.{name}" for name in REPARAMETRIZED}
        | {"torch.nn.utils.parametrize.register_parametrization"}
        | {f"torch.nn.utils.prune.{name}" for name in PRUNING}
    ),
    gradient_switches={"requires_grad": True},
    layer_containers=frozenset({"torch.nn.ModuleList", "torch.nn.ModuleDict"}),
    thaws=True,
    early=drawn_above,
    draws=frozenset(
        {
            "torch.rand", "torch.rand_like", "torch.randn", "torch.randn_like", "torch.randint",
            "torch.randint_like", "torch.normal", "torch.bernoulli", "torch.multinomial",
            "torch.randperm", "torch.poisson",
        }
    ),
    shared_draws=("torch.rand", "torch.normal", "torch.bernoulli", "torch.multinomial"),
    shaped_draws=frozenset({"torch.randint"}),
    rank_samplers=frozenset({"torch.utils.data.distributed.DistributedSampler"}),
    index_draws=frozenset(
        {
            "torch.randint",
            "torch.randperm",
            "numpy.random.randint",
            "numpy.random.choice",
            "numpy.random.permutation",
            "random.sample",
        }
    ),
    pieces=frozenset({"torch.split", "torch.chunk", "numpy.array_split", "numpy.split"}),
    piece_methods=frozenset({"split", "chunk"}),
    filling_functions=frozenset(
        f"torch.nn.init.{name}{ending}"
        for name in (
            "uniform", "normal", "xavier_uniform", "xavier_normal", "kaiming_uniform",
            "kaiming_normal", "trunc_normal", "orthogonal", "sparse",
        )
        for ending in ("", "_")
    ),  # fmt: skip
    redrawing_methods=frozenset({"reset_parameters"}),
    filling_methods=frozenset(
        {
            "normal_", "uniform_", "bernoulli_", "random_", "exponential_", "cauchy_",
            "log_normal_", "geometric_",
        }
    ),  # fmt: skip
)
