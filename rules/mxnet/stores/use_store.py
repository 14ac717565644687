"""Let everything that takes a store take that of all workers.

What:
    ``kvstore=`` of a ``Trainer``, of ``fit``, of ``init_optimizer`` and of ``FeedForward`` becomes
    the store that the workers share; without a launcher it is what the script says. Parameters are
    updated in the workers then, so that changes of the learning rate and of the batch are followed,
    which an optimizer on the servers does not do. The default of an option such as ``--kv-store``
    follows.

Why:
    Gradients that are pushed to a store of one process alone are never added up over the workers.
    Several trainers, and modules, get names of their own: each numbers its parameters from 0.

Before:
    trainer = gluon.Trainer(params, "sgd", {"learning_rate": 0.1})

After:
    trainer = gluon.Trainer(params, "sgd", {"learning_rate": 0.1}, kvstore=store or "device")

Refuses when:
    the arguments of the call cannot be followed.

Source:
    https://mxnet.apache.org/versions/1.9.1/api/python/docs/api/gluon/trainer.html
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.module import Module
from transpile.facts.values import Argument, Values, only_constant
from transpile.layout import add_argument, replace_expression, wrap_expression
from transpile.plan.graph import called_names, walk_back
from transpile.plan.model import Plan
from transpile.records import dataclass
from transpile.rule import Answer, Change, Helper, In, Remark, Ruling, Rulings
from transpile.rules.mxnet._roles import (
    call_of,
    fits,
    has_modules,
    has_worker_stores,
    in_workers,
    is_shared,
    stores,
    trainer_argument,
    trainers,
)
from transpile.rules.mxnet._vocabulary import STORE
from transpile.rules.mxnet.stores._command_line import options_behind

CODES = {
    "MX111": "it takes the store that the workers share",
    "MX112": "the arguments of what trains cannot be followed",
    "MX113": "the optimizer's state cannot be saved from the servers",
}


#: What stands in the place of a default where a call makes a store.
MADE = ""


@dataclass(frozen=True, eq=False)
class Place:
    """A place that takes a store.

    Args:
        module: where it is.
        call: the call.
        store: the argument that says which store; None where it is absent.
        default: what the parameter is without an argument.
        made: the call itself makes a store.
        update: the argument ``update_on_kvstore`` of a Gluon trainer.
        trainer: the call makes a Gluon trainer.
        option: the call declares a command line option.
    """

    module: Module
    call: cst.Call
    store: cst.BaseExpression | None
    default: str = '"local"'
    made: bool = False
    update: cst.BaseExpression | None = None
    trainer: bool = False
    option: bool = False


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each place that takes a store."""
    seen: set[int] = set()
    for event in stores(plan):
        first = event.arguments.get("name", 0)
        if event.detached or id(event.node) in seen or own_store(plan, event):
            continue
        seen.add(id(event.node))
        node = first.node if first is not None else None
        yield apply(event, Place(event.module, call_of(event), expression(node), MADE, made=True))
        if first is not None:
            yield from options(plan, first.values)
    for trainer in trainers(plan):
        if id(trainer.event.node) in seen:
            continue
        seen.add(id(trainer.event.node))
        argument = trainer_argument(trainer, "kvstore")
        update = trainer_argument(trainer, "update_on_kvstore")
        claims = (trainer.event.node,)
        place = Place(
            trainer.event.module,
            call_of(trainer.event),
            expression(argument.node if argument is not None else None),
            '"device"',
            update=expression(update.node if update is not None else None),
            trainer=True,
        )
        yield answer(plan, trainer.event, argument, place, claims)
    for fit in fits(plan):
        if id(fit.event.node) in seen:
            continue
        seen.add(id(fit.event.node))
        argument = fit.argument("kvstore")
        place = Place(
            fit.event.module,
            call_of(fit.event),
            expression(argument.node if argument is not None else None),
        )
        yield answer(plan, fit.event, argument, place, (fit.event.node,))
    yield from unsaved(plan)


def own_store(plan: Plan, event: Event) -> bool:
    """Whether a call makes the shared store, or the one that is used without a launcher."""
    first = event.arguments.get("name", 0)
    if first is not None and is_shared(first.values):
        return True
    around = [
        node
        for node in event.module.source.parents(event.node)
        if isinstance(node, (cst.BooleanOperation, cst.IfExp))
    ]
    called = [frame.node for frame in event.calls() if frame.node is not None]
    return any(is_shared(plan.facts.values_of(node)) for node in [*around, *called])


def expression(node: cst.CSTNode | None) -> cst.BaseExpression | None:
    """The node, if it is an expression."""
    return node if isinstance(node, cst.BaseExpression) else None


def apply(event: Event, place: Place, claims: tuple[cst.CSTNode, ...] = ()) -> Ruling:
    """The answer for a place that changes."""
    return Ruling.apply(
        "MX111", event, "it takes the store that the workers share", data=place, claims=claims
    )


def answer(
    plan: Plan,
    event: Event,
    argument: Argument | None,
    place: Place,
    claims: tuple[cst.CSTNode, ...],
) -> Ruling:
    """The answer for something that takes a store."""
    if argument is not None and is_shared(argument.values):
        return Ruling.done(
            "MX111", event, "it takes the store that the workers share", claims=claims
        )
    why = event.arguments.unknown_because
    if argument is not None and (argument.mapping is not None or argument.node is None):
        why = why or "the store comes through an unpacked dict"
    if why:
        return Ruling.refuse(
            "MX112",
            event,
            f"the arguments of this call cannot be followed: {why}",
            "write kvstore= out",
        )
    if argument is not None and any(STORE in called_names(v) for v in walk_back(argument.values)):
        # The call that makes the store changes, and so what comes here.
        if not place.trainer and not has_worker_stores(plan):
            return Ruling.apply("MX111", event, "it takes the shared store", claims=claims)
        return apply(event, Place(**{**vars(place), "made": True}), claims)
    return apply(event, place, claims)


def options(plan: Plan, values: Values) -> Iterator[Ruling]:
    """The answers for the command line options that say which store to make."""
    for declared, default, _ in options_behind(plan, values):
        assert isinstance(declared.node, cst.Call)
        place = Place(declared.module, declared.node, expression(default.node), option=True)
        yield apply(declared, place)


def unsaved(plan: Plan) -> Iterator[Remark]:
    """States of optimizers that live on the servers, where no worker can save them."""
    for event in plan.facts.reached_calls:
        if not fits(plan) or in_workers(plan):
            continue
        names = {getattr(callee, "name", "") for callee in event.callee}
        states = event.arguments.keyword("save_optimizer_states")
        constant = only_constant(states.values) if states is not None else None
        asked = states is not None and (constant is None or bool(constant.value))
        if asked or names & {"save_optimizer_states", "load_optimizer_states"}:
            yield Remark.error(
                "MX113",
                event,
                "the state of the optimizer is with the servers, and no worker can save or load it",
                "save the parameters alone",
            )


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The shared store in front of what the script says."""
    place: Place | None = ruling.data
    if place is None:
        return
    source, module = place.module.source, place.module
    yield Helper("store", module)
    store = plan.names_in(module).fresh("store")
    if place.option:
        assert place.store is not None
        text = f"{store}.type if {store} else {source.code(place.store)}"
        for edit in replace_expression(source, place.store, text):
            yield In(module, edit)
        return
    if place.made and place.default == MADE:
        yield from made_store(plan, place, store)
        return
    if has_worker_stores(plan):
        yield from own_store_edits(plan, place, store)
    elif not place.made:
        yield from taken_store(place, store)
    if not place.trainer or plan.options.kvstore == "dist_async":
        return
    old = source.code(place.update) if place.update is not None else "None"
    if old == "False" or (old == "None" and not has_modules(plan)):
        return
    text = f"False if {store} else {old}"
    changes = (
        replace_expression(source, place.update, text)
        if place.update is not None
        else add_argument(source, place.call, f"update_on_kvstore={text}", order=2)
    )
    for edit in changes:
        yield In(module, edit)


def own_store_edits(plan: Plan, place: Place, store: str) -> Iterator[Change]:
    """The argument of one of several things that share the store."""
    source, module = place.module.source, place.module
    yield Helper("WorkerStore", module)
    text = f"{plan.names_in(module).fresh('WorkerStore')}({store}) if {store} else "
    changes = (
        replace_expression(source, place.store, text + source.code(place.store))
        if place.store is not None
        else add_argument(source, place.call, f"kvstore={text}{place.default}", order=1)
    )
    for edit in changes:
        yield In(module, edit)


def taken_store(place: Place, store: str) -> Iterator[Change]:
    """The argument of something that takes a store."""
    source = place.module.source
    if place.store is None:
        for edit in add_argument(
            source, place.call, f"kvstore={store} or {place.default}", order=1
        ):
            yield In(place.module, edit)
        return
    old = source.code(place.store)
    if old == "None":
        changes = replace_expression(source, place.store, store)
    elif isinstance(place.store, (cst.IfExp, cst.Lambda)):
        changes = wrap_expression(source, place.store, f"{store} or (", ")")
    else:
        changes = replace_expression(source, place.store, f"{store} or {old}")
    for edit in changes:
        yield In(place.module, edit)


def made_store(plan: Plan, place: Place, store: str) -> Iterator[Change]:
    """The call that made a store for one process."""
    source = place.module.source
    if place.store is None or isinstance(place.store, cst.SimpleString):
        changes = wrap_expression(source, place.call, f"{store} or ", "")
    else:
        yield Helper("use_store", place.module)
        use = plan.names_in(place.module).fresh("use_store")
        changes = replace_expression(source, place.call.func, use)
    for edit in changes:
        yield In(place.module, edit)
