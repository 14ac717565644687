"""TensorFlow's words for what the arithmetic of training counts."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.arithmetic.account import SPLIT_CALLS
from transpile.arithmetic.formula import Formula, divide_up, multiply, number, operation, subtract
from transpile.arithmetic.loops import Times, for_of, head_of, rounds, shortened
from transpile.arithmetic.made_once import words_of
from transpile.arithmetic.reading import FUNCTIONS, OPERATORS, Reader
from transpile.arithmetic.scenario import Figure, Scenario, Section
from transpile.arithmetic.schedules import numbers
from transpile.arithmetic.vocabulary import Parameter, Vocabulary
from transpile.facts.events import Event, Loop
from transpile.facts.module import Module
from transpile.facts.values import Argument, Constant, External, Value, Values
from transpile.plan.graph import identity
from transpile.plan.model import Plan
from transpile.plan.query import query
from transpile.rule import Ruling
from transpile.rules.tensorflow._names import OPTIMIZERS, SCHEDULES
from transpile.rules.tensorflow._sites import (
    EVALUATING,
    evaluations,
    fits,
    gradients,
    in_own_step,
    receivers_of,
)
from transpile.rules.tensorflow.data._batches import (
    DEFAULT,
    Size,
    is_array,
    names_behind,
    said,
    sizes,
    sizes_behind,
)
from transpile.rules.tensorflow.data._lengths import length, rounds_of_data, size_of_library
from transpile.rules.tensorflow.gradients.scale_learning_rate import (
    BEGINS,
    PROPORTIONAL,
    makers,
    rate_of,
)

FIT = frozenset({"fit", "fit_generator"})
#: Callbacks of Keras that never end a training.
LASTING = frozenset(
    {
        "ModelCheckpoint", "CSVLogger", "TensorBoard", "ReduceLROnPlateau", "BackupAndRestore",
        "LearningRateScheduler", "History", "ProgbarLogger", "BaseLogger", "SwapEMAWeights",
    }
)  # fmt: skip
MAY_END = "a callback may end the training early"
RATES = {
    "SGD": 0.01, "Adam": 0.001, "AdamW": 0.001, "RMSprop": 0.001, "Adagrad": 0.001,
    "Adadelta": 0.001, "Adamax": 0.001, "Nadam": 0.001, "Ftrl": 0.001,
}  # fmt: skip
BEGINNING = Parameter(BEGINS, 0, "rate")
TOLD = {
    "ExponentialDecay": (
        BEGINNING, Parameter("decay_steps", 1), Parameter("decay_rate", 2, "factor")
    ),
    "InverseTimeDecay": (
        BEGINNING, Parameter("decay_steps", 1), Parameter("decay_rate", 2, "factor")
    ),
    "PolynomialDecay": (BEGINNING, Parameter("decay_steps", 1)),
    "CosineDecay": (BEGINNING, Parameter("decay_steps", 1), Parameter("warmup_steps", 6)),
    "CosineDecayRestarts": (BEGINNING, Parameter("first_decay_steps", 1)),
    "PiecewiseConstantDecay": (Parameter("boundaries", 0), Parameter("values", 1, "factor")),
}  # fmt: skip


class Larger(Reader):
    """Reads numbers of a script in which the sizes of batches are multiplied where they are said.

    Args:
        scenario: the way to run it.
    """

    def __init__(self, scenario: Scenario) -> None:
        super().__init__(scenario.plan, scenario.vocabulary)
        self.steps_of = lambda value: rounds_of_data(self, value)
        grows = scenario.options.batch_size == "per-device"
        self.factor = number(scenario.processes if grows else 1)
        self.grown = {
            identity(value)
            for place in said(scenario.plan)
            if not place.why_not
            for value in scenario.plan.facts.values_of(place.node)
        }

    def of_value(self, value: Value, node: cst.CSTNode | None) -> Formula:
        if identity(value) in self.grown:
            return multiply(super().of_value(value, node), self.factor)
        if isinstance(value, Constant) and self.factor.value != 1:
            # What literals were computed to follows those of them that grow.
            again = self.computed(value)
            if again is not None:
                return again
        return super().of_value(value, node)

    def computed(self, value: Constant) -> Formula | None:
        """A number from what the script computes it of; None where it is written as it is."""
        node = computations(self.plan).get(id(value))
        if isinstance(node, cst.BinaryOperation):
            word = OPERATORS.get(type(node.operator).__name__)
            left, right = (self.read_at(side) for side in (node.left, node.right))
            return operation(word, left, right) if word is not None else None
        if isinstance(node, cst.Call) and all(arg.keyword is None for arg in node.args):
            words = {
                FUNCTIONS.get(callee.name)
                for callee in self.plan.facts.values_of(node.func)
                if isinstance(callee, External)
            }
            word = words.pop() if len(words) == 1 else None
            given = [self.read_at(arg.value) for arg in node.args]
            return operation(word, *given) if word is not None and given else None
        return None

    def read_at(self, node: cst.BaseExpression) -> Formula:
        """The number of an expression."""
        return self.formula(self.plan.facts.values_of(node), node)

    def size(self, size: Size, *, trained: bool = True) -> Formula:
        """The samples of a batch."""
        if size.node is None:
            default = number(int(size.default), f"{size.default} is the batch size without one")
            return multiply(default, self.factor) if trained else default
        given = [item.values for item in size.event.arguments.items if item.node is size.node]
        values = given[0] if given else self.plan.facts.values_of(size.node)
        return self.formula(values, size.node)


@query
def computations(plan: Plan) -> dict[int, cst.CSTNode]:
    """The expressions that compute a known number, by the identity of what they give."""
    found: dict[int, cst.CSTNode] = {}
    for module in plan.facts.modules.values():
        for node in module.source.nodes_of(cst.BinaryOperation, cst.Call):
            values = plan.facts.values_of(node)
            called = plan.facts.values_of(node.func) if isinstance(node, cst.Call) else ()
            known = len(values) == 1 and isinstance(values[0], Constant)
            if known and all(isinstance(callee, External) for callee in called):
                found.setdefault(id(values[0]), node)
    return found


def figures(scenario: Scenario) -> Iterator[Figure]:
    """What there is to say of batches, steps, rates and evaluation."""
    reader = Larger(scenario)
    for size in sizes(scenario.plan):
        if not size.why_not:
            yield from batches(scenario, reader, "data", size, shared=True)
    for event in fits(scenario.plan):
        if receivers_of(event, FIT) is not None and not event.detached:
            yield from training(reader, event)
    yield from loops(reader)
    for event, name in makers(scenario.plan, OPTIMIZERS):
        yield from optimizer(scenario, reader, event, name)
    for event, name in makers(scenario.plan, (SCHEDULES,)):
        yield from schedule(scenario, reader, event, name)
    yield from evaluation(scenario, reader)


def batches(
    scenario: Scenario, reader: Larger, kind: str, size: Size, *, shared: bool
) -> Iterator[Figure]:
    """The samples of a batch, and those that one process computes."""
    module, node = size.event.module, size.event.node
    trains = receivers_of(size.event, FIT | EVALUATING) is not None
    where = section(kind, module, node, "" if trains else name_of(module, node))
    whole = reader.size(size, trained=kind == "data")
    if kind == "data":
        yield Figure(where, "global batch", (whole,))
    many = number(scenario.processes)
    if not shared or scenario.processes == 1:
        yield Figure(where, "batch per process", (whole,))
        return
    uneven = whole.value is None or whole.value % scenario.processes != 0
    own = divide_up(whole, many)
    yield Figure(where, "batch per process", (own,), uneven, (SPLIT_CALLS,))


def training(reader: Larger, event: Event) -> Iterator[Figure]:
    """Epochs and steps of a call of ``fit``."""
    where = section("training", event.module, event.node)
    given = event.arguments
    by_position = receivers_of(event, frozenset({"fit"})) is not None
    epochs = reader.argument(given.get("epochs", 3 if by_position else 2), number(1))
    begun = reader.argument(given.keyword("initial_epoch"), number(0))
    assert epochs is not None and begun is not None
    around = times(reader, [frame for frame in event.stack if isinstance(frame, Loop)])
    count = multiply(around.count, subtract(epochs, begun))
    ends = (MAY_END,) if may_end(given.get("callbacks")) else ()
    at_most, because = around.at_most or bool(ends), (*around.because, *ends)
    yield Figure(where, "epochs", (count,), at_most, because)
    steps = steps_of_fit(reader, event)
    if steps is not None:
        yield Figure(where, "steps per epoch", (steps,))
        yield Figure(where, "steps altogether", (multiply(count, steps),), at_most, because)


def steps_of_fit(reader: Larger, event: Event) -> Formula | None:
    """The steps of an epoch of ``fit``; None where the text does not say."""
    given = event.arguments
    by_position = receivers_of(event, frozenset({"fit"})) is not None
    said_so = given.get("steps_per_epoch", None if by_position else 1)
    if said_so is not None and not is_none(said_so.values):
        return reader.formula(said_so.values, said_so.node)
    data = given.get("x", 0) or given.keyword("generator")
    if data is None:
        return None
    if list(sizes_behind(reader.plan, data.values)) or not by_position:
        return reader.length(data.values, data.node)
    own = [size for size in sizes(reader.plan) if size.event is event and not size.why_not]
    if not own:
        return reader.length(data.values, data.node)
    samples = length(reader, data.values, data.node)
    split = given.keyword("validation_split")
    if split is not None:
        part = reader.formula(split.values, split.node)
        if part.value is None or samples.value is None:
            return None
        samples = number(int(samples.value * (1 - part.value)), *samples.because)
    return divide_up(samples, reader.size(own[0]))


def loops(reader: Larger) -> Iterator[Figure]:
    """Epochs and steps of the loops that the script trains in."""
    seen: set[int] = set()
    for event in gradients(reader.plan):
        around = [frame for frame in event.stack if isinstance(frame, Loop)]
        if not around or event.detached or in_own_step(reader.plan, event):
            continue
        drawn = [place for place, loop in enumerate(around) if goes_over_data(reader, loop)]
        first = drawn[-1] if drawn else len(around) - 1
        if id(around[first].node) in seen:
            continue
        seen.add(id(around[first].node))
        loop = around[first]
        where = section("training", loop.module, loop.node, head_of(loop))
        epochs, steps = times(reader, around[:first]), times(reader, [loop])
        yield Figure(where, "epochs", (epochs.count,), epochs.at_most, epochs.because)
        yield Figure(where, "steps per epoch", (steps.count,), steps.at_most, steps.because)
        every = multiply(epochs.count, steps.count)
        because = (*epochs.because, *steps.because)
        yield Figure(where, "steps altogether", (every,), epochs.at_most or steps.at_most, because)


def goes_over_data(reader: Larger, loop: Loop) -> bool:
    """Whether a loop goes over batches of ``tf.data``."""
    goes = for_of(loop)
    names = names_behind(reader.plan.facts.values_of(goes.iter)) if goes is not None else set()
    return any(name.startswith("tensorflow.data.") for name in names)


def times(reader: Larger, around: list[Loop]) -> Times:
    """How often the body of nested loops runs."""
    count, at_most = number(1), False
    because: list[str] = []
    for loop in around:
        found = rounds(reader, loop)
        count = multiply(count, found.count)
        at_most |= found.at_most
        because.extend(found.because)
    return Times(count, at_most, tuple(dict.fromkeys(because)))


def may_end(callbacks: Argument | None) -> bool:
    """Whether a callback may be one that ends the training."""
    if callbacks is None or is_none(callbacks.values):
        return False
    names = names_behind(callbacks.values)
    return not names or any(
        not name.startswith("keras.callbacks.") or name.rpartition(".")[2] not in LASTING
        for name in names
    )


def optimizer(scenario: Scenario, reader: Larger, event: Event, name: str) -> Iterator[Figure]:
    """The learning rate of an optimizer, where it is no schedule."""
    where = section("optimizer", event.module, event.node, name)
    given = event.arguments.get("learning_rate", 0) or event.arguments.keyword("lr")
    if given is None:
        if name in RATES and not event.arguments.unknown_because:
            rate = number(RATES[name], f"{RATES[name]:g} is what {name} takes by itself")
            yield Figure(where, "learning rate", (rate,))
        return
    if any(behind.startswith(SCHEDULES) for behind in names_behind(given.values)):
        return
    rate = reader.formula(given.values, given.node)
    follows = isinstance(rate_of(event, event.arguments.get("learning_rate", 0)), Ruling)
    yield Figure(where, "learning rate", (scenario.scaled(rate) if follows else rate,))


def schedule(scenario: Scenario, reader: Larger, event: Event, name: str) -> Iterator[Figure]:
    """What a schedule is told."""
    where = section("schedule", event.module, event.node, name)
    for parameter in TOLD.get(name, ()):
        given = event.arguments.get(parameter.name, parameter.position)
        if given is None:
            continue
        amounts = numbers(reader, given)
        if parameter.kind == "rate" and name in PROPORTIONAL:
            amounts = [scenario.scaled(each) for each in amounts]
        yield Figure(where, parameter.name, tuple(amounts))


def evaluation(scenario: Scenario, reader: Larger) -> Iterator[Figure]:
    """The batches that are evaluated, and how much of them one process computes."""
    seen = {id(size.node or size.event.node) for size in sizes(scenario.plan)}
    for event in evaluations(scenario.plan):
        data = event.arguments.keyword("validation_data")
        if receivers_of(event, FIT) is None:
            data = event.arguments.get("x", 0)
        for size in sizes_of_evaluation(scenario.plan, event, data):
            if size.why_not or id(size.node or size.event.node) in seen:
                continue
            seen.add(id(size.node or size.event.node))
            shared = scenario.options.evaluation == "shard"
            yield from batches(scenario, reader, "evaluation", size, shared=shared)


def sizes_of_evaluation(plan: Plan, event: Event, data: Argument | None) -> Iterator[Size]:
    """The sizes of the batches that a call evaluates."""
    made = list(sizes_behind(plan, data.values)) if data is not None else []
    yield from made
    if not made and data is not None and receivers_of(event, frozenset({"evaluate"})) is not None:
        said_so = event.arguments.get("batch_size", 2)
        if said_so is not None and isinstance(said_so.node, cst.BaseExpression):
            yield Size(event, said_so.node)
        elif is_array(data.values):
            yield Size(event, default=DEFAULT)


def name_of(module: Module, node: cst.CSTNode) -> str:
    """The variable that a chain of calls goes to; empty where it goes elsewhere."""
    parent = module.source.parent(node)
    while isinstance(parent, (cst.Attribute, cst.Call)):
        node, parent = parent, module.source.parent(parent)
        if isinstance(node, cst.Call) and not isinstance(node.func, cst.Attribute):
            return ""
    if isinstance(parent, cst.Assign) and len(parent.targets) == 1:
        return shortened(words_of(module.source.code(parent.targets[0].target)))
    return ""


def section(kind: str, module: Module, node: cst.CSTNode, title: str = "") -> Section:
    """A section about a place, called like what is called there."""
    if not title and isinstance(node, cst.Call):
        title = shortened(words_of(module.source.code(node.func)))
    line, _ = module.source.position(module.source.span(node).start)
    return Section(kind, title, module.source.path, line)


def is_none(values: Values) -> bool:
    """Whether an argument is None."""
    return len(values) == 1 and isinstance(values[0], Constant) and values[0].value is None


def no_loader(plan: Plan, *others: object) -> None:
    """Nothing: what makes batches here is no loader of a plan."""


VOCABULARY = Vocabulary(
    drawing=no_loader,
    size=size_of_library,
    figures=figures,
    shapes={
        "tensorflow.zeros": 0, "tensorflow.ones": 0, "tensorflow.fill": 0, "numpy.zeros": 0,
        "tensorflow.random.normal": 0, "tensorflow.random.uniform": 0, "numpy.ones": 0,
        "numpy.empty": 0, "numpy.full": 0, "numpy.random.rand": 0, "numpy.random.randn": 0,
        "numpy.random.random": 0, "numpy.random.normal": 2, "numpy.random.uniform": 2,
        "numpy.random.randint": 2, "numpy.linspace": 2, "tensorflow.random.truncated_normal": 0,
        "numpy.random.standard_normal": 0, "numpy.random.permutation": 0,
    },
    ranges=frozenset({"numpy.arange", "tensorflow.range"}),
    orders=frozenset({"numpy.random.permutation"}),
    same_length=frozenset(
        {
            "astype", "copy", "numpy.asarray", "numpy.array", "numpy.expand_dims",
            "numpy.float32", "tensorflow.cast", "tensorflow.constant",
            "tensorflow.convert_to_tensor", "tensorflow.expand_dims", "keras.utils.to_categorical",
            "keras.utils.pad_sequences", "keras.preprocessing.sequence.pad_sequences", "numpy",
        }
    ),  # fmt: skip
)
