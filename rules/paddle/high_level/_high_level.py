"""The high-level interface: ``paddle.Model`` with ``prepare`` and ``fit``."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.module import Module
from transpile.facts.values import Argument, Constant, External, Instance, Opaque, Value, Values
from transpile.plan.graph import called_names, walk_back
from transpile.plan.model import Loader, Plan
from transpile.plan.models.parts import walk_parts
from transpile.plan.query import query
from transpile.records import dataclass, field

MODEL = "paddle.Model"
FIT = (
    "train_data", "eval_data", "batch_size", "epochs", "eval_freq", "log_freq", "save_dir",
    "save_freq", "verbose", "drop_last", "shuffle", "num_workers", "callbacks",
    "accumulate_grad_batches", "num_iters",
)  # fmt: skip
#: Packages whose classes are data sets.
DATA_SETS = ("paddle.vision.datasets.", "paddle.text.", "paddle.io.")
NO_DATA_SETS = frozenset({"paddle.io.DataLoader", "paddle.io.BatchSampler"})


@dataclass(eq=False)
class HighLevel:
    """What a script does through the high-level interface.

    Args:
        fits, evaluations, predictions, preparations: the calls of these methods.
        single_steps: the calls that train or evaluate one batch.
        summaries: the calls that print the layers.
        saves, loads: the calls that write and read all parameters.
        loaders: the loaders that are handed to a fit or an evaluation.
        trained: those that a fit trains on.
    """

    fits: list[Event] = field(default_factory=list)
    evaluations: list[Event] = field(default_factory=list)
    predictions: list[Event] = field(default_factory=list)
    preparations: list[Event] = field(default_factory=list)
    single_steps: list[Event] = field(default_factory=list)
    summaries: list[Event] = field(default_factory=list)
    saves: list[Event] = field(default_factory=list)
    loads: list[Event] = field(default_factory=list)
    loaders: list[Loader] = field(default_factory=list)
    trained: list[Loader] = field(default_factory=list)


@query
def high_level(plan: Plan) -> HighLevel:
    """What a script does through the high-level interface; found once for all rules."""
    return find_high_level(plan)


def find_high_level(plan: Plan) -> HighLevel:
    """See :func:`high_level`. The loaders count as training loaders from here on."""
    found = HighLevel()
    places = {
        "fit": found.fits,
        "evaluate": found.evaluations,
        "predict": found.predictions,
        "prepare": found.preparations,
        "train_batch": found.single_steps,
        "eval_batch": found.single_steps,
        "summary": found.summaries,
        "save": found.saves,
        "load": found.loads,
    }
    seen: set[int] = set()
    for event in plan.facts.events:
        word = method_of_model(event)
        if word not in places or event.detached or id(event.node) in seen:
            continue
        seen.add(id(event.node))
        places[word].append(event)
    for event in (*found.fits, *found.evaluations):
        for name in ("train_data", "eval_data"):
            argument = fit_argument(event, name)
            for loader in plan.loaders:
                if argument is not None and any(v is loader.value for v in argument.values):
                    loader.training = True
                    if loader not in found.loaders:
                        found.loaders.append(loader)
                    if name == "train_data" and loader not in found.trained:
                        found.trained.append(loader)
    for event in found.single_steps:
        if method_of_model(event) == "train_batch":
            for loader in loaders_behind(plan, batch_given(event)):
                loader.training = True
                for loaders in (found.loaders, found.trained):
                    if loader not in loaders:
                        loaders.append(loader)
    return found


def batch_given(event: Event) -> Values:
    """What a call that takes a single batch is given."""
    given = (event.arguments.get("inputs", 0), event.arguments.get("labels", 1))
    return tuple(value for each in given if each is not None for value in each.values)


def loaders_behind(plan: Plan, values: Values, shared: bool = False) -> list[Loader]:
    """The loaders that a batch is drawn from.

    Args:
        plan: the plan.
        values: the batch.
        shared: only those that the processes share.
    """
    behind = {id(value) for value in walk_back(values)}
    return [
        loader
        for loader in plan.loaders
        if id(loader.value) in behind and (loader.training or not shared)
    ]


def method_of_model(event: Event) -> str:
    """The method of a high-level model that an event calls; empty for anything else."""
    if event.kind != "call" or not isinstance(event.node, cst.Call):
        return ""
    for callee in event.callee:
        if isinstance(callee, Opaque) and callee.kind == "attribute":
            if any(MODEL in called_names(value) for value in callee.operands[0]):
                return callee.name
    return ""


def fit_argument(event: Event, name: str) -> Argument | None:
    """An argument of ``fit``, or the data of ``evaluate``."""
    if method_of_model(event) == "evaluate":
        return event.arguments.get(name, 0) if name == "eval_data" else None
    found = event.arguments.get(name, FIT.index(name))
    if found is not None and found.values == (Constant(None),):
        return None
    return found


def trains_beside(plan: Plan, event: Event) -> bool:
    """Whether the optimizer that a model is prepared with updates what is no part of it."""
    given = event.arguments.get("optimizer", 0)
    optimizers = {id(value) for value in given.values} if given is not None else set()
    models = (
        value
        for callee in event.callee
        if isinstance(callee, Opaque) and callee.kind == "attribute"
        for value in callee.operands[0]
    )
    parts = {id(part) for model in models for part in walk_parts(model)}
    for optimizer in plan.optimizers:
        if id(optimizer.value) not in optimizers:
            continue
        if optimizer.tensors or (optimizer.modules and optimizer.unknown_because):
            return True
        for owner in optimizer.modules:
            if not any(id(value) in parts for value in walk_back((owner,))):
                return True
    return False


def trains_high_level(plan: Plan) -> bool:
    """Whether a script trains through the high-level interface."""
    found = high_level(plan)
    return bool(found.fits or found.single_steps)


def high_level_sites(plan: Plan) -> Iterator[tuple[str, Module, cst.CSTNode]]:
    """The calls that train unseen, which some rule must claim."""
    found = high_level(plan)
    for event in (*found.fits, *found.single_steps):
        yield "training call", event.module, event.node


def is_data_set(plan: Plan, values: Values) -> bool:
    """Whether values are data sets that are indexed, and no loaders."""
    return bool(values) and all(is_one_data_set(plan, value) for value in values)


def is_one_data_set(plan: Plan, value: Value) -> bool:
    """Whether a value is a data set that is indexed."""
    if isinstance(value, Instance):
        bases = value.cls.external_bases()
        return "paddle.io.Dataset" in bases or any(
            base.startswith(DATA_SETS) and base != "paddle.io.IterableDataset" for base in bases
        )
    names = called_names(value)
    if names:
        return all(name.startswith(DATA_SETS) and name not in NO_DATA_SETS for name in names)
    if isinstance(value, Opaque) and value.kind in ("item", "element"):
        return any(
            "paddle.io.random_split" in called_names(behind) for behind in walk_back((value,))
        )
    return False


def is_static(plan: Plan) -> bool:
    """Whether the script switches to static graphs."""
    return any(
        event.kind == "call"
        and not event.detached
        and External("paddle.enable_static") in event.callee
        for event in plan.facts.events
    )
