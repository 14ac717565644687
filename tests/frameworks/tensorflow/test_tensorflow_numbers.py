"""What ``--explain-numbers`` says of TensorFlow scripts is what their workers do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tensorflow_jobs import start
from test_explain_numbers import both, numbers
from test_explain_numbers_tensorflow import FIT, LOOP

from transpile import Options, convert


@pytest.mark.parametrize(
    ("script", "shown", "said"),
    [
        (
            LOOP,
            "optimizer.iterations.numpy(), rate.decay_steps",
            [("training", "steps altogether"), ("schedule", "decay_steps")],
        ),
        (
            f"{FIT}model.fit(x, y, validation_split=0.2, verbose=0)\n",
            "model.optimizer.iterations.numpy()",
            [("training", "steps altogether")],
        ),
    ],
)
def test_numbers_are_those_of_a_run(
    script: str,
    shown: str,
    said: list[tuple[str, str]],
    interpreter_of: Callable[[str], Path],
    tmp_path: Path,
) -> None:
    python = interpreter_of("tensorflow")
    script = f"{script}print({shown})\n"
    found = numbers(script, 2, batch_size="per-device")
    output = convert(script, Options(batch_size="per-device")).text
    for place, (text, workers) in enumerate(((script, 0), (output, 2))):
        file = tmp_path / f"train{place}.py"
        file.write_text(text)
        run = start(python, file, tmp_path / f"run{place}", (), workers or 1).end()
        assert not run.trouble, run.trouble
        told = [both(found, *quantity)[place] for quantity in said]
        assert run.outputs[0].split() == [str(each) for each in told]
