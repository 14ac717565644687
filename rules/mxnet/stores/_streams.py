"""Which random numbers may differ from worker to worker: noise may, decisions may not."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Branch, Event, Loop
from transpile.facts.values import External, Instance, Opaque, Value
from transpile.plan.graph import called_names, walk_back
from transpile.plan.model import Plan
from transpile.plan.roles.loaders import enters_iterator
from transpile.rules.mxnet._roles import fits, trainers, updates
from transpile.rules.mxnet.data._common_draws import HOST, common_draws
from transpile.rules.mxnet.data._draws import is_random
from transpile.rules.mxnet.data._shares import VARIED, shares_batches
from transpile.rules.mxnet.data._slices import cut_values
from transpile.rules.mxnet.gradients.split_calls import drops_out as networks_drop_out

#: What numpy draws as noise; all else may be an order or a choice.
NOISE = frozenset(
    f"numpy.random.{name}"
    for name in ("normal", "randn", "standard_normal", "uniform", "rand", "beta", "laplace")
)
#: What changes samples by them.
AUGMENTING = ("mxnet.image.", "gluoncv.data.", "albumentations.", "imgaug.", "torchvision.")
#: What makes symbols with dropout or noise, or symbols that are not known.
DROPPING = (
    "mxnet.sym.Dropout", "mxnet.sym.random", "mxnet.sym.RNN", "mxnet.sym.load", "mxnet.rnn.",
    "mxnet.sym.sample", "mxnet.model.load_checkpoint", "mxnet.module.Module.load", "importlib.",
)  # fmt: skip
SEEDS = frozenset({"numpy.random.seed", "random.seed", "mxnet.random.seed", "mxnet.np.random.seed"})


def draws_on_its_own(plan: Plan) -> bool:
    """Whether workers may draw random numbers of MXNet of their own once training is set up.

    Not where data is made of them later, or a decision, which must be the same on all of them, nor
    where nothing but what all samples of a batch have in common is drawn.
    """
    later = [event for event in draws(plan, VARIED) if event.order > beginning(plan)]
    if later and cut_values(plan):
        return False
    if later and are_common(plan, later) and not networks_drop_out(plan):
        return False
    return not decides(plan, later)


def augments_on_its_own(plan: Plan) -> bool:
    """Whether workers may draw random numbers of numpy and Python of their own from then on."""
    first = beginning(plan)
    if not any(augments(event) for event in plan.facts.events if is_later(plan, event, first)):
        return False
    if shares_batches(plan) or cut_values(plan):
        return False
    if any(loader.event.order > first and not is_known(loader.value) for loader in plan.loaders):
        return False
    later = [event for event in draws(plan, HOST) if event.order > first]
    drawing = [event for event in plan.facts.events if is_later(plan, event, first)]
    if later and are_common(plan, [event for event in drawing if augments(event)]):
        return False
    loops = {id(update.loop.node) for update in updates(plan) if update.loop is not None}
    for event in later:
        inside = any(isinstance(frame, Loop) and id(frame.node) in loops for frame in event.stack)
        noise = any(isinstance(c, External) and c.name in NOISE for c in event.callee)
        if not inside and not noise:
            return False
    return not decides(plan, later)


def are_common(plan: Plan, drawn: list[Event]) -> bool:
    """Whether calls draw only what all samples of a batch have in common."""
    common = {id(event.node) for event in common_draws(plan)}
    return all(id(event.node) in common for event in drawn)


def augments(event: Event) -> bool:
    """Whether a call may change samples at random, by the numbers of numpy or of Python."""
    return event.kind == "call" and any(
        isinstance(callee, External)
        and callee.name.startswith((*HOST, *AUGMENTING))
        and callee.name not in SEEDS
        for callee in event.callee
    )


def is_later(plan: Plan, event: Event, first: int) -> bool:
    """Whether a call happens in training, or in a function that is handed to something."""
    if event.order > first or event.detached or made_to_augment(event):
        return True
    return any(
        isinstance(frame.node, cst.Call)
        and any(frame.function in plan.facts.values_of(given.value) for given in frame.node.args)
        for frame in event.calls()
    )


def drops_out(plan: Plan) -> bool:
    """Whether symbols may hold dropout or noise: known ones of that kind, or unknown ones."""
    return any(
        isinstance(callee, External) and callee.name.startswith(DROPPING)
        for event in plan.facts.calls
        for callee in event.callee
    )


def made_to_augment(event: Event) -> bool:
    """Whether a call makes what changes samples later."""
    return any(
        isinstance(callee, External) and callee.name.startswith(AUGMENTING)
        for callee in event.callee
    )


def beginning(plan: Plan) -> int:
    """When what trains is first made or set up, in the order of the run."""
    made = [trainer.event.order for trainer in trainers(plan)]
    made.extend(fit.event.order for fit in fits(plan))
    return min(made, default=0)


def draws(plan: Plan, packages: tuple[str, ...]) -> Iterator[Event]:
    """The calls that draw random numbers of some packages."""
    for event in plan.facts.reached_calls:
        for callee in event.callee:
            if isinstance(callee, External) and callee.name.startswith(packages):
                if callee.name not in SEEDS:
                    yield event
                    break


def decides(plan: Plan, drawn: list[Event]) -> bool:
    """Whether what some calls draw becomes data, or what a condition is made of."""
    values = {id(value) for event in drawn for value in event.result}
    if not values:
        return False
    loaders = tuple(loader.value for loader in plan.loaders)
    if any(id(value) in values for value in walk_back(loaders, goes_into)):
        return True
    shuffled = any(
        isinstance(callee, External) and callee.name.endswith("shuffle") and not is_random(event)
        for event in drawn
        for callee in event.callee
    )
    return shuffled or any(
        id(value) in values
        for test in tests(plan)
        for value in walk_back(plan.facts.values_of(test))
    )


def goes_into(value: Value) -> bool:
    """Whether a loader draws from what a value is made of."""
    return enters_iterator(value) or not isinstance(value, Instance)


def tests(plan: Plan) -> list[cst.BaseExpression]:
    """The conditions on the way to anything that happens."""
    found = {
        id(frame.node): frame.node.test
        for event in plan.facts.events
        for frame in event.stack
        if isinstance(frame, Branch) and isinstance(frame.node, (cst.If, cst.IfExp))
    }
    return list(found.values())


def is_known(loader: Value) -> bool:
    """Whether data is made by MXNet alone, of what is known: nothing else draws an order for it."""
    return not isinstance(loader, Instance) and all(
        name.startswith(("mxnet.", "numpy.", "builtins.", "os."))
        for value in walk_back((loader,))
        if isinstance(value, Opaque)
        for name in called_names(value)
    )
