"""What the rules about effects share: TensorFlow's own effects, and the plan for all of them."""

from __future__ import annotations

from transpile.plan.effects.effects import Vocabulary
from transpile.plan.effects.once import find_once
from transpile.plan.effects.treatment import Once
from transpile.plan.model import Plan
from transpile.plan.query import query

#: What waits until every worker has come.
BARRIERS = frozenset({"tensorflow.distribute.MultiWorkerMirroredStrategy.run"})

VOCABULARY = Vocabulary(
    writes=frozenset(
        {
            "tensorflow.saved_model.save", "tensorflow.io.write_file", "tensorflow.io.write_graph",
            "keras.models.save_model", "keras.saving.save_model", "keras.utils.plot_model",
            "keras.preprocessing.image.save_img", "keras.utils.save_img",
            "tensorflow.io.gfile.makedirs", "tensorflow.io.gfile.mkdir",
            "tensorflow.io.gfile.rmtree", "tensorflow.io.gfile.remove",
            "tensorflow.io.gfile.copy", "tensorflow.io.gfile.rename",
            "tensorflow.summary.scalar", "tensorflow.summary.image",
            "tensorflow.summary.histogram", "tensorflow.summary.text",
            "keras.utils.model_to_dot",
        }
    ),  # fmt: skip
    write_methods=frozenset({"save", "save_weights", "export", "save_own_variables"}),
    reads=frozenset(
        {
            "keras.models.load_model", "keras.saving.load_model", "tensorflow.saved_model.load",
            "tensorflow.io.read_file", "tensorflow.data.TFRecordDataset",
            "tensorflow.data.TextLineDataset", "tensorflow.train.latest_checkpoint",
        }
    ),  # fmt: skip
    read_methods=frozenset({"load_weights", "restore"}),
    saves=frozenset({"keras.models.save_model", "keras.saving.save_model"}),
    loads=frozenset({"keras.models.load_model", "keras.saving.load_model"}),
    paths={
        "keras.models.save_model": ("filepath", 1),
        "keras.saving.save_model": ("filepath", 1),
        "tensorflow.saved_model.save": ("export_dir", 1),
    },
    trackers=frozenset({"tensorboardX.SummaryWriter"}),
    downloads=frozenset(
        {
            "keras.utils.get_file", "keras.datasets.mnist.load_data",
            "keras.datasets.fashion_mnist.load_data", "keras.datasets.cifar10.load_data",
            "keras.datasets.cifar100.load_data", "keras.datasets.imdb.load_data",
            "keras.datasets.imdb.get_word_index", "keras.datasets.reuters.load_data",
            "keras.datasets.reuters.get_word_index", "keras.datasets.boston_housing.load_data",
            "keras.datasets.california_housing.load_data", "tensorflow_datasets.load",
            "tensorflow_hub.load", "tensorflow_hub.KerasLayer",
        }
    ),  # fmt: skip
    download_flags=(("keras.applications.", ("weights",)),),
    apart=frozenset({"tensorflow.train.Checkpoint", "tensorflow.train.CheckpointManager"}),
    pure=("tensorflow.", "keras."),
    impure=(
        "tensorflow.random.", "keras.utils.", "keras.random.", "tensorflow.summary.",
        "tensorflow.io.", "tensorflow.saved_model.", "tensorflow.data.", "tensorflow.train.",
        "keras.models.", "keras.saving.", "keras.datasets.", "keras.layers.", "keras.Model",
        "keras.Sequential", "keras.applications.", "keras.callbacks.", "keras.optimizers.",
        "keras.metrics.", "keras.losses.", "keras.backend.", "keras.config.",
        "tensorflow.distribute.", "tensorflow.config.", "tensorflow.Variable",
        "tensorflow.function", "tensorflow.GradientTape", "tensorflow.py_function",
        "tensorflow.numpy_function", "tensorflow.keras", "tensorflow.print",
    ),  # fmt: skip
)


@query
def once_of(plan: Plan) -> Once:
    """What is decided about the effects of a script; found once for all rules."""
    plan.once = find_once(plan, VOCABULARY, BARRIERS, 0)
    return plan.once
