"""TensorFlow and Keras: the vocabulary that gives roles to what a script calls."""

from __future__ import annotations

from transpile.facts.state import Dialect, Dispatch
from transpile.plan.table import Table
from transpile.rules.tensorflow._gate import sites, trains
from transpile.rules.tensorflow._names import RESOLVER, STRATEGIES, canonical
from transpile.rules.tensorflow._versions import VERSIONS


def base_of(name: str) -> str:
    """``keras.Model`` for classes of models, ``keras.layers.Layer`` for those of layers."""
    if name in ("keras.Sequential", "keras.Model"):
        return "" if name == "keras.Model" else "keras.Model"
    is_class = name.rpartition(".")[2][:1].isupper()
    if is_class and name.startswith("keras.layers.") and name != "keras.layers.Layer":
        return "keras.layers.Layer"
    return ""


TABLE = Table(
    framework="tensorflow",
    prefix="TF",
    versions=VERSIONS,
    packages=frozenset({"tensorflow", "keras", "tf_keras"}),
    dialect=Dialect(
        packages=frozenset({"numpy", "tensorflow", "keras"}),
        canonical=canonical,
        instance_call={
            "keras.Model": (Dispatch("call"),),
            "keras.layers.Layer": (Dispatch("call"),),
            "tensorflow.Module": (Dispatch("__call__"),),
        },
        base_of=base_of,
        iterates_argument=frozenset(
            {"tqdm.tqdm", "rich.progress.track", "itertools.islice", "itertools.cycle"}
        ),
        returns_argument={"tensorflow.function": "", "tensorflow.autograph.to_graph": ""},
    ),
    module_bases=frozenset({"keras.Model", "keras.layers.Layer"}),
    distributed_engines={
        **dict.fromkeys(STRATEGIES, "tf.distribute"),
        "horovod.": "Horovod",
        "byteps.": "BytePS",
        "tensorflow.train.Server": "parameter servers",
        "tensorflow.compat.v1.train.Server": "parameter servers",
        "tensorflow.distribute.Server": "parameter servers",
        "keras.distribution.DataParallel": "keras.distribution",
        "keras.distribution.ModelParallel": "keras.distribution",
        "keras.distribution.set_distribution": "keras.distribution",
    },
    rank_attributes=frozenset({(RESOLVER, "task_id")}),
    trains=trains,
    sites=sites,
)
