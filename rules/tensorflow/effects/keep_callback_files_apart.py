"""Let the files of callbacks and summary writers be written by one worker.

What:
    Where ``ModelCheckpoint``, ``CSVLogger``, ``TensorBoard``, ``tf.summary.create_file_writer`` and
    the like are told where to write, all workers but one are given a temporary place, which is
    thrown away; so are ``save`` and ``write`` of a ``tf.train.Checkpoint``. ``BackupAndRestore``
    gets a folder for each worker, since each restores what it has saved. The others keep the
    checkpoints of a ``CheckpointManager`` in a copy of its folder, from which each restores.

Why:
    Every worker runs every callback, and decides alike, on the numbers of whole batches. Files that
    several write at the same time are torn.

Before:
    logger = keras.callbacks.CSVLogger("log.csv")

After:
    logger = keras.callbacks.CSVLogger(path_of_this_worker("log.csv"))

Refuses when:
    the path is unpacked from something; what tells another machine is reported.

Source:
    https://www.tensorflow.org/tutorials/distribute/multi_worker_with_keras#save_and_load_the_model
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.values import Argument, External
from transpile.layout import add_argument, wrap_expression
from transpile.plan.graph import called_names
from transpile.plan.model import Plan
from transpile.rule import Answer, Change, Helper, In, Remark, Ruling, Rulings
from transpile.rules.tensorflow._sites import receivers_of

CODES = {
    "TF601": "the files of a callback or summary writer are written by one worker",
    "TF602": "it is not known where a callback or summary writer writes",
    "TF603": "a callback reports from every worker",
}
MANAGER = "tensorflow.train.CheckpointManager"
CHECKPOINT = "tensorflow.train.Checkpoint"
#: What writes to the parameter that says where, what that is where it is absent, and its position.
PATHS = {
    "keras.callbacks.ModelCheckpoint": ("filepath", "", 0),
    "keras.callbacks.CSVLogger": ("filename", "", 0),
    "keras.callbacks.TensorBoard": ("log_dir", '"logs"', 0),
    "keras.callbacks.BackupAndRestore": ("backup_dir", "", 0),
    "keras.callbacks.experimental.BackupAndRestore": ("backup_dir", "", 0),
    "tensorflow.summary.create_file_writer": ("logdir", "", 0),
    MANAGER: ("directory", "", 1),
    CHECKPOINT: ("file_prefix", "", 0),
}
REMOTE = "keras.callbacks.RemoteMonitor"
SAVING = frozenset({"save", "write"})
HELPERS = ("path_of_this_worker", "backup_of_this_worker", "checkpoints_of_this_worker")


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each callback and summary writer."""
    seen: set[int] = set()
    for event in plan.facts.events:
        name = writer_of(event)
        if not name or id(event.node) in seen or not isinstance(event.node, cst.Call):
            continue
        seen.add(id(event.node))
        if name == REMOTE:
            yield Remark.warn(
                "TF603",
                event,
                "RemoteMonitor reports from every worker",
                "add it on one worker alone",
            )
            continue
        parameter, default, position = PATHS[name]
        word = name.rpartition(".")[2]
        path = event.arguments.get(parameter, position)
        unknown = event.arguments.unknown_because or (path is not None and path.node is None)
        if unknown or (path is None and not default):
            yield Ruling.refuse(
                "TF602",
                event,
                f"it is not known where {word} writes: its arguments are unpacked",
                f"give it {parameter} by name",
            )
            continue
        yield Ruling.apply(
            "TF601",
            event,
            f"{word} writes on one worker alone",
            data=(name, path),
            done=path is not None and is_done(path),
        )


def writer_of(event: Event) -> str:
    """The name of what a call makes, of what writes files or reports; empty for another call."""
    if event.kind != "call":
        return ""
    names = [each.name for each in event.callee if isinstance(each, External)]
    known = (name for name in names if name in PATHS or name == REMOTE)
    found = next(known, "")
    if found == CHECKPOINT:
        # It is told where to write when it does.
        return ""
    saved = () if found else receivers_of(event, SAVING) or ()
    written = any(CHECKPOINT in called_names(value) for value in saved)
    return CHECKPOINT if written else found


def helper_of(name: str) -> str:
    """What gives each worker a place of its own for what one of them writes."""
    return HELPERS[2 if name == MANAGER else "BackupAndRestore" in name]


def is_done(path: Argument) -> bool:
    """Whether a path goes through a helper already."""
    node = path.node
    return (
        isinstance(node, cst.Call)
        and isinstance(node.func, cst.Name)
        and node.func.value.startswith(HELPERS)
    )


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The helper around the path."""
    name, path = ruling.data
    module, call = ruling.module, ruling.node
    assert isinstance(call, cst.Call)
    helper = helper_of(name)
    yield Helper(helper, module)
    called = plan.names_in(module).fresh(helper)
    if path is None:
        parameter, default, _ = PATHS[name]
        changes = add_argument(module.source, call, f"{parameter}={called}({default})")
    else:
        changes = wrap_expression(module.source, path.node, f"{called}(", ")")
    for edit in changes:
        yield In(module, edit)
