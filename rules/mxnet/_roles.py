"""What trains in an MXNet script: trainers, modules, the loops they update in, and their data."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event, Loop
from transpile.facts.values import (
    Argument,
    Constant,
    External,
    Instance,
    Opaque,
    Value,
    Values,
)
from transpile.plan.graph import called_names, walk_back
from transpile.plan.model import Loader, Optimizer, Plan
from transpile.plan.query import query
from transpile.plan.roles.loaders import enters_iterator
from transpile.records import dataclass
from transpile.rules.mxnet._vocabulary import (
    CREATE,
    FEED_FORWARD,
    FEED_FORWARD_CREATE,
    FEED_FORWARD_FIT,
    FIT,
    INIT_OPTIMIZER,
    MODULES,
    STORE,
    STORE_BASES,
    TRAINER,
    TRAINER_PARAMETERS,
)

#: Stores of several workers that other libraries keep.
OF_LIBRARIES = frozenset({"horovod", "byteps"})


@dataclass(frozen=True, eq=False)
class Fit:
    """A call that trains by itself, or that sets the optimizer of a module up.

    Args:
        event: the call.
        word: what it is called.
        parameters: its parameters, in order.
        data: the parameter of the training data; empty for ``init_optimizer``.
    """

    event: Event
    word: str
    parameters: tuple[str, ...]
    data: str

    def argument(self, name: str) -> Argument | None:
        """The argument for a parameter, by keyword or by position."""
        position = self.parameters.index(name) if name in self.parameters else None
        return self.event.arguments.get(name, position)


@dataclass(frozen=True, eq=False)
class Update:
    """A call that changes the parameters: a step of a trainer or of a module.

    Args:
        event: the call.
        trainer: the trainer; None for a module.
        loop: the loop that draws the batches; None where there is none.
        loaders: what that loop draws from.
    """

    event: Event
    trainer: Optimizer | None
    loop: Loop | None
    loaders: tuple[Loader, ...]


def trainers(plan: Plan) -> list[Optimizer]:
    """The Gluon trainers."""
    return [each for each in plan.optimizers if TRAINER in called_names(each.value)]


def in_workers(plan: Plan) -> bool:
    """Whether modules are updated in the workers, so that servers can add up numbers, too.

    Rows of sparse parameters are updated where they are stored: on the servers.
    """
    options = plan.options
    return options.kvstore != "dist_async" and options.compression == "none" and not sparse(plan)


@query
def sparse(plan: Plan) -> bool:
    """Whether the script speaks of parameters or gradients that are rows of sparse matrices."""
    return any(
        isinstance(value, Constant) and value.value in ("row_sparse", "csr")
        for event in plan.facts.reached_calls
        for argument in event.arguments.items
        for value in argument.values
    )


def has_modules(plan: Plan) -> bool:
    """Whether modules, or models of symbols, are trained."""
    return bool(fits(plan)) or any(update.trainer is None for update in updates(plan))


def has_several(plan: Plan) -> bool:
    """Whether several trainers or modules share the store, or one that is made several times."""
    made = {id(trainer.event.node) for trainer in trainers(plan)}
    fitted = {id(fit.event.node) for fit in fits(plan)}
    modules: dict[int, Event] = {}
    for fit in fits(plan):
        for callee in fit.event.callee:
            for value in getattr(callee, "operands", ((),))[0]:
                modules.setdefault(id(value), fit.event)
    runs = [event for event in plan.facts.reached_calls if id(event.node) in made | fitted]
    several = len(made) + len(modules) > 1
    # A function that makes what it trains may be called again.
    calls = {(id(run.node), *(id(frame.node) for frame in run.calls())) for run in runs}
    again = len(calls) > len(made | fitted)
    return several or again or any(True for event in runs for _ in event.loops())


def has_worker_stores(plan: Plan) -> bool:
    """Whether what trains gets stores of its own, which let the workers update."""
    if has_modules(plan):
        return in_workers(plan)
    return has_several(plan)


def can_reduce(plan: Plan) -> bool:
    """Whether numbers can be added up over the workers at any time: servers only add then."""
    if has_modules(plan):
        return in_workers(plan)
    return plan.options.kvstore != "dist_async" and plan.options.compression == "none"


def trainer_argument(trainer: Optimizer, name: str) -> Argument | None:
    """An argument of a trainer, by keyword or by position."""
    return trainer.event.arguments.get(name, TRAINER_PARAMETERS.index(name))


def receivers_of(event: Event, name: str) -> Values:
    """The objects whose method of that name a call calls; empty for another call."""
    found: list[Value] = []
    for callee in event.callee:
        if isinstance(callee, Opaque) and callee.kind == "attribute" and callee.name == name:
            found.extend(callee.operands[0])
    return tuple(found)


def gathers(event: Event) -> bool:
    """Whether a call only adds gradients up."""
    return bool(receivers_of(event, "allreduce_grads"))


def made_by(values: Values, makers: frozenset[str]) -> bool:
    """Whether some value is what one of these calls gives."""
    return any(name in makers for value in values for name in called_names(value))


@query
def fits(plan: Plan) -> list[Fit]:
    """The calls that train by themselves or set a module's optimizer up, each place once."""
    found: dict[int, Fit] = {}
    for fit in all_fits(plan):
        found.setdefault(id(fit.event.node), fit)
    return list(found.values())


def fits_at(plan: Plan, fit: Fit) -> list[Fit]:
    """What the place of such a call does in every call of the functions around it."""
    return [each for each in all_fits(plan) if each.event.node is fit.event.node]


@query
def all_fits(plan: Plan) -> list[Fit]:
    """The calls that train or set an optimizer up, in every call of the functions around them."""
    return list(find_fits(plan))


def find_fits(plan: Plan) -> Iterator[Fit]:
    """See :func:`all_fits`."""
    for event in plan.facts.reached_calls:
        fit = None
        if made_by(receivers_of(event, "fit"), MODULES):
            fit = Fit(event, "Module.fit", FIT, "train_data")
        elif made_by(receivers_of(event, "fit"), FEED_FORWARD):
            fit = Fit(event, "FeedForward.fit", FEED_FORWARD_FIT, "X")
        elif made_by(receivers_of(event, "init_optimizer"), MODULES):
            fit = Fit(event, "init_optimizer", INIT_OPTIMIZER, "")
        elif External(FEED_FORWARD_CREATE) in event.callee:
            fit = Fit(event, "FeedForward.create", CREATE, "X")
        if fit is not None:
            yield fit


def unknown_fits(plan: Plan) -> list[Event]:
    """The calls of ``fit`` that are given training data by objects that are not known."""
    known = {id(fit.event.node) for fit in fits(plan)}
    made = {id(loader.value) for loader in plan.loaders}
    return [
        event
        for event in plan.facts.reached_calls
        if id(event.node) not in known
        and receivers_of(event, "fit")
        and any(id(value) in made for each in event.arguments.items for value in each.values)
    ]


@query
def updates(plan: Plan) -> list[Update]:
    """The calls that change parameters, outside of ``fit``."""
    return list(find_updates(plan))


def find_updates(plan: Plan) -> Iterator[Update]:
    """See :func:`updates`."""
    for trainer in trainers(plan):
        for event in trainer.steps:
            if not event.detached:
                loop, loaders = drawn_around(plan, event)
                around = list(event.loops())
                # Without a loader, batches may be made in the loop right around the step.
                loop = loop or (around[-1] if around else None)
                yield Update(event, trainer, loop, loaders)
    for event in plan.facts.reached_calls:
        if made_by(receivers_of(event, "update"), MODULES):
            yield Update(event, None, *drawn_around(plan, event))


def drawn_around(plan: Plan, event: Event) -> tuple[Loop | None, tuple[Loader, ...]]:
    """The innermost loop around an event that draws batches, and what it draws from."""
    loops = [frame for frame in event.stack if isinstance(frame, Loop)]
    for loop in reversed(loops):
        found = tuple(
            loader
            for loader in plan.loaders
            if any(drawn_by(drawing, loop) for drawing in drawings(plan, loader))
        )
        if found:
            return loop, found
    return None, ()


def drawn_by(drawing: Event, loop: Loop) -> bool:
    """Whether a loop draws by an event: as its head, or by ``next`` directly inside it."""
    if drawing.node is loop.node:
        return True
    own = [frame for frame in drawing.stack if isinstance(frame, Loop)]
    return drawing.name in ("next", "") and bool(own) and own[-1].node is loop.node


@query
def drawings(plan: Plan, loader: Loader) -> list[Event]:
    """The events that draw batches from a loader: loops, ``next(it)`` and ``it.next()``."""
    found = list(loader.iterations)
    for event in plan.facts.calls:
        for receiver in receivers_of(event, "next"):
            if any(value is loader.value for value in walk_back((receiver,), enters)):
                found.append(event)
    return found


def enters(value: Value) -> bool:
    """Whether drawing from a value draws from what it is made of."""
    return enters_iterator(value)


@query
def training_loaders(plan: Plan) -> list[Loader]:
    """The loaders whose batches change parameters, in the order of the run."""
    found = {id(loader): loader for loader in plan.training_loaders}
    for update in updates(plan):
        found.update((id(loader), loader) for loader in update.loaders)
    for fit in all_fits(plan):
        found.update((id(loader), loader) for loader in fed(plan, fit))
    return [each for each in plan.loaders if id(each) in found]


def fed(plan: Plan, fit: Fit) -> list[Loader]:
    """The loaders that a call trains on."""
    argument = fit.argument(fit.data) if fit.data else None
    if argument is None:
        return []
    reached = {id(value) for value in walk_back(argument.values, enters)}
    return [loader for loader in plan.loaders if id(loader.value) in reached]


def stores(plan: Plan) -> list[Event]:
    """The calls that make a store."""
    return [event for event in plan.facts.calls if External(STORE) in event.callee]


def kinds(values: Values) -> set[str]:
    """The names of stores that values may be; those of stores that were made from names, too."""
    found = set()
    for value in values:
        if isinstance(value, Constant) and isinstance(value.value, str):
            found.add(value.value)
        elif STORE in called_names(value):
            assert isinstance(value, Opaque)
            first = value.arguments.get("name", 0)
            found.update(kinds(first.values) if first is not None else {"local"})
        elif isinstance(value, Instance) and not STORE_BASES.isdisjoint(value.cls.external_bases()):
            # Only a store of several workers needs a class of its own.
            found.add("dist")
        elif isinstance(value, Opaque) and value.kind == "operation":
            for operands in value.operands:
                found.update(kinds(operands))
    return found


def is_shared(values: Values) -> bool:
    """Whether some value is, or may be, a store that several workers share."""
    return any("dist" in kind or kind in OF_LIBRARIES for kind in kinds(values))


def call_of(event: Event) -> cst.Call:
    """The call expression of an event.

    Raises:
        TypeError: the event stands at something else.
    """
    if not isinstance(event.node, cst.Call):
        raise TypeError("this event is no call expression")
    return event.node
