"""Wait for a file that one worker writes before all read it.

What:
    Where every worker reads a file that only the worker with rank 0 has written, all wait for each
    other before.

Why:
    The others would find no file, or half of it.

Before:
    model.load_weights("best.weights.h5")

After:
    wait_for_workers()
    model.load_weights("best.weights.h5")

Refuses when:
    never.

Source:
    https://keras.io/api/models/model_saving_apis/weights_saving_and_loading/
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.module import Module
from transpile.facts.values import External
from transpile.once import wait_before_reading
from transpile.plan.effects.readback import find_read_backs
from transpile.plan.flow.places import statement_of
from transpile.plan.model import Plan
from transpile.rule import Answer, Change, Ruling, Rulings
from transpile.rules.tensorflow._sites import receivers_of
from transpile.rules.tensorflow.effects._once import VOCABULARY, once_of
from transpile.rules.tensorflow.effects.keep_callback_files_apart import (
    CHECKPOINT,
    MANAGER,
    writer_of,
)

#: What writes checkpoints that the script may read back by their paths.
WRITERS = ("keras.callbacks.ModelCheckpoint", CHECKPOINT, MANAGER)
CODES = {"TF571": "all workers wait before they read what one worker writes"}


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each place where a file is read back."""
    for read_back in find_read_backs(once_of(plan), VOCABULARY):
        yield Ruling.apply(
            "TF571",
            (read_back.module, read_back.statement),
            f"all workers wait here for what {read_back.write.word} writes",
            data=read_back.statement,
            done=read_back.waits,
        )
    yield from behind_callbacks(plan)


def behind_callbacks(plan: Plan) -> Iterator[Ruling]:
    """One answer for each place where what a callback has written may be read."""
    written = [event.order for event in plan.facts.events if writer_of(event) in WRITERS]
    known = {read_back.statement for read_back in find_read_backs(once_of(plan), VOCABULARY)}
    for event in plan.facts.reached_calls:
        if not is_read(event):
            continue
        statement = statement_of(event.module, event.node)
        if not written or event.order < written[0] or statement is None or statement in known:
            continue
        known.add(statement)
        yield Ruling.apply(
            "TF571",
            (event.module, statement),
            "all workers wait here for what a callback writes",
            data=statement,
            done=follows_waiting(event.module, statement),
        )


def is_read(event: Event) -> bool:
    """Whether a call reads weights or a model."""
    if receivers_of(event, VOCABULARY.read_methods):
        return True
    names = {callee.name for callee in event.callee if isinstance(callee, External)}
    return bool(names & (VOCABULARY.loads | {"tensorflow.train.latest_checkpoint"}))


def follows_waiting(module: Module, statement: cst.CSTNode) -> bool:
    """Whether the workers wait right before a statement."""
    source = module.source
    block = source.parent(statement)
    statements = list(getattr(block, "body", ()))
    position = statements.index(statement) if statement in statements else 0
    return position > 0 and source.code(statements[position - 1]).strip().startswith(
        "wait_for_workers"
    )


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The barrier before the statement."""
    yield from wait_before_reading.wait(plan, (ruling.module, ruling.data), "wait_for_workers")
