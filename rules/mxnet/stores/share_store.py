"""Make one store that all workers share.

What:
    Right below the imports a helper makes the store of ``--kvstore`` (``dist_sync`` unless said
    otherwise) where a launcher has started the workers; without one there is no store and the
    script does what it did. The random numbers of numpy and of Python start from those of rank 0.

Why:
    Workers find each other through a store, and a process can have only one. Servers and the
    scheduler run the same script and never return from ``import mxnet``: what stands before it
    happens in them, too.

Before:
    import mxnet as mx

After:
    store = create_store()

Refuses when:
    several things are trained by servers, which have one optimizer; gradients of single rows are
    trained with Gluon; a seed differs from worker to worker; a file of requirements asks
    for an MXNet before 1.2.1.

Source:
    https://mxnet.apache.org/versions/1.9.1/api/faq/distributed_training
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.facts.events import Event
from transpile.facts.values import External, only_constant
from transpile.finding import Level
from transpile.plan.effects.effect_search import find_effects
from transpile.plan.effects.effects import Kind
from transpile.plan.graph import called_names, walk_back
from transpile.plan.model import Plan
from transpile.rule import Answer, Change, Helper, Remark, Ruling, Rulings
from transpile.rules.mxnet._helpers.exchange import NAMED_KEYS, STRING_KEYS
from transpile.rules.mxnet._helpers.store import made_store, plain_store, worker_store
from transpile.rules.mxnet._requirements import wanted
from transpile.rules.mxnet._roles import (
    fits,
    has_modules,
    has_several,
    has_worker_stores,
    in_workers,
    is_shared,
    stores,
    trainers,
)
from transpile.rules.mxnet.data._shares import shares_batches
from transpile.rules.mxnet.data._slices import cut_values
from transpile.rules.mxnet.effects._vocabulary import VOCABULARY
from transpile.rules.mxnet.stores._streams import (
    SEEDS,
    augments_on_its_own,
    draws_on_its_own,
    drops_out,
)

CODES = {
    "MX101": "the workers share one store",
    "MX102": "servers and the scheduler have this effect, too",
    "MX103": "keys of parameters would collide in the kvstore",
    "MX104": "asynchronous updates use parameters that are not the newest",
    "MX105": "the script uses a store by itself",
    "MX108": "gradients of single rows are applied by the servers",
    "MX110": "which MXNet is asked for",
    "MX109": "each worker would draw random numbers of its own",
}
#: What each process has of its own.
OWN = ("time.", "datetime.", "os.getpid", "os.urandom", "secrets.", "uuid.")
#: Methods of a store that a script calls where it spreads its training over devices by itself.
BY_HAND = frozenset({"push", "pull", "pushpull", "broadcast", "init", "row_sparse_pull"})


def decide(plan: Plan) -> Iterator[Answer]:
    """The store, and what stands in its way."""
    node = plan.entry.source.tree
    made = [event for event in stores(plan) if makes_shared(event)]
    if made:
        yield Ruling.done("MX101", (plan.entry, made[0].node), "there is a shared store")
    else:
        yield Ruling.apply("MX101", (plan.entry, node), "the workers share one store")
    yield from meeting(plan)
    yield from early_effects(plan)
    yield from by_hand(plan)
    yield from not_done(plan)
    yield from versions(plan)
    if plan.options.kvstore == "dist_async":
        yield Remark(
            "MX104",
            Level.WARNING,
            plan.entry,
            None,
            "with dist_async every worker updates the parameters on its own: gradients are those "
            "of older parameters, schedules by updates run as many times faster, and the result is "
            "not that of one process",
            "use a smaller learning rate, or dist_sync",
        )


def not_done(plan: Plan) -> Iterator[Answer]:
    """What options ask for, or the script does, that is not done for MXNet."""
    for event in plan.facts.reached_calls:
        given = event.arguments.keyword("sparse_grad")
        constant = only_constant(given.values) if given is not None else None
        if trainers(plan) and given is not None and not (constant and not constant.value):
            yield Ruling.refuse(
                "MX108",
                event,
                "gradients of single rows must be applied by the servers, which would apply the "
                "optimizer to whatever else the workers send them, too",
                "leave sparse_grad out",
            )
            return
    yield from own_seeds(plan)


def versions(plan: Plan) -> Iterator[Remark]:
    """What the files beside the script say of the version, and of a store for several workers."""
    for each in wanted(plan.requirements()):
        level, message = Level.NOTE, "its packages can share a store"
        if each.too_old:
            level, message = Level.ERROR, "1.2.1 is the first version that is converted for"
        elif each.built:
            message = "whether it is built with USE_DIST_KVSTORE is seen when it is started"
        yield Remark(
            "MX110",
            level,
            plan.entry,
            None,
            f'{each.path}, line {each.line}, asks for "{each.text}": {message}',
            "ask for mxnet>=1.2.1" if each.too_old else "",
        )


def own_seeds(plan: Plan) -> Iterator[Ruling]:
    """Refusals of seeds that every worker would draw for itself."""
    for event in plan.facts.reached_calls:
        if not any(isinstance(c, External) and c.name in SEEDS for c in event.callee):
            continue
        values = [value for each in event.arguments.items for value in each.values]
        if not values or any(
            name.startswith(OWN)
            for value in walk_back(tuple(values))
            for name in called_names(value)
        ):
            yield Ruling.refuse(
                "MX109",
                event,
                "every worker would have random numbers of its own from here on, and draw other "
                "data, orders and splits than the others",
                "seed with a number that all workers have in common",
            )
            return


def meeting(plan: Plan) -> Iterator[Ruling]:
    """Refusals of several things that train, where servers update their parameters."""
    events = [*(trainer.event for trainer in trainers(plan)), *(fit.event for fit in fits(plan))]
    on_servers = has_modules(plan) and not in_workers(plan)
    on_servers = on_servers or plan.options.kvstore == "dist_async"
    if not events or not on_servers:
        return
    chained = any(
        isinstance(callee, External) and callee.name == "mxnet.module.SequentialModule"
        for event in plan.facts.calls
        for callee in event.callee
    )
    if has_several(plan) or chained:
        yield Ruling.refuse(
            "MX103",
            events[-1],
            "several things are trained here, and the servers update the parameters, with one "
            "optimizer for all of them (dist_async, compression and sparse parameters need that)",
            "choose --kvstore dist_sync without --compression",
        )


def makes_shared(event: Event) -> bool:
    """Whether a call makes a store that several workers share."""
    first = event.arguments.get("name", 0)
    return first is not None and is_shared(first.values)


def early_effects(plan: Plan) -> Iterator[Remark]:
    """What happens before MXNet is imported, and so in servers and the scheduler, too."""
    imports = [
        event.order
        for event in plan.facts.events
        if event.kind == "import"
        and any(isinstance(v, External) and v.name.split(".")[0] == "mxnet" for v in event.callee)
    ]
    if not imports:
        return
    for effect in find_effects(plan, VOCABULARY):
        first = effect.event
        if effect.kind in (Kind.LOG, Kind.PLOT):
            continue
        if first.order < min(imports) and not first.detached:
            yield Remark.warn(
                "MX102",
                effect,
                f"{effect.word} {effect.kind.value} before mxnet is imported: servers and the "
                "scheduler, which never come further than that import, do it, too",
                "import mxnet first",
            )


def by_hand(plan: Plan) -> Iterator[Ruling]:
    """Refusals of scripts that push to a store and pull from it themselves."""
    made = {id(value) for event in stores(plan) for value in event.result}
    seen: set[int] = set()
    for event in plan.facts.events:
        for callee in event.callee if event.kind == "call" else ():
            name = getattr(callee, "name", "")
            operands = getattr(callee, "operands", ())
            if name not in BY_HAND or not operands or id(event.node) in seen:
                continue
            if any(id(value) in made for value in operands[0]) and not shares(plan):
                seen.add(id(event.node))
                yield Ruling.refuse(
                    "MX105",
                    event,
                    f"the script calls {name} of a store itself: what it means for several "
                    "workers cannot be told",
                    "leave the store to a Trainer or a Module",
                )


def shares(plan: Plan) -> bool:
    """Whether a store is shared by the script already, which then knows what it does."""
    return any(makes_shared(event) for event in stores(plan))


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The helper that makes the store, and the random numbers."""
    if has_worker_stores(plan):
        plan.helpers["keys"] = STRING_KEYS
        plan.helpers["create_store"] = plain_store(plan.options, not has_modules(plan))
        if has_modules(plan):
            plan.helpers["WorkerStore"] = worker_store(
                drops_out(plan) and draws_on_its_own(plan), augments_on_its_own(plan)
            )
    elif has_modules(plan):
        plan.helpers["keys"] = NAMED_KEYS
        plan.helpers["create_store"] = made_store(plan.options, False)
    yield Helper("store", plan.entry)
    draws = any(
        event.kind == "import" and External("random") in event.callee for event in plan.facts.events
    )
    draws = draws or shares_batches(plan) or bool(cut_values(plan))
    yield Helper("share_random_states" if draws else "share_random_state", plan.entry)
