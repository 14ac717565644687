"""Ways to train that are not converted: sessions, estimators, searches of other libraries."""

from __future__ import annotations

from collections.abc import Iterator

from transpile.facts.events import Event
from transpile.facts.values import External
from transpile.plan.graph import called_names
from transpile.plan.model import Plan
from transpile.rules.tensorflow._sites import receivers_of

SESSIONS = frozenset(
    {
        "tensorflow.Session", "tensorflow.InteractiveSession", "tensorflow.compat.v1.Session",
        "tensorflow.compat.v1.InteractiveSession", "tensorflow.train.MonitoredTrainingSession",
        "tensorflow.compat.v1.train.MonitoredTrainingSession",
    }
)  # fmt: skip
ESTIMATORS = (
    "tensorflow.estimator.", "tensorflow.compat.v1.estimator.", "keras.estimator.",
    "tensorflow.contrib.learn.", "tf_slim.", "tensorflow.contrib.slim.", "tensorflow_estimator.",
)  # fmt: skip
SEARCHES = ("keras_tuner.", "kerastuner.", "autokeras.", "tflearn.", "ray.", "hyperopt.", "talos.")
MINIMIZE = frozenset({"minimize"})


def other_ways(plan: Plan) -> Iterator[tuple[Event, str, str]]:
    """What trains in a way that is not converted: the call, why, and what to do."""
    for event in plan.facts.calls:
        for callee in event.callee:
            name = callee.name if isinstance(callee, External) else ""
            if name in SESSIONS:
                yield (
                    event,
                    "it trains in a session of TensorFlow 1",
                    "move it to TensorFlow 2: Keras, or a loop with tf.GradientTape",
                )
            elif name.startswith(ESTIMATORS):
                yield (
                    event,
                    "it trains by an estimator",
                    "train a Keras model; an estimator distributes itself by a RunConfig",
                )
        receivers = receivers_of(event, frozenset({"search", "fit"}))
        if receivers and any(
            name.startswith(SEARCHES) for value in receivers for name in called_names(value)
        ):
            yield (
                event,
                "a library trains many models here, where no call of them is in sight",
                "train one model in this script, with the settings that were found",
            )
        made = receivers_of(event, MINIMIZE)
        if made and any(
            name.startswith(("keras.optimizers.", "tensorflow.optimizers."))
            for value in made
            for name in called_names(value)
        ):
            yield (
                event,
                "minimize() takes gradients where no tape is in sight",
                "take them from a tf.GradientTape and hand them to apply_gradients()",
            )
