"""Names of TensorFlow and Keras that several rules know."""

from __future__ import annotations

#: Other spellings of modules, to the one that rules know; the first that fits counts.
MODULES = (
    ("tensorflow.compat.v2.keras", "keras"),
    ("tensorflow.compat.v2.", "tensorflow."),
    ("tensorflow.python.keras", "keras"),
    ("tensorflow.keras", "keras"),
    ("tensorflow.compat.v1.keras", "keras"),
    ("tf_keras", "keras"),
    ("tensorflow.contrib.keras", "keras"),
    ("keras.api.", "keras."),
    ("keras.src.", "keras."),
)
KERAS = (
    ("keras.models.Sequential", "keras.Sequential"),
    ("keras.models.Model", "keras.Model"),
    ("keras.engine.training.Model", "keras.Model"),
    ("keras.engine.sequential.Sequential", "keras.Sequential"),
    ("keras.layers.Input", "keras.Input"),
)
MODEL_BASES = frozenset({"keras.Model", "keras.Sequential"})
LAYER = "keras.layers.Layer"
#: What gives a model, beside the classes.
MODEL_MAKERS = (
    "keras.Model", "keras.Sequential", "keras.applications.", "keras.models.load_model",
    "keras.models.clone_model", "keras.models.model_from_json", "keras.saving.load_model",
    "keras.models.model_from_yaml", "transformers.TF", "keras_hub.", "keras_nlp.", "keras_cv.",
    "tensorflow_hub.",
)  # fmt: skip
#: Methods of models that train.
FIT_METHODS = frozenset({"fit", "fit_generator", "train_on_batch"})
#: Packages whose objects may have such methods and are no models of Keras.
NO_MODELS = (
    "sklearn.", "keras.preprocessing.", "keras.layers.", "scipy.", "xgboost.", "lightgbm.",
    "catboost.", "statsmodels.", "keras.utils.", "numpy.", "pandas.", "imblearn.", "umap.",
    "gensim.", "matplotlib.", "seaborn.",
)  # fmt: skip
SCHEDULES = "keras.optimizers.schedules."
OPTIMIZERS = ("keras.optimizers.", "tensorflow.optimizers.")
TAPE = "tensorflow.GradientTape"
#: Methods of optimizers, and of variables, that change what is trained.
UPDATES = frozenset({"apply_gradients", "apply", "assign_sub", "assign_add", "assign"})
#: The strategies of ``tf.distribute``, by which a script is distributed already.
STRATEGIES = (
    "tensorflow.distribute.MirroredStrategy",
    "tensorflow.distribute.MultiWorkerMirroredStrategy",
    "tensorflow.distribute.ParameterServerStrategy",
    "tensorflow.distribute.TPUStrategy",
    "tensorflow.distribute.experimental.MultiWorkerMirroredStrategy",
    "tensorflow.distribute.experimental.ParameterServerStrategy",
    "tensorflow.distribute.experimental.CentralStorageStrategy",
    "tensorflow.distribute.experimental.TPUStrategy",
    "tensorflow.distribute.experimental_set_strategy",
    "tensorflow.contrib.distribute.",
)
STRATEGY = "tensorflow.distribute.MultiWorkerMirroredStrategy"
RESOLVER = "tensorflow.distribute.cluster_resolver.TFConfigClusterResolver"


def canonical(name: str) -> str:
    """The spelling of a dotted name that rules know."""
    for other, known in MODULES:
        if name == other.rstrip(".") or name.startswith(f"{other.rstrip('.')}."):
            name = known.rstrip(".") + name[len(other.rstrip(".")) :]
            break
    for other, known in KERAS:
        if name == other:
            return known
    return name
