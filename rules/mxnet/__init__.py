"""MXNet: the vocabulary that gives roles to what a script calls."""

from __future__ import annotations

from transpile.facts.state import Dialect, Dispatch
from transpile.plan.table import Table
from transpile.rules.mxnet._gate import distributed, sites, trains
from transpile.rules.mxnet._quantities import VOCABULARY
from transpile.rules.mxnet._versions import VERSIONS
from transpile.rules.mxnet._vocabulary import (
    ARRAY_ITERATOR,
    GLUON_LOADER,
    IMAGE_ITERATOR,
    PARTS,
    WHOLE,
)

#: Other spellings of modules, to the documented one; the first that fits counts.
MODULES = (
    ("mxnet.kv.", "mxnet.kvstore."),
    ("mxnet.kvstore.kvstore.", "mxnet.kvstore."),
    ("mxnet.mod.", "mxnet.module."),
    ("mxnet.module.module.", "mxnet.module."),
    ("mxnet.module.bucketing_module.", "mxnet.module."),
    ("mxnet.ndarray.", "mxnet.nd."),
    ("mxnet.nd.op.", "mxnet.nd."),
    ("mxnet.nd.random_", "mxnet.nd.random."),
    ("mxnet.numpy.", "mxnet.np."),
    ("mxnet.symbol.", "mxnet.sym."),
    ("mxnet.initializer.", "mxnet.init."),
    ("mxnet.img.", "mxnet.image."),
    ("mxnet.model.FeedForward", "mxnet.model.FeedForward"),
    ("mxnet.gluon.metric.", "mxnet.metric."),
    ("mxnet.io.io.", "mxnet.io."),
    ("mxnet.gluon.trainer.", "mxnet.gluon."),
    ("mxnet.gluon.block.", "mxnet.gluon."),
    ("mxnet.gluon.nn.Block", "mxnet.gluon.Block"),
    ("mxnet.gluon.nn.HybridBlock", "mxnet.gluon.HybridBlock"),
    ("mxnet.gluon.data.dataloader.", "mxnet.gluon.data."),
    ("mxnet.gluon.data.dataset.", "mxnet.gluon.data."),
    ("mxnet.gluon.data.sampler.", "mxnet.gluon.data."),
    ("mxnet.gluon.data.vision.datasets.", "mxnet.gluon.data.vision."),
    ("mxnet.rnn.io.", "mxnet.rnn."),
    ("mxnet.rnn.rnn.", "mxnet.rnn."),
    ("gluoncv.utils.filesystem.", "gluoncv.utils."),
    ("mxnet.contrib.amp.amp.", "mxnet.contrib.amp."),
    ("mxnet.random.seed", "mxnet.random.seed"),
)


#: Functions of ``mxnet.nd.random`` that ``mxnet.nd`` has under the same names.
DRAWS = frozenset(
    {"exponential", "gamma", "generalized_negative_binomial", "negative_binomial", "normal",
     "poisson", "randint", "uniform"}
)  # fmt: skip


def canonical(name: str) -> str:
    """The documented spelling of a dotted name."""
    for other, documented in MODULES:
        if name.startswith(other):
            name = documented + name[len(other) :]
    module, _, last = name.rpartition(".")
    return f"mxnet.nd.random.{last}" if module == "mxnet.nd" and last in DRAWS else name


#: Where the classes of Gluon's layers and losses are, all of which may have `hybrid_forward`.
BLOCKS = ("mxnet.gluon.nn.", "mxnet.gluon.rnn.", "mxnet.gluon.loss.", "mxnet.gluon.contrib.")


def base_of(name: str) -> str:
    """``mxnet.gluon.HybridBlock`` for layers and losses of Gluon."""
    is_class = name.rpartition(".")[2][:1].isupper()
    return "mxnet.gluon.HybridBlock" if is_class and name.startswith(BLOCKS) else ""


LOADERS: dict[str, tuple[str, ...]] = {
    "mxnet.gluon.data.DataLoader": GLUON_LOADER,
    "mxnet.io.NDArrayIter": ARRAY_ITERATOR,
    **dict.fromkeys(PARTS | WHOLE, ()),
    "mxnet.image.ImageIter": IMAGE_ITERATOR,
    "mxnet.image.ImageDetIter": IMAGE_ITERATOR,
}

TABLE = Table(
    framework="mxnet",
    prefix="MX",
    versions=VERSIONS,
    packages=frozenset({"mxnet"}),
    quantities=VOCABULARY,
    dialect=Dialect(
        packages=frozenset({"numpy", "mxnet"}),
        canonical=canonical,
        instance_call={
            "mxnet.gluon.HybridBlock": (
                Dispatch("forward"),
                Dispatch("hybrid_forward", package="mxnet.nd"),
            ),
            "mxnet.gluon.Block": (Dispatch("forward"),),
        },
        base_of=base_of,
        returns_receiver={"mxnet.module.SequentialModule": frozenset({"add"})},
        holds_parts=frozenset({"mxnet.gluon.nn.Sequential", "mxnet.gluon.nn.HybridSequential"}),
        gives_parts=frozenset({"_children", "values", "items"}),
        keeps_parts=frozenset({"register_child"}),
        runs_each=True,
        iterates_argument=frozenset(
            {"tqdm.tqdm", "rich.progress.track", "itertools.islice", "itertools.cycle"}
        ),
    ),
    module_bases=frozenset({"mxnet.gluon.Block", "mxnet.gluon.HybridBlock"}),
    loader_parameters=LOADERS,
    optimizer_packages=("mxnet.gluon.Trainer",),
    parameter_methods=frozenset({"collect_params"}),
    backward_methods=frozenset({"backward", "forward_backward"}),
    backward_functions=frozenset({"mxnet.autograd.backward"}),
    step_methods=frozenset({"step", "update", "allreduce_grads"}),
    no_gradient=frozenset({"mxnet.autograd.pause", "mxnet.autograd.predict_mode"}),
    layer_packages=("mxnet.gluon.nn.", "mxnet.gluon.rnn."),
    distributed_engines={
        "horovod.mxnet.init": "Horovod",
        "horovod.mxnet.DistributedTrainer": "Horovod",
        "horovod.mxnet.DistributedOptimizer": "Horovod",
        "byteps.mxnet.init": "BytePS",
        "gluoncv.auto.": "GluonCV",
    },
    rank_attributes=frozenset({("mxnet.kvstore.create", "rank")}),
    world_size_calls=frozenset(),
    shared_draws=(
        "mxnet.nd.random", "mxnet.np.random", "mxnet.random.uniform", "mxnet.random.normal",
    ),  # fmt: skip
    joins_by_import=True,
    splits_calls=True,
    distributed=distributed,
    trains=trains,
    sites=sites,
)
