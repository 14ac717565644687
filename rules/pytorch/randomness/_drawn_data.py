"""Data and settings made of random numbers of each process, and the statements that draw them."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Branch, Event, Loop
from transpile.facts.module import Module
from transpile.facts.values import Constant, External, Instance, Opaque, Value, Values
from transpile.facts.walk import descendants
from transpile.plan.flow.places import STATEMENTS, Statement, ancestors
from transpile.plan.graph import called_names, made_by, walk_back
from transpile.plan.model import Plan
from transpile.plan.models.noise import SAMPLES
from transpile.plan.query import query
from transpile.records import dataclass, replace
from transpile.rules.pytorch.agreement._divergence import ON_DISK, Divergence
from transpile.rules.pytorch.agreement._together import steps_of
from transpile.rules.pytorch.data._data import Data
from transpile.rules.pytorch.randomness._private_chance import differs
from transpile.rules.pytorch.randomness._random_draws import Draws
from transpile.rules.pytorch.randomness._seeds import SEEDS as SEEDS_OF

#: Where the functions that draw take their random numbers from.
SOURCES = {"numpy.random.": "numpy", "random.": "random", "sklearn.datasets.make_": "numpy"}
#: Functions of those modules that draw nothing.
QUIET = frozenset(
    {
        "seed", "getstate", "setstate", "get_state", "set_state", "default_rng", "RandomState",
        "Generator", "Random", "SystemRandom", "SeedSequence", "PCG64",
    }
)  # fmt: skip
#: Arguments that make a draw the same on every process.
SEEDS = frozenset({"generator", "random_state", "rng"})
#: Methods of random generators.
DRAWING = frozenset(
    {
        "permutation", "permuted", "shuffle", "choice", "choices", "sample", "random", "randint",
        "integers", "rand", "randn", "normal", "uniform", "standard_normal", "gauss", "randrange",
        "binomial", "poisson", "exponential", "beta", "gamma",
    }
)  # fmt: skip
#: Methods that are called for single samples, when a loader asks for them.
PER_SAMPLE = frozenset({"__getitem__", "__getitems__", "__iter__", "__next__"})
#: Methods that put what they are given into their object.
FEEDING = frozenset({"append", "extend", "insert", "add", "update", "copy_", "put", "setdefault"})


@dataclass(frozen=True, eq=False)
class Drawn:
    """A draw that data is filled with.

    Args:
        event: the call that draws.
        module: where the statement stands.
        statement: what every process runs with the random state of rank 0; None where nothing
            around the draw can be run so.
        because: why not, as the end of a sentence.
        repeated: whether the statement draws in a loop.
        node: the part of the statement that draws.
        what: what is made of the random numbers.
    """

    event: Event
    module: Module
    statement: Statement | None
    because: str = ""
    repeated: bool = False
    node: cst.CSTNode | None = None
    what: str = "fill this data"


@query
def drawn_data(plan: Plan) -> list[Drawn]:
    """The draws that fill data while the processes have random numbers of their own."""
    return list(find_drawn(plan))


def find_drawn(plan: Plan) -> Iterator[Drawn]:
    """See :func:`drawn_data`."""
    draws = Draws(plan)
    late = [
        (event, source_of(plan, event))
        for event in plan.facts.reached_calls
        if draws.is_late(event)
    ]
    late = [(event, source) for event, source in late if source]
    if not late:
        return
    filled = Filled(plan)
    chosen = set(map(id, walk_back(settings(plan))))
    places: Places | None = None
    for event, source in late:
        if source != "own" and draws.equal(event, source):
            continue
        if is_per_sample(event):
            continue
        what = "fill this data" if filled.by(event) else "make settings"
        if what == "make settings" and not chosen.intersection(map(id, event.result)):
            continue
        if source == "own":
            yield Drawn(event, event.module, None, what=what)
            continue
        places = places or Places(plan, draws.varied)
        yield replace(places.around(event), what=what)


def settings(plan: Plan) -> Values:
    """What the training is set up with: of models, optimizers and loaders, seeds and rounds."""
    seeding = (name for names in SEEDS_OF.values() for name in names)
    events = [
        *(optimizer.event for optimizer in plan.optimizers),
        *(loader.event for loader in plan.training_loaders),
        *plan.facts.calls_to(*seeding),
    ]
    found = [value for each in events for item in each.arguments.items for value in item.values]
    for model in plan.trained_models:
        found.append(model.value)
        if isinstance(model.value, Instance) and model.value.arguments is not None:
            found.extend(v for item in model.value.arguments.items for v in item.values)
    for backward in plan.backwards:
        for loop in backward.epoch_loops:
            if isinstance(loop.node, cst.For):
                found.extend(plan.facts.values_of(loop.node.iter))
    return tuple(found)


def source_of(plan: Plan, event: Event) -> str:
    """Where a call draws from: torch, numpy, random, own; empty where it draws nothing."""
    if any(
        value != Constant(None)
        for name in SEEDS
        for value in getattr(event.arguments.get(name), "values", ())
    ):
        return ""
    for callee in event.callee:
        if isinstance(callee, External):
            if callee.name in plan.table.draws:
                return "torch"
            for prefix, source in SOURCES.items():
                if callee.name.startswith(prefix):
                    return "" if callee.name.rpartition(".")[2] in QUIET else source
        elif isinstance(callee, Opaque) and callee.kind == "attribute":
            if callee.name in plan.table.filling_methods:
                return "torch"
            if callee.name in DRAWING and any(map(differs, callee.operands[0])):
                return "own"
            if callee.name in SAMPLES and any(map(is_distribution, callee.operands[0])):
                return "torch"
            if callee.name == "sample" and any(map(is_table, callee.operands[0])):
                return "numpy"
    return ""


def is_distribution(value: Value) -> bool:
    """Whether a value is a distribution, which draws from the framework's random state."""
    return any(name.startswith("torch.distributions.") for name in made_by(value))


def is_table(value: Value) -> bool:
    """Whether a value is made by pandas, whose draws come from numpy."""
    return any(
        name.startswith("pandas.")
        for behind in walk_back((value,))
        for name in called_names(behind)
    )


def is_per_sample(event: Event) -> bool:
    """Whether a draw happens when single samples are asked for, each process for its own."""
    return any(
        frame.function.name in PER_SAMPLE or frame.function.is_generator for frame in event.calls()
    )


class Filled:
    """What the data is made of, what was stored into its parts in place included."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.data = Data(plan, cuts=False)
        stored = [(held, given) for event in plan.facts.events for held, given in puts(event)]
        growing = True
        while growing:
            growing = False
            for position, (held, given) in enumerate(stored):
                if held and self.data.holds(held):
                    stored[position] = ((), ())
                    growing = self.data.reach(given) or growing

    def by(self, event: Event) -> bool:
        """Whether a draw fills data: its result, or that of a call that it happens in."""
        if self.data.holds(event.result):
            return True
        for callee in event.callee:
            if isinstance(callee, Opaque) and callee.name in self.plan.table.filling_methods:
                if self.data.holds(callee.operands[0]):
                    return True
        return any(
            frame.node is not None and self.data.holds(self.plan.facts.values_of(frame.node))
            for frame in event.calls()
        )


def puts(event: Event) -> Iterator[tuple[Values, Values]]:
    """What an event puts values into, and which."""
    if event.kind in ("store", "operate"):
        yield event.callee, event.result
    elif event.kind == "call":
        given = tuple(value for item in event.arguments.items for value in item.values)
        for callee in event.callee:
            if isinstance(callee, Opaque) and callee.kind == "attribute":
                if callee.name in FEEDING:
                    yield callee.operands[0], given


class Places:
    """The statements that all processes can run with one random state."""

    def __init__(self, plan: Plan, varied: int, apart: tuple[Event, ...] = ()) -> None:
        """Look for what trains.

        Args:
            plan: the plan.
            varied: position of the first event at which random numbers differ.
            apart: what else must not happen in such a statement.
        """
        self.plan = plan
        self.varied = varied
        self.divergence = Divergence(plan, varied)
        self.busy: set[int] = set()
        training = [step.event for step in steps_of(plan)]
        training += [event for loader in plan.loaders for event in loader.iterations]
        training += [event for model in plan.trained_models for event in model.forwards]
        for event in (*training, *apart):
            for module, node in levels(event):
                self.busy.update(id(part) for part in ancestors(module, node))
            self.busy.update(id(frame.node) for frame in event.loops())

    def around(self, event: Event) -> Drawn:
        """The outermost statement around a draw that trains nothing."""
        for module, node in levels(event):
            for statement in reversed(list(statements_around(module, node))):
                if id(statement) in self.busy or yields(statement):
                    continue
                if self.is_uncertain(event, module, statement):
                    reason = ", where only some of the processes may come"
                    return Drawn(event, module, None, reason)
                repeated = repeats(event, statement)
                return Drawn(event, module, statement, repeated=repeated, node=node)
        return Drawn(event, event.module, None)

    def is_uncertain(self, event: Event, module: Module, statement: Statement) -> bool:
        """Whether a condition around a statement may differ from process to process."""
        inside = {id(part) for part in descendants(statement)}
        for frame in event.stack:
            node = getattr(frame, "node", None)
            if id(node) in inside:
                return False
            if isinstance(frame, Branch) and isinstance(node, cst.If):
                owner = self.owner(event, node) or module
                cause = self.divergence.cause(owner, node.test)
                if cause is not None and cause not in ON_DISK:
                    return True
        return False

    def owner(self, event: Event, node: cst.CSTNode) -> Module | None:
        """The module among those of an event's calls that a node stands in."""
        modules = [event.module, *(frame.module for frame in event.calls())]
        return next((m for m in modules if id(node) in m.source.places.around), None)


def repeats(event: Event, statement: Statement) -> bool:
    """Whether a statement comes to an event in a loop."""
    inside = {id(part) for part in descendants(statement)}
    entered = False
    for frame in event.stack:
        entered = entered or id(getattr(frame, "node", None)) in inside
        if entered and isinstance(frame, Loop):
            return True
    return False


def levels(event: Event) -> list[tuple[Module, cst.CSTNode]]:
    """The calls that lead to an event and itself, outermost first, with their modules."""
    found = [(frame.module, frame.node) for frame in event.calls() if frame.node is not None]
    return [*found, (event.module, event.node)]


def statements_around(module: Module, node: cst.CSTNode) -> Iterator[Statement]:
    """The statements around a node within its function, inside out."""
    for ancestor in ancestors(module, node):
        if isinstance(ancestor, (cst.FunctionDef, cst.ClassDef)):
            return
        if isinstance(ancestor, STATEMENTS):
            yield ancestor


def yields(statement: Statement) -> bool:
    """Whether a statement hands over in its midst."""
    return any(isinstance(part, (cst.Yield, cst.Await)) for part in descendants(statement))
