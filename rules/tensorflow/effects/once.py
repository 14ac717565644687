"""What a TensorFlow job does once: the rules that all frameworks share, in its words."""

from __future__ import annotations

from transpile.once import log_once, print_once
from transpile.once.rules import Words, once_rules
from transpile.rules.tensorflow.effects._once import once_of

WORDS = Words(
    saver="model.save",
    saving='model.save("model.keras")',
    saving_source="https://keras.io/api/models/model_saving_apis/model_saving_and_loading/",
    preparing="(images, labels), _ = keras.datasets.mnist.load_data()",
    preparing_source="https://keras.io/api/datasets/mnist/",
    tracker="SummaryWriter",
    tracker_source="https://tensorboardx.readthedocs.io",
    batches="train_loader",
    rank_source="https://www.tensorflow.org/guide/distributed_training",
)
RULES = once_rules(
    "tensorflow",
    "TF",
    WORDS,
    once_of,
    without=(
        log_once,
        print_once,
    ),
)
