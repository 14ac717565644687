"""Runs a script and writes down what its optimizers have trained; started by tensorflow_jobs."""

from __future__ import annotations

import json
import os
import runpy
import sys
from pathlib import Path
from typing import Any

import tensorflow as tf

#: Of what precision layers are, where it is not the usual one.
FLOATX = "TENSORFLOW_FLOATX"
trained: dict[int, Any] = {}


def kept(variables: Any) -> None:
    """Remember variables, each once, in the order in which they were trained first."""
    for variable in variables:
        trained.setdefault(id(variable), variable)


def observe() -> None:
    """Look at what optimizers are given, whichever Keras it is."""
    base = tf.keras.optimizers.Optimizer
    if hasattr(base, "apply"):
        apply = base.apply

        def observed(self: Any, grads: Any, trainable_variables: Any = None) -> Any:
            kept(self._trainable_variables if trainable_variables is None else trainable_variables)
            return apply(self, grads, trainable_variables)

        base.apply = observed
        return
    apply_gradients = base.apply_gradients

    def observed_gradients(self: Any, grads_and_vars: Any, *args: Any, **kwargs: Any) -> Any:
        pairs = list(grads_and_vars)
        kept(variable for _, variable in pairs)
        return apply_gradients(self, pairs, *args, **kwargs)

    base.apply_gradients = observed_gradients


def main() -> None:
    """Run the script, then leave the evidence."""
    task = json.loads(os.environ.get("TF_CONFIG", "{}")).get("task", {"index": 0})
    if FLOATX in os.environ:
        tf.keras.backend.set_floatx(os.environ[FLOATX])
    observe()
    script, *arguments = sys.argv[1:]
    sys.argv = [script, *arguments]
    sys.path[0] = str(Path(script).resolve().parent)
    runpy.run_path(script, run_name="__main__")
    values = [tf.convert_to_tensor(each).numpy().ravel().tolist() for each in trained.values()]
    evidence = Path(os.environ["TENSORFLOW_EVIDENCE"]) / f"worker-{task['index']}.json"
    evidence.write_text(json.dumps(values), "utf-8")


if __name__ == "__main__":
    main()
