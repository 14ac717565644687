"""Paddle 2.x and 3.x: the vocabulary that gives roles to what a script calls."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from transpile.facts.state import Dialect, Dispatch
from transpile.plan.table import Table
from transpile.rules.paddle._quantities import VOCABULARY
from transpile.rules.paddle._shaping import SHAPING
from transpile.rules.paddle._versions import VERSIONS
from transpile.rules.paddle.high_level._high_level import high_level_sites, trains_high_level
from transpile.rules.paddle.randomness._seeds import needs_agreement
from transpile.rules.paddle.static._static import static_sites

if TYPE_CHECKING:
    import libcst as cst

    from transpile.facts.module import Module
    from transpile.plan.model import Plan

#: Re-exports and older spellings, to the documented name.
ALIASES = {
    "paddle.distributed.parallel.DataParallel": "paddle.DataParallel",
    "paddle.distributed.parallel.init_parallel_env": "paddle.distributed.init_parallel_env",
    "paddle.distributed.fleet.base.fleet_base.fleet": "paddle.distributed.fleet",
    "paddle.io.dataloader.DataLoader": "paddle.io.DataLoader",
    "paddle.io.reader.DataLoader": "paddle.io.DataLoader",
    "paddle.nn.layer.layers.Layer": "paddle.nn.Layer",
    "paddle.nn.Layer.Layer": "paddle.nn.Layer",
    "paddle.hapi.Model": "paddle.Model",
    "paddle.hapi.model.Model": "paddle.Model",
    "paddle.amp.auto_cast.auto_cast": "paddle.amp.auto_cast",
    "paddle.amp.autocast": "paddle.amp.auto_cast",
    "paddle.framework.random.seed": "paddle.seed",
    "paddle.static.executor.Executor": "paddle.static.Executor",
    "paddle.base.Executor": "paddle.static.Executor",
    "paddle.base.executor.Executor": "paddle.static.Executor",
    "paddle.static.input.data": "paddle.static.data",
    "tqdm.std.tqdm": "tqdm.tqdm",
    "tqdm.auto.tqdm": "tqdm.tqdm",
    "tqdm.notebook.tqdm": "tqdm.tqdm",
    "tqdm.auto.trange": "tqdm.trange",
}

LOADER = (
    "dataset", "feed_list", "places", "return_list", "batch_sampler", "batch_size", "shuffle",
    "drop_last", "collate_fn", "num_workers", "use_buffer_reader", "prefetch_factor",
    "use_shared_memory", "timeout", "worker_init_fn", "persistent_workers",
)  # fmt: skip

SAME_LAYER = frozenset(
    {"to", "train", "eval", "apply", "float", "float16", "bfloat16", "astype", "to_static_state"}
)


#: The modules of ``paddle.tensor``.
TENSOR_MODULES = frozenset(
    {"array", "attribute", "creation", "einsum", "linalg", "logic", "manipulation", "math", "ops",
     "random", "search", "stat"}
)  # fmt: skip


def sites(plan: Plan) -> Iterator[tuple[str, Module, cst.CSTNode]]:
    """The calls that train unseen, which some rule must claim."""
    yield from high_level_sites(plan)
    yield from static_sites(plan)


#: What gives the parts of a layer.
GIVES_PARTS = frozenset(
    {"children", "sublayers", "named_children", "named_sublayers", "values", "items", "_sub_layers"}
)


def canonical(name: str) -> str:
    """The documented spelling of a dotted name."""
    last = name.rpartition(".")[2]
    if name.startswith("paddle.tensor.") and last not in TENSOR_MODULES:
        # They define what the package has at its top.
        return f"paddle.{last}"
    return ALIASES.get(name, name)


TABLE = Table(
    framework="paddle",
    prefix="PD",
    versions=VERSIONS,
    shaping=SHAPING,
    quantities=VOCABULARY,
    packages=frozenset({"paddle"}),
    dialect=Dialect(
        packages=frozenset({"numpy", "paddle"}),
        canonical=canonical,
        instance_call={"paddle.nn.Layer": (Dispatch("forward"),)},
        returns_receiver={"paddle.nn.Layer": SAME_LAYER},
        keeps_by_name={"paddle.nn.Layer": frozenset({"add_sublayer"})},
        iterates_argument=frozenset({"tqdm.tqdm", "itertools.islice", "itertools.cycle"}),
        derived_wraps=frozenset({"paddle.DataParallel"}),
        returns_argument={
            "paddle.DataParallel": "_layers",
            "paddle.nn.SyncBatchNorm.convert_sync_batchnorm": "",
            "paddle.jit.to_static": "",
            "paddle.distributed.fleet.distributed_model": "",
            "paddle.distributed.fleet.distributed_optimizer": "",
        },
        hands_back={"paddle.amp.decorate": ("models", "optimizers")},
        holds_parts=frozenset(
            {"paddle.nn.LayerList", "paddle.nn.LayerDict", "paddle.nn.Sequential"}
        ),
        gives_parts=GIVES_PARTS,
        runs_each=True,
        called_iterables=frozenset({"paddle.io.DataLoader"}),
    ),
    module_bases=frozenset({"paddle.nn.Layer"}),
    loader_parameters={"paddle.io.DataLoader": LOADER},
    optimizer_packages=("paddle.optimizer.",),
    not_optimizers=("paddle.optimizer.lr.", "paddle.optimizer.lr"),
    parameters_keyword="parameters",
    parameter_groups="_param_groups",
    parameters_first=False,
    parameter_methods=frozenset({"parameters", "named_parameters"}),
    backward_methods=frozenset({"backward"}),
    backward_functions=frozenset({"paddle.autograd.backward"}),
    step_methods=frozenset({"step", "minimize"}),
    no_gradient=frozenset({"paddle.no_grad"}),
    gradient_modes=frozenset({"paddle.set_grad_enabled"}),
    layer_packages=("paddle.nn.",),
    distributed_starts=frozenset(
        {
            "paddle.distributed.init_parallel_env",
            "paddle.distributed.fleet.init",
            "paddle.distributed.spawn",
        }
    ),
    distributed_uses=frozenset(
        {
            "paddle.DataParallel",
            "paddle.distributed.fleet.distributed_model",
            "paddle.distributed.fleet.distributed_optimizer",
            "paddle.distributed.all_reduce",
            "paddle.distributed.spawn",
            "paddle.distributed.shard_layer",
            "paddle.distributed.shard_optimizer",
            "paddle.Model",
        }
    ),
    distributed_engines={
        "paddle.distributed.ProcessMesh": "Paddle's automatic parallelism",
        "paddle.distributed.shard_tensor": "Paddle's automatic parallelism",
        "paddle.distributed.shard_dataloader": "Paddle's automatic parallelism",
        "paddle.distributed.to_static": "Paddle's automatic parallelism",
        "paddle.distributed.fleet.auto.": "Paddle's automatic parallelism",
        "paddlenlp.trainer.": "the Trainer of PaddleNLP",
        "paddle.distributed.spawn": "paddle.distributed.spawn",
        "horovod.": "Horovod",
    },
    gradient_functions=frozenset({"paddle.grad", "paddle.autograd.grad"}),
    gradients_of={"paddle.grad": ("inputs", 1), "paddle.autograd.grad": ("inputs", 1)},
    rank_calls=frozenset({"paddle.distributed.get_rank"}),
    world_size_calls=frozenset({"paddle.distributed.get_world_size"}),
    wrappers=frozenset({"paddle.DataParallel", "paddle.distributed.fleet.distributed_model"}),
    preparing_methods=frozenset(
        {
            "to",
            "cuda",
            "cpu",
            "float",
            "float16",
            "bfloat16",
            "astype",
            "apply",
            "set_state_dict",
            "set_dict",
            "load_dict",
        }
    ),
    replacing=frozenset({"paddle.nn.SyncBatchNorm.convert_sync_batchnorm"}),
    gradient_switches={"stop_gradient": False, "trainable": True},
    layer_containers=frozenset({"paddle.nn.LayerList", "paddle.nn.LayerDict"}),
    draws=frozenset(
        {
            "paddle.rand",
            "paddle.randn",
            "paddle.randint",
            "paddle.randint_like",
            "paddle.normal",
            "paddle.uniform",
            "paddle.standard_normal",
            "paddle.bernoulli",
            "paddle.multinomial",
            "paddle.randperm",
            "paddle.poisson",
            "paddle.gaussian",
            "paddle.log_normal",
            "paddle.binomial",
            "paddle.standard_gamma",
        }
    ),
    shared_draws=(
        "paddle.rand", "paddle.normal", "paddle.uniform", "paddle.standard_normal",
        "paddle.bernoulli", "paddle.multinomial", "paddle.poisson", "paddle.gaussian",
        "paddle.log_normal", "paddle.binomial", "paddle.standard_gamma",
    ),  # fmt: skip
    filling_methods=frozenset(
        {"normal_", "uniform_", "bernoulli_", "exponential_", "cauchy_", "geometric_"}
    ),
    assigning_methods=frozenset({"set_value"}),
    learns_tensors=True,
    splits_calls=True,
    trains=trains_high_level,
    sites=sites,
    early=needs_agreement,
)
