"""Where the batches of a training run come from, and where they can be divided."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.values import Constant, Function, Mapping, Sequence, Value
from transpile.plan.graph import called_names, method_calls, walk_back
from transpile.plan.model import Plan
from transpile.rules.fluid._roles import Run
from transpile.rules.fluid.data._divisions import Answer, Divided, Division, Undivided, reading_rank
from transpile.rules.fluid.data._fixed_sizes import fixed_names, shape_of_array
from transpile.rules.fluid.data._loaders import LOADERS, Loaders
from transpile.rules.fluid.data._readers import FEEDER, Readers

#: What draws the samples of a data set itself.
DATA_SETS = frozenset({"paddle.fluid.io.DataLoader", "paddle.io.DataLoader"})


class Feeds:
    """Answers how the batches of training runs are divided.

    Args:
        plan: the plan.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.sharding = reading_rank(plan)
        self.readers = Readers(plan)
        self.loaders = Loaders(plan)

    def of(self, run: Run) -> Iterator[Answer]:
        """How the batches of one run are divided, one answer for each source."""
        if run.feed is None:
            yield from self.loaders.of(run)
            return
        node = run.feed.node
        if isinstance(node, cst.BaseExpression) and self.through_helper(node):
            yield Divided(run.event.module, node)
            return
        behind = {id(value): value for value in walk_back(run.feed.values)}
        loader = [v for v in behind.values() if LOADERS.intersection(called_names(v))]
        if loader:
            for value in loader:
                yield from self.loaders.filled(run, value)
            return
        if any(DATA_SETS.intersection(called_names(value)) for value in behind.values()):
            yield Undivided(
                run.event.module,
                run.event.node,
                "this loader draws the samples of a data set itself, in an order of its own",
                "read batches from a reader: for batch in paddle.batch(reader, batch_size)()",
            )
            return
        sources = list(self.readers.around(run)) or list(self.readers.sources(run, behind))
        decorated = list(self.loaders.decorated(run, behind))
        if decorated:
            yield from decorated
        elif rows_beside(run) and any(FEEDER in feeder_of(value) for value in behind.values()):
            yield Undivided(
                run.event.module,
                run.event.node,
                "an array with a row for every sample of a whole batch is fed beside what a feeder "
                "makes, of which each trainer would have its share",
                "let the reader yield what belongs to a sample with it",
            )
        elif sources and self.readers.is_samples(run, behind, sources) and not rows_beside(run):
            for source in sources:
                yield self.readers.divided_source(run, source)
        else:
            yield self.at_feed(run)

    def at_feed(self, run: Run) -> Answer:
        """The division of the fed arrays themselves."""
        assert run.feed is not None
        node = run.feed.node
        module = run.event.module
        given = run.event.arguments.get("program", 0)
        if not module.is_entry or not isinstance(node, cst.BaseExpression):
            return Undivided(
                module,
                run.event.node,
                "this run stands in another module of the project",
                "run the program in the script",
            )
        if run.feed.values and all(map(is_nothing, run.feed.values)):
            return Undivided(
                module,
                node,
                "nothing is fed here, so that there is nothing to divide",
                "feed batches of a reader to each run that trains",
            )
        if any(isinstance(value, (Sequence, Constant)) for value in run.feed.values):
            return Undivided(
                module,
                node,
                "one feed for each device is built here",
                "feed one dict, which the executor divides between the devices itself",
            )
        if any(
            name.startswith("pgl.")
            for value in walk_back(run.feed.values)
            for each in (value, *receivers_behind(value))
            for name in called_names(each)
        ):
            return Undivided(
                module,
                node,
                "a graph is fed here, whose edges count the nodes of all of it: its rows cannot be "
                "divided",
                "train on samples of the graph that a reader makes, one subgraph for each sample",
            )
        if any(
            name.endswith(("LoDTensor", "create_lod_tensor"))
            for value in walk_back(run.feed.values)
            for name in called_names(value)
        ):
            return Undivided(
                module,
                node,
                "sequences of different lengths are fed as tensors here, which cannot be divided",
                "draw lists of samples from a reader and make the tensors of them",
            )
        for value in run.feed.values:
            if not isinstance(value, Mapping) and FEEDER in feeder_of(value):
                return self.at_feeder(run, value)
        if self.plan.options.batch_size == "per-device":
            return Undivided(
                module,
                node,
                "the batches are built in place, so that no trainer can leave those of others out",
                "convert without --batch-size per-device, or read batches from a reader",
            )
        program = ""
        if given is not None and given.node is not None and given.values != (Constant(None),):
            program = module.source.code(given.node)
        fixed = fixed_names(self.plan)
        helper = "shard_fixed_feed" if fixed else "shard_feed"
        return Division(helper, module, node, program, fixed=fixed)

    def at_feeder(self, run: Run, value: Value) -> Answer:
        """The division of the list of samples that a feeder is given."""
        return Undivided(
            run.event.module,
            run.event.node,
            "the samples of this batch are not drawn from a reader that can be seen",
            "read them from a reader: for batch in paddle.batch(reader, batch_size)()",
        )

    def through_helper(self, node: cst.BaseExpression) -> bool:
        """Whether an expression is a call of a function that looks at the trainer's number."""
        if not isinstance(node, cst.Call):
            return False
        return any(
            isinstance(value, Function) and id(value.node) in self.sharding
            for value in self.plan.facts.values_of(node.func)
        )


def rows_beside(run: Run) -> bool:
    """Whether a run is fed arrays of written rows beside its batch: all is divided there then."""
    given = run.feed.values if run.feed is not None else ()
    return any(
        int(shape[0].value) > 1
        for value in given
        if isinstance(value, Mapping)
        for entry in value.entries.values()
        if (shape := shape_of_array(entry.values)) and isinstance(shape[0].value, int)
    )


def is_nothing(value: Value) -> bool:
    """Whether a value is an empty dict."""
    return isinstance(value, Mapping) and not value.entries and value.open_because is None


def receivers_behind(value: Value) -> tuple[Value, ...]:
    """What a value's method is called on."""
    return tuple(each for _, receivers in method_calls(value) for each in receivers)


def feeder_of(value: Value) -> set[str]:
    """The makers of what a value's ``feed`` is called on."""
    return {
        name
        for method, receivers in method_calls(value)
        if method == "feed"
        for receiver in receivers
        for name in called_names(receiver)
    }
