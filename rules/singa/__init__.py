"""SINGA 3.x and 4.x: the vocabulary that gives roles to what a script calls."""

from __future__ import annotations

from transpile.facts.state import Dialect, Dispatch
from transpile.plan.table import Table
from transpile.rules.singa._quantities import VOCABULARY
from transpile.rules.singa._roles import sites, trains
from transpile.rules.singa._versions import VERSIONS

#: Re-exports, to the documented spelling.
ALIASES = {
    "singa.model.layer.": "singa.layer.",
    "singa.layer.autograd.": "singa.autograd.",
    "singa.opt.autograd.": "singa.autograd.",
    "singa.opt.tensor.": "singa.tensor.",
    "singa.autograd.Tensor": "singa.tensor.Tensor",
    # SINGA 3.0 had its layers there.
    **{
        f"singa.autograd.{name}": f"singa.layer.{name}"
        for name in (
            "Linear",
            "Conv2d",
            "SeparableConv2d",
            "BatchNorm2d",
            "Pooling2d",
            "MaxPool2d",
            "AvgPool2d",
            "MaxPool1d",
            "AvgPool1d",
            "RNN",
            "LSTM",
        )
    },
    "singa.opt.Tensor": "singa.tensor.Tensor",
    "singa.model.Tensor": "singa.tensor.Tensor",
}


def canonical(name: str) -> str:
    """The documented spelling of a dotted name."""
    for other, documented in ALIASES.items():
        if name.startswith(other):
            return documented + name[len(other) :]
    return name


def base_of(name: str) -> str:
    """``singa.layer.Layer`` for layers of the library, ``singa.model.Model`` for those of ONNX."""
    if name == "singa.sonnx.SONNXModel":
        return "singa.model.Model"
    return "singa.layer.Layer" if name.startswith("singa.layer.") else ""


TABLE = Table(
    framework="singa",
    prefix="SG",
    quantities=VOCABULARY,
    packages=frozenset({"singa"}),
    dialect=Dialect(
        packages=frozenset({"numpy", "singa"}),
        canonical=canonical,
        instance_call={
            "singa.model.Model": (Dispatch("train_one_batch"), Dispatch("forward")),
            "singa.module.Module": (Dispatch("forward"),),
            "singa.layer.Layer": (Dispatch("forward"),),
        },
        base_of=base_of,
        iterates_argument=frozenset({"tqdm.tqdm", "tqdm.auto.tqdm", "rich.progress.track"}),
    ),
    module_bases=frozenset({"singa.model.Model", "singa.module.Module", "singa.layer.Layer"}),
    optimizer_packages=(
        "singa.opt.SGD",
        "singa.opt.RMSProp",
        "singa.opt.AdaGrad",
        "singa.opt.Adam",
    ),
    rank_attributes=frozenset({("singa.opt.DistOpt", "global_rank")}),
    parameter_methods=frozenset({"get_params", "get_states"}),
    backward_functions=frozenset({"singa.autograd.backward"}),
    layer_packages=("singa.layer.",),
    distributed_engines={
        "singa.opt.DistOpt": "DistOpt of SINGA",
        "horovod.": "Horovod",
    },
    trains=trains,
    versions=VERSIONS,
    sites=sites,
)
