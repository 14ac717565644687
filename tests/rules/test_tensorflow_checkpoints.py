"""Checkpoints of TensorFlow: one worker's are kept, and every worker can restore."""

from __future__ import annotations

import ast
import os
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from transpile import Options, convert

SCRIPT = """\
import tensorflow as tf

tf.keras.utils.set_random_seed(0)
x = tf.random.normal((64, 4))
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.SGD(0.1)
checkpoint = tf.train.Checkpoint(model=model)
{manager}
for a in tf.data.Dataset.from_tensor_slices(x).batch(16):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(a, training=True) ** 2)
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
{save}
"""
MANAGER = 'manager = tf.train.CheckpointManager(checkpoint, "ckpts", max_to_keep=2)'


def output(manager: str, save: str) -> str:
    """The whole output."""
    return convert(SCRIPT.format(manager=manager, save=save), Options()).text


def converted(manager: str, save: str) -> tuple[str, set[str]]:
    """The output without its helpers, and the codes of what is said."""
    result = convert(SCRIPT.format(manager=manager, save=save), Options())
    text = result.text[result.text.index("x = tf.random.normal") :]
    return text, {one.code for one in result.findings}


@pytest.mark.parametrize(
    "save",
    [
        "manager.save()",
        "path = manager.save()\nprint(path)",
        "path = manager.save()\ncheckpoint.restore(path)",
        "checkpoint.restore(manager.save())",
    ],
)
def test_each_worker_has_a_manager_of_its_own(save: str) -> None:
    text, codes = converted(MANAGER, save)
    assert 'CheckpointManager(checkpoint, checkpoints_of_this_worker("ckpts"), ' in " ".join(
        text.replace("(\n    ", "(").split()
    )
    assert "TF512" not in codes
    assert "if is_main_process():" not in text


@pytest.mark.parametrize(
    "save", ['path = checkpoint.save("more/ck")\ncheckpoint.restore(path)', 'checkpoint.write("w")']
)
def test_each_worker_has_a_path_of_its_own(save: str) -> None:
    text, codes = converted("pass", save)
    assert "(path_of_this_worker(" in text
    assert "TF512" not in codes


def test_models_are_saved_by_one_worker() -> None:
    text, _ = converted("pass", 'model.save("model.keras")')
    assert "if is_main_process():" in text


def test_a_second_manager_of_a_folder_copies_anew(tmp_path: Path) -> None:
    text = output(MANAGER, "manager.save()")
    tree = ast.parse(text)
    name = "checkpoints_of_this_worker"
    body = [one for one in tree.body if isinstance(one, ast.FunctionDef) and one.name == name]

    def copy(source: str, target: str, overwrite: bool = False) -> None:
        if os.path.exists(target) and not overwrite:
            raise FileExistsError(target)
        shutil.copy(source, target)

    gfile = SimpleNamespace(
        listdir=os.listdir,
        isdir=os.path.isdir,
        makedirs=lambda path: os.makedirs(path, exist_ok=True),
        copy=copy,
        remove=os.remove,
    )
    space: dict[str, Any] = {
        "os": os,
        "Any": Any,
        "tf": SimpleNamespace(io=SimpleNamespace(gfile=gfile), constant=int),
        "strategy": object(),
        "wait_for_workers": lambda: None,
        "add_up": lambda numbers: [2 * each for each in numbers],
        "get_world_size": lambda: 2,
        "path_of_this_worker": lambda folder: str(tmp_path / "own"),
    }
    exec(compile(ast.Module([*body], []), "workers.py", "exec"), space)
    folder = tmp_path / "ckpts"
    folder.mkdir()
    (folder / "first").write_text("1")
    assert space[name](str(folder)) == str(tmp_path / "own")
    (folder / "second").write_text("2")
    (folder / "first").unlink()
    space[name](str(folder))
    space[name](str(folder))
    assert os.listdir(tmp_path / "own") == ["second"]
