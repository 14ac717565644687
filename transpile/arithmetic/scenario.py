"""The figures of one way to run a script: so many processes, and the options of the conversion."""

from __future__ import annotations

import math
from collections.abc import Iterator

import libcst as cst

from transpile.arithmetic.formula import (
    Formula,
    divide_down,
    divide_up,
    multiply,
    nearest_multiple,
    number,
    operation,
    share,
)
from transpile.arithmetic.loops import Times, head_of, is_one_arm, rounds, shortened
from transpile.arithmetic.made_once import (
    class_of,
    class_words,
    loaders_once,
    optimizers_once,
    words_of,
)
from transpile.arithmetic.reading import Reader
from transpile.arithmetic.schedules import calls_of, schedules, told
from transpile.arithmetic.steps import steps_in
from transpile.arithmetic.vocabulary import Drawing, Vocabulary
from transpile.facts.module import Module
from transpile.facts.values import Value, Values
from transpile.options import Options
from transpile.plan.model import Backward, Loader, Optimizer, Plan
from transpile.records import dataclass
from transpile.rule import Rulings


@dataclass(frozen=True, eq=False)
class Figure:
    """One number of a run.

    Args:
        section: what it is a number of, and where that is.
        quantity: what it counts.
        amounts: the numbers: one, or those of a list.
        at_most: it may be less.
        because: what there is to say about it.
    """

    section: Section
    quantity: str
    amounts: tuple[Formula, ...]
    at_most: bool = False
    because: tuple[str, ...] = ()


@dataclass(frozen=True)
class Section:
    """What figures belong to.

    Args:
        kind: ``data``, ``training``, ``optimizer``, ``schedule`` or ``evaluation``.
        title: how to call it.
        path: the file of the place.
        line: the line of the place.
    """

    kind: str
    title: str
    path: str
    line: int


@dataclass(frozen=True, eq=False)
class Indivisible:
    """A batch that the processes cannot share.

    Args:
        loader: the loader.
        batch: its samples.
        nearest: the batch next to it that can be shared.
    """

    loader: Loader
    batch: int
    nearest: int


class Scenario:
    """One way to run a script.

    Args:
        plan: the plan of the script.
        rulings: what the conversion does.
        vocabulary: the framework's words.
        processes: how many take part; 1 is the original.
        options: the choices of the conversion.
    """

    def __init__(
        self,
        plan: Plan,
        rulings: Rulings,
        vocabulary: Vocabulary,
        processes: int,
        options: Options,
    ) -> None:
        self.plan = plan
        self.rulings = rulings
        self.vocabulary = vocabulary
        self.processes = processes
        self.options = options
        self.reader = Reader(plan, vocabulary, self.steps_of)
        self.by_value = {id(loader.value): loader for loader in plan.loaders}
        self.drawings: dict[int, Drawing | None] = {}
        self.batch_loops = batch_loops(plan)

    # Loaders.

    def drawing(self, loader: Loader) -> Drawing | None:
        """How a loader draws its batches."""
        key = id(loader.value)
        if key not in self.drawings:
            self.drawings[key] = None
            self.drawings[key] = self.vocabulary.drawing(
                self.plan, self.rulings, loader, self.reader
            )
        return self.drawings[key]

    def steps_of(self, value: Value) -> Formula | None:
        """The batches of a pass over a loader, on one process; None for anything else."""
        loader = self.by_value.get(id(value))
        drawing = self.drawing(loader) if loader is not None else None
        if loader is None or drawing is None or drawing.drop_last is None:
            return None
        if drawing.unknown_because:
            return None
        divide = divide_down if drawing.drop_last else divide_up
        if drawing.sharing == "batches":
            return divide(drawing.samples, drawing.batch)
        if self.divides(drawing) and (drawing.sharing == "cut") is drawing.drop_last:
            # Rounding the same way twice is rounding once.
            return divide(drawing.samples, drawing.batch)
        return divide(self.samples_of(drawing), self.batch_of(drawing))

    def samples_of(self, drawing: Drawing) -> Formula:
        """The samples that one process draws from in a pass."""
        if self.processes == 1 or not drawing.sharing:
            return drawing.samples
        divide = divide_down if drawing.sharing == "cut" else divide_up
        return divide(drawing.samples, number(self.processes))

    def batch_of(self, drawing: Drawing) -> Formula:
        """The samples of one process's batch."""
        if self.divides(drawing):
            return share(drawing.batch, number(self.processes))
        return drawing.batch

    def divides(self, drawing: Drawing) -> bool:
        """Whether each process takes its share of the script's batch."""
        if self.processes == 1 or not drawing.sharing:
            return False
        # What deals out whole batches cannot leave each process one of its own.
        return drawing.sharing == "batches" or (
            drawing.divided and self.options.batch_size == "global"
        )

    def indivisible(self) -> list[Indivisible]:
        """The batches of training loaders that the processes cannot share."""
        found = []
        for loader in self.plan.training_loaders:
            drawing = self.drawing(loader)
            if drawing is None or not self.divides(drawing):
                continue
            batch = drawing.batch.value
            if isinstance(batch, int) and batch % self.processes:
                nearest = nearest_multiple(batch, self.processes)
                found.append(Indivisible(loader, batch, nearest))
        return found

    # Figures.

    def figures(self) -> Iterator[Figure]:
        """Everything that there is to say, in the order of the run."""
        if self.vocabulary.figures is not None:
            yield from self.vocabulary.figures(self)
            return
        for loader in loaders_once(self.plan, training=True):
            yield from self.data(loader)
        yield from self.training()
        for optimizer in optimizers_once(self.plan):
            yield from self.optimizer(optimizer)
        yield from self.schedules()
        for loader in loaders_once(self.plan, training=False):
            yield from self.evaluation(loader)

    def section(self, kind: str, title: str, module: Module, node: cst.CSTNode) -> Section:
        """A section about a place."""
        line, _ = module.source.position(module.source.span(node).start)
        return Section(kind, title, module.source.path, line)

    def data(self, loader: Loader) -> Iterator[Figure]:
        """Batches and samples of a training loader."""
        where = self.loader_section("data", loader)
        drawing = self.drawing(loader)
        if drawing is None:
            return
        many = number(self.processes)
        own = self.batch_of(drawing)
        whole = multiply(many, own) if drawing.sharing else own
        yield Figure(where, "global batch", (whole,))
        yield Figure(where, "batch per process", (own,))
        steps = self.steps_of(loader.value)
        if steps is None:
            return
        samples = self.samples_of(drawing)
        if drawing.sharing == "batches":
            samples = divide_up(drawing.samples, many)
        if drawing.drop_last:
            samples = multiply(steps, own)
        because = padding(self, drawing)
        yield Figure(where, "samples per epoch and process", (samples,), because=because)
        if drawing.sharing:
            yield Figure(where, "samples per epoch", (multiply(many, samples),))
        yield Figure(where, "steps per epoch", (steps,))

    def training(self) -> Iterator[Figure]:
        """Epochs and steps of each loop over batches."""
        seen: set[int] = set()
        for backward in self.plan.backwards:
            loop = backward.batch_loop
            if loop is None or backward.event.detached or id(loop.node) in seen:
                continue
            seen.add(id(loop.node))
            where = self.section("training", head_of(loop), loop.module, loop.node)
            passes = self.passes(backward)
            found = rounds(self.reader, loop, self.batch_loops[id(loop.node)])
            every = multiply(passes.count, found.count)
            because = tuple(dict.fromkeys((*passes.because, *found.because)))
            yield Figure(where, "epochs", (passes.count,), passes.at_most, passes.because)
            yield Figure(where, "steps per epoch", (found.count,), found.at_most, found.because)
            yield Figure(
                where, "steps altogether", (every,), passes.at_most or found.at_most, because
            )

    def passes(self, backward: Backward) -> Times:
        """How often the loop over the batches runs."""
        count, at_most = number(1), False
        because: list[str] = []
        for loop in backward.epoch_loops:
            if is_one_arm(loop, backward.event.stack, self.reader):
                continue
            found = rounds(self.reader, loop)
            count = multiply(count, found.count)
            at_most |= found.at_most
            because.extend(found.because)
        return Times(count, at_most, tuple(dict.fromkeys(because)))

    def optimizer(self, optimizer: Optimizer) -> Iterator[Figure]:
        """Steps and learning rate of an optimizer."""
        event = optimizer.event
        where = self.section("optimizer", class_of(optimizer), event.module, event.node)
        found = steps_in(self.reader, optimizer.steps, self.batch_loops)
        if found is not None:
            once, every = found
            gathered = every.gathered or number(1)
            if every.gathered is not None:
                yield Figure(where, "batches per optimizer step", (every.gathered,))
            loaders = loaders_once(self.plan, training=True)
            drawing = self.drawing(loaders[0]) if len(loaders) == 1 else None
            if drawing is not None and once is not None:
                whole = multiply(number(self.processes), self.batch_of(drawing))
                whole = whole if drawing.sharing else self.batch_of(drawing)
                yield Figure(where, "samples per optimizer step", (multiply(gathered, whole),))
            if once is not None:
                yield Figure(
                    where, "optimizer steps per epoch", (once.count,), once.at_most, once.because
                )
            yield Figure(
                where, "optimizer steps altogether", (every.count,), every.at_most, every.because
            )
        for quantity, rate in self.rates(optimizer):
            yield Figure(where, quantity, (self.scaled(rate),))

    def rates(self, optimizer: Optimizer) -> Iterator[tuple[str, Formula]]:
        """The learning rates of an optimizer as the script says them."""
        parameter = self.vocabulary.rate
        argument = optimizer.event.arguments.get(parameter.name, parameter.position)
        name = class_of(optimizer)
        if argument is not None:
            yield "learning rate", self.reader.formula(argument.values, argument.node)
        elif name in self.vocabulary.rates and not optimizer.event.arguments.unknown_because:
            rate = self.vocabulary.rates[name]
            yield "learning rate", number(rate, f"{rate:g} is what {name} takes by itself")

    def scaled(self, rate: Formula) -> Formula:
        """What ``--scale-lr`` makes of a learning rate."""
        if self.processes == 1 or not self.vocabulary.scales:
            return rate
        if self.options.scale_lr == "linear":
            return multiply(rate, number(self.processes))
        if self.options.scale_lr == "sqrt":
            return multiply(rate, number(math.sqrt(self.processes)))
        return rate

    def schedules(self) -> Iterator[Figure]:
        """What schedules are told, and how often they go on."""
        for schedule in schedules(self.reader):
            event = schedule.event
            title = schedule.name.rpartition(".")[2]
            where = self.section("schedule", title, event.module, event.node)
            for parameter, amounts in told(self.reader, schedule):
                shown = tuple(amounts)
                if parameter.kind == "rate":
                    shown = tuple(self.scaled(each) for each in amounts)
                yield Figure(where, parameter.name, shown)
            found = calls_of(self.reader, schedule, self.batch_loops)
            if found is not None:
                _, every = found
                yield Figure(where, "calls of step()", (every.count,), every.at_most, every.because)

    def evaluation(self, loader: Loader) -> Iterator[Figure]:
        """What is evaluated, and by how many processes."""
        drawing = self.drawing(loader)
        if drawing is None or not loader.iterations:
            return
        where = self.loader_section("evaluation", loader)
        steps, samples = self.steps_of(loader.value), self.samples_of(drawing)
        shares = self.processes > 1 and drawing.in_blocks and self.options.evaluation == "shard"
        uneven = False
        if shares and steps is not None:
            whole = steps
            steps = divide_up(whole, number(self.processes))
            samples = operation("min", samples, multiply(steps, drawing.batch))
            rest = operation("%", whole, number(self.processes))
            uneven = rest.value != 0
        partly = operation("%", drawing.samples, drawing.batch).value != 0
        yield Figure(where, "batch per process", (self.batch_of(drawing),))
        yield Figure(where, "samples per process", (samples,), uneven or (shares and partly))
        if steps is not None:
            yield Figure(where, "batches per process", (steps,), uneven)

    def loader_section(self, kind: str, loader: Loader) -> Section:
        """A section about a loader, called like the variable that it goes to."""
        module = loader.event.module
        parent = module.source.parent(loader.node)
        title = class_words(loader)
        if isinstance(parent, cst.Assign) and len(parent.targets) == 1:
            title = module.source.code(parent.targets[0].target)
        return self.section(kind, shortened(words_of(title)), module, loader.node)


def padding(scenario: Scenario, drawing: Drawing) -> tuple[str, ...]:
    """What happens to samples that the processes cannot share."""
    samples, many = drawing.samples.value, scenario.processes
    if many == 1 or not isinstance(samples, int) or drawing.drop_last:
        return ()
    if drawing.sharing == "padded" and samples % many:
        extra = -samples % many
        return (f"{extra} of {samples} samples come twice an epoch: {many} processes share them",)
    if drawing.sharing == "cut" and samples % many:
        return (f"{samples % many} of {samples} samples are left out: {many} processes share them",)
    return ()


def batch_loops(plan: Plan) -> dict[int, Values | None]:
    """The loops over training batches, with what each iterates over where that is one thing."""
    found: dict[int, Values | None] = {}
    for backward in plan.backwards:
        loop, iteration = backward.batch_loop, backward.iteration
        if loop is None or backward.event.detached:
            continue
        drawn = iteration.callee if iteration is not None and iteration.node is loop.node else None
        key = id(loop.node)
        if key in found and found[key] != drawn:
            drawn = None
        found[key] = drawn
    return found
