"""Where the batches of a training run come from, and where they can be divided."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Call, Event
from transpile.facts.module import Module
from transpile.facts.values import (
    Constant,
    Function,
    Generator,
    Mapping,
    Opaque,
    Sequence,
    Value,
    Values,
)
from transpile.plan.graph import called_names, method_calls, walk_back
from transpile.plan.model import Plan
from transpile.plan.ranks import reads_rank_variable
from transpile.records import dataclass
from transpile.rules.fluid._roles import Run, loops_around, roles_of

FEEDER = "paddle.fluid.DataFeeder"
LOADERS = frozenset(
    {
        "paddle.fluid.io.PyReader", "paddle.fluid.io.DataLoader.from_generator",
        "paddle.fluid.layers.py_reader", "paddle.fluid.layers.create_py_reader_by_data",
    }
)  # fmt: skip
#: Methods that give a loader lists of samples.
SAMPLE_LISTS = frozenset(
    {"decorate_paddle_reader", "decorate_sample_list_generator", "set_sample_list_generator"}
)
#: Methods that give a loader batches as arrays.
ARRAYS = frozenset({"decorate_batch_generator", "set_batch_generator", "decorate_tensor_provider"})
#: Methods that give a loader single samples.
SAMPLES = frozenset({"decorate_sample_generator", "set_sample_generator"})
#: Readers' iterators that an operation only counts or pairs.
PASSING = frozenset({"iterate", "enumerate", "zip"})


@dataclass(frozen=True, eq=False)
class Division:
    """How the batches of a run are divided.

    Args:
        helper: the helper that divides.
        module: where.
        node: the expression that the helper is put around.
        program: how the program is written that the feed is for; empty for the default one.
    """

    helper: str
    module: Module
    node: cst.BaseExpression
    program: str = ""


@dataclass(frozen=True, eq=False)
class Divided:
    """The batches of a run are divided already, at a node."""

    module: Module
    node: cst.CSTNode


@dataclass(frozen=True, eq=False)
class Undivided:
    """Why the batches of a run cannot be divided.

    Args:
        module: where.
        node: what stands in the way.
        why: the reason.
        advice: what to do by hand.
    """

    module: Module
    node: cst.CSTNode
    why: str
    advice: str


Answer = Division | Divided | Undivided


def reading_rank(plan: Plan) -> set[int]:
    """The functions, by the identity of their node, in which the number of the process is read."""
    if "fluid reading rank" not in plan.memo:
        found = set()
        for event in plan.facts.events:
            if event.kind == "call" and any(
                isinstance(value, Opaque) and reads_rank_variable(value) for value in event.result
            ):
                for frame in event.stack:
                    if isinstance(frame, Call):
                        found.add(id(frame.function.node))
        plan.memo["fluid reading rank"] = found
    known: set[int] = plan.memo["fluid reading rank"]
    return known


class Feeds:
    """Answers how the batches of training runs are divided.

    Args:
        plan: the plan.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.sharding = reading_rank(plan)
        self.iterations = [event for event in plan.facts.events if event.kind == "iterate"]

    def of(self, run: Run) -> Iterator[Answer]:
        """How the batches of one run are divided, one answer for each source."""
        if run.feed is None:
            yield from self.loaders(run)
            return
        node = run.feed.node
        if isinstance(node, cst.BaseExpression) and self.through_helper(node):
            yield Divided(run.event.module, node)
            return
        behind = {id(value): value for value in walk_back(run.feed.values)}
        loader = [v for v in behind.values() if LOADERS.intersection(called_names(v))]
        if loader:
            for value in loader:
                yield from self.filled(run, value)
            return
        sources = list(self.around(run)) or list(self.sources(run, behind))
        decorated = list(self.decorated(run, behind))
        if decorated:
            yield from decorated
        elif sources and (self.is_samples(run, behind, sources)):
            for source in sources:
                yield self.divided_source(run, source)
        else:
            yield self.at_feed(run)

    # Readers that are iterated.

    def sources(self, run: Run, behind: dict[int, Value]) -> Iterator[Opaque | Generator]:
        """The iterators that the feed of a run is drawn from with ``next``."""
        for event in self.iterations:
            if event.name != "next":
                continue
            for value in unwrapped(event.callee):
                if isinstance(value, Generator):
                    if any(id(each) in behind for each in value.yields):
                        yield value
                elif isinstance(value, Opaque) and value.kind == "call" and not is_builtin(value):
                    if id(value) in behind and self.has_element(value, behind):
                        yield value

    def around(self, run: Run) -> Iterator[Opaque | Generator]:
        """The iterator of the innermost loop over a reader around a run.

        What is set on an object, such as the data of a tensor, does not show in the values.
        """
        for loop in loops_around(run.event):
            for event in self.iterations:
                if event.node is not loop.node:
                    continue
                found = [
                    value
                    for value in unwrapped(event.callee)
                    if isinstance(value, Generator)
                    or (
                        isinstance(value, Opaque) and value.kind == "call" and not is_builtin(value)
                    )
                ]
                if found:
                    yield from found
                    return

    def has_element(self, value: Opaque, behind: dict[int, Value]) -> bool:
        """Whether an element of an iterator is among some values."""
        return any(
            isinstance(each, Opaque)
            and each.kind == "element"
            and any(operand is value for operand in each.operands[0])
            for each in behind.values()
        )

    def is_samples(
        self, run: Run, behind: dict[int, Value], sources: list[Opaque | Generator]
    ) -> bool:
        """Whether the batches are lists of samples: they are fed by a feeder, or looked through."""
        for value in behind.values():
            for method, receivers in method_calls(value):
                if method == "feed" and any(FEEDER in called_names(r) for r in receivers):
                    return True
        drawn = {id(each) for source in sources for each in self.elements(source)}
        for event in self.iterations:
            if isinstance(event.node, cst.CompFor) and any(id(v) in drawn for v in event.callee):
                return True
        return False

    def elements(self, source: Opaque | Generator) -> Iterator[Value]:
        """What an iterator gives."""
        if isinstance(source, Generator):
            yield from source.yields
            return
        for event in self.iterations:
            for each in event.callee:
                if is_element(each, source):
                    yield each

    def divided_source(self, run: Run, source: Opaque | Generator) -> Answer:
        """The division of the reader behind an iterator."""
        node = source.node
        if isinstance(source, Generator) and id(source.function.node) in self.sharding:
            return Divided(run.event.module, node)
        entry = self.plan.entry
        if not isinstance(node, cst.Call) or not entry.source.has(node):
            return Undivided(
                run.event.module,
                run.event.node,
                "the batches of this run come from a reader in another module of the project",
                "make the iterator in the script",
            )
        if self.shared_with_others(run, node):
            return Undivided(
                entry,
                node,
                "this reader feeds the training and something else, which needs all of the data",
                "read the training data and the other data in loops of their own",
            )
        asked = self.asks_for_size(source)
        if asked is not None:
            return Undivided(
                asked.module,
                asked.node,
                "what happens here depends on how many samples a batch has, and a trainer's share "
                "has fewer",
                "drop the last batch where the reader is made: paddle.batch(..., drop_last=True)",
            )
        return Division("shard_reader", entry, node.func)

    def asks_for_size(self, source: Opaque | Generator) -> Event | None:
        """A test of the number of samples in a batch; None where there is none."""
        if self.plan.options.batch_size == "per-device":
            return None
        drawn = {id(each) for each in self.elements(source)}
        for event in self.plan.facts.events:
            if event.kind != "test" or event.detached or makes(source, event):
                continue
            for value in walk_back(self.plan.facts.values_of(event.node)):
                if not isinstance(value, Opaque) or value.name != "len":
                    continue
                for each in (each for operand in value.operands for each in operand):
                    if id(each) in drawn or is_element(each, source):
                        return event
        return None

    def shared_with_others(self, run: Run, node: cst.Call) -> bool:
        """Whether the iterator that is made at a node feeds runs that do not train."""
        training = {id(each.event) for each in roles_of(self.plan).training}
        made = {
            id(value)
            for event in self.plan.facts.events
            if event.kind == "call" and event.node is node
            for value in event.result
        }
        for other in roles_of(self.plan).runs:
            if id(other.event) in training or other.feed is None:
                continue
            behind = {id(value): value for value in walk_back(other.feed.values)}
            found = [*self.around(other), *self.sources(other, behind)]
            if any(id(source) in made for source in found):
                return True
        return False

    # Readers that are handed to something that feeds.

    def decorated(self, run: Run, behind: dict[int, Value]) -> Iterator[Answer]:
        """The readers given to ``DataFeeder.decorate_reader``."""
        for value in behind.values():
            for method, receivers in method_calls(value):
                if method == "decorate_reader" and any(
                    FEEDER in called_names(r) for r in receivers
                ):
                    assert isinstance(value, Opaque)
                    yield self.given(run, value, ("reader", 0), "shard_reader")

    def loaders(self, run: Run) -> Iterator[Answer]:
        """The loaders that feed a run without a feed."""
        makers = [
            value
            for event in self.plan.facts.events
            if event.kind == "call" and not event.detached
            for value in event.result
            if isinstance(value, Opaque)
            and value.node is event.node
            and LOADERS.intersection(called_names(value))
            and self.in_program(event)
        ]
        if len({id(value) for value in makers}) != 1:
            yield Undivided(
                run.event.module,
                run.event.node,
                (
                    "several loaders may feed this run"
                    if makers
                    else "nothing is fed here, so that there is nothing to divide"
                ),
                "feed batches of a reader to each run that trains",
            )
            return
        yield from self.filled(run, makers[0])

    def in_program(self, event: Event) -> bool:
        """Whether a loader stands in the program that is trained."""
        from transpile.rules.fluid._programs import programs_of

        minimize = roles_of(self.plan).minimize
        program = programs_of(self.plan).current(event.stack, 0)
        return minimize is not None and program == minimize.program

    def filled(self, run: Run, loader: Value) -> Iterator[Answer]:
        """The calls that give a loader its reader."""
        found = False
        for event in self.plan.facts.events:
            if event.kind != "call" or event.detached:
                continue
            for callee in event.callee:
                if not isinstance(callee, Opaque) or callee.kind != "attribute":
                    continue
                if not any(value is loader for value in callee.operands[0]):
                    continue
                for value in event.result:
                    if not isinstance(value, Opaque):
                        continue
                    if callee.name in SAMPLE_LISTS:
                        found = True
                        yield self.given(run, value, ("reader", 0), "shard_reader")
                    elif callee.name in ARRAYS:
                        found = True
                        # Whole batches go to the trainers in turn, whatever they are made of.
                        whole = self.plan.options.batch_size == "per-device"
                        helper = "shard_reader" if whole else "shard_arrays"
                        yield self.given(run, value, ("reader", 0), helper)
                    elif callee.name in SAMPLES:
                        found = True
                        yield Undivided(
                            event.module,
                            event.node,
                            "this loader makes batches of single samples itself, where the last "
                            "batch cannot be divided equally",
                            "give it paddle.batch(reader, batch_size) with "
                            "set_sample_list_generator",
                        )
        if not found:
            yield Undivided(
                run.event.module,
                run.event.node,
                "the loader that feeds this run is not seen to be given a reader",
                "call set_sample_list_generator in the script",
            )

    def given(self, run: Run, value: Opaque, name: tuple[str, int], helper: str) -> Answer:
        """The division of a reader that is an argument."""
        argument = value.arguments.get(*name) or next(
            (item for item in value.arguments.items if item.keyword != "places"), None
        )
        node = argument.node if argument is not None else None
        if argument is not None and all(
            isinstance(each, Function) and id(each.node) in self.sharding
            for each in argument.values
        ):
            return Divided(value.module, value.node)
        if not isinstance(node, cst.BaseExpression) or not value.module.is_entry:
            return Undivided(
                value.module,
                value.node,
                "the reader that is given here cannot be divided where it stands",
                "give it to the loader in the script, as an argument of its own",
            )
        return Division(helper, value.module, node)

    # Feeds that are built in place.

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
        if any(isinstance(value, (Sequence, Constant)) for value in run.feed.values):
            return Undivided(
                module,
                node,
                "one feed for each device is built here",
                "feed one dict, which the executor divides between the devices itself",
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
        return Division("shard_feed", module, node, program)

    def at_feeder(self, run: Run, value: Value) -> Answer:
        """The division of the list of samples that a feeder is given."""
        return Undivided(
            run.event.module,
            run.event.node,
            "the samples of this batch are not drawn from a reader that can be seen",
            "read them from a reader: for batch in paddle.batch(reader, batch_size)()",
        )

    # What is divided already.

    def through_helper(self, node: cst.BaseExpression) -> bool:
        """Whether an expression is a call of a function that looks at the trainer's number."""
        if not isinstance(node, cst.Call):
            return False
        return any(
            isinstance(value, Function) and id(value.node) in self.sharding
            for value in self.plan.facts.values_of(node.func)
        )


def makes(source: Opaque | Generator, event: Event) -> bool:
    """Whether an event happens in the function that makes the batches of an iterator."""
    return isinstance(source, Generator) and any(
        frame.function is source.function for frame in event.calls()
    )


def is_element(value: Value, source: Value) -> bool:
    """Whether a value is what an iterator gives."""
    return (
        isinstance(value, Opaque)
        and value.kind == "element"
        and any(operand is source for operand in value.operands[0])
    )


def feeder_of(value: Value) -> set[str]:
    """The makers of what a value's ``feed`` is called on."""
    return {
        name
        for method, receivers in method_calls(value)
        if method == "feed"
        for receiver in receivers
        for name in called_names(receiver)
    }


def unwrapped(values: Values) -> Iterator[Value]:
    """The iterators behind ``enumerate`` and the like."""
    pending = list(values)
    seen: set[int] = set()
    while pending:
        value = pending.pop(0)
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, Opaque) and value.kind == "operation" and value.name in PASSING:
            for group in value.operands:
                pending.extend(group)
        else:
            yield value


def is_builtin(value: Opaque) -> bool:
    """Whether a value is the result of a builtin such as ``range``."""
    return any(name.startswith("builtins.") for name in called_names(value))
