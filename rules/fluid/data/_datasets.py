"""Data sets that an executor reads from files by itself."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.values import Constant, Opaque, Value, Values
from transpile.plan.graph import called_names, method_calls
from transpile.plan.model import Plan
from transpile.rules.fluid._events import calls_method
from transpile.rules.fluid._roles import roles_of
from transpile.rules.fluid.data._divisions import Answer, Division, Undivided
from transpile.rules.fluid.programs._runs import EXECUTOR, Run

FACTORY = "paddle.fluid.DatasetFactory"
#: Kinds whose samples are the lines that a command makes of the files.
KINDS = frozenset({"QueueDataset", "InMemoryDataset"})
#: What may be done with a data set whose lines are sharded.
KNOWN = frozenset(
    {
        "set_use_var", "set_batch_size", "set_pipe_command", "set_filelist", "set_thread", "desc",
        "load_into_memory", "local_shuffle", "release_memory",
    }
)  # fmt: skip
LOAD = "load_into_memory"


class Datasets:
    """Answers how the lines of data sets are sharded.

    Args:
        plan: the plan.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.trained: Values = tuple(
            value for run in roles_of(plan).training if run.whole for value in given_to(run.event)
        )

    def of(self, run: Run) -> Answer:
        """The division of what a run that trains reads."""
        given = given_to(run.event)
        if not given or any(kind_of(value) is None for value in given):
            return Undivided(
                run.event.module,
                run.event.node,
                "where the data set of this training is made, and of which kind it is, cannot be "
                "seen",
                'make it in the script with fluid.DatasetFactory().create_dataset("QueueDataset")',
            )
        for event, method, values in self.used():
            if method not in KNOWN and any(value in given for value in values):
                return Undivided(
                    event.module,
                    event.node,
                    f"{method} makes something else of the lines of the files than one sample of "
                    "each, so that shares of the lines are no shares of the batches",
                    "leave it out, or use fleet",
                )
        return self.wrapped(run.event, "train_from_share")

    def loads(self) -> Iterator[Answer]:
        """The division where training data is loaded into memory."""
        for event, method, values in self.used():
            if method == LOAD and any(value in self.trained for value in values):
                yield self.wrapped(event, "load_share")

    def evaluations(self) -> Iterator[Answer]:
        """What shows the results of other runs over data sets."""
        training = {id(run.event) for run in roles_of(self.plan).training}
        for run in roles_of(self.plan).runs:
            event = run.event
            if id(event) in training or not calls_method(event, "infer_from_dataset", {EXECUTOR}):
                continue
            if any(kind_of(value) != "QueueDataset" for value in self.shared(event)):
                yield Undivided(
                    event.module,
                    event.node,
                    "this evaluates on samples that are loaded for the training, of which a "
                    "trainer has its share alone",
                    "evaluate on a data set of its own",
                )
            else:
                yield self.wrapped(event, "infer_once")

    def shared(self, event: Event) -> Values:
        """What an evaluation reads that the training reads, too."""
        return tuple(value for value in given_to(event) if value in self.trained)

    def used(self) -> Iterator[tuple[Event, str, Values]]:
        """Every call of a method, and what it is called on."""
        for event in self.plan.facts.reached_calls:
            for callee in event.callee:
                if isinstance(callee, Opaque) and callee.kind == "attribute":
                    yield event, callee.name, callee.operands[0]

    def wrapped(self, event: Event, helper: str) -> Answer:
        """The helper around the method that an event calls."""
        node = event.node
        if not event.module.is_entry or not isinstance(node, cst.Call):
            return Undivided(
                event.module,
                node,
                "this reads a data set in another module of the project",
                "read it in the script",
            )
        return Division(helper, event.module, node.func)


def given_to(event: Event) -> Values:
    """The data sets that a run is given."""
    given = event.arguments.get("dataset", 1)
    return given.values if given is not None else ()


def kind_of(value: Value) -> str | None:
    """The kind of a data set; None where it is another or cannot be told."""
    if not isinstance(value, Opaque):
        return None
    for method, receivers in method_calls(value):
        if method == "create_dataset" and any(FACTORY in called_names(r) for r in receivers):
            named = value.arguments.get("datafeed_class", 0)
            kinds = named.values if named is not None else (Constant("QueueDataset"),)
            if len(kinds) == 1 and isinstance(kinds[0], Constant) and kinds[0].value in KINDS:
                return str(kinds[0].value)
    return None
