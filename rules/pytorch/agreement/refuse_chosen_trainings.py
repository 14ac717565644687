"""Refuse trainings whose settings a library chooses anew in every process.

What:
    A function that trains and is given to a library that calls it with values of its own, as the
    searches for hyperparameters do (``study.optimize``, ``gp_minimize``, ``fmin``, ``tune.run``,
    ``wandb.agent``), is an error. So is training by what such a library gives when it is asked.

Why:
    Each process runs a search of its own: the processes are given other learning rates, other
    models and other numbers of epochs, and wait for each other in trainings that are not the same.

Before:
    study.optimize(objective, n_trials=20)

After:
    objective(settings)

Refuses when:
    training is reached through a call out of the project that hands values to it, or depends on
    values that a search has chosen.

Source:
    https://optuna.readthedocs.io/en/stable/reference/generated/optuna.integration.TorchDistributedTrial.html
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Call, Event
from transpile.facts.values import External, Instance, Opaque, Value
from transpile.plan.data.data_code import root_names
from transpile.plan.flow.own_processes import started_elsewhere
from transpile.plan.graph import walk_back
from transpile.plan.model import Plan
from transpile.rule import Answer, Ruling

CODES = {"PT105": "a library chooses what is trained"}

#: Packages that choose settings by chance, or by what trainings have given before.
SEARCHES = (
    "optuna.", "skopt.", "hyperopt.", "ray.tune.", "wandb.agent.", "wandb.sweep.", "nevergrad.",
    "ax.", "bayes_opt.", "smac.", "ConfigSpace.", "sherpa.", "GPyOpt.", "hpbandster.",
    "hyperactive.", "dehb.", "syne_tune.", "nni.", "emukit.", "zoopt.", "orion.",
)  # fmt: skip
#: Packages whose functions call what they are given once, or with what all processes have alike.
RUNNERS = (
    "builtins.", "torch.", "functools.", "contextlib.", "atexit.", "signal.", "asyncio.", "timeit.",
    "cProfile.", "profile.", "line_profiler.", "memory_profiler.", "click.", "typer.", "fire.",
    "hydra.", "hydra_zen.", "absl.", "tyro.", "argparse.", "gin.", "plac.", "defopt.", "argh.",
    "jsonargparse.", "simple_parsing.", "sacred.", "docopt.", "clize.", "cyclopts.", "invoke.",
    "warnings.", "weakref.", "unittest.", "pytest.", "streamlit.", "IPython.",
)  # fmt: skip


def decide(plan: Plan) -> Iterator[Answer]:
    """One refusal for each call that hands values to a training, or gives some to it."""
    found = [*callers(plan)][:1] or [*asked(plan)][-1:]
    if not found:
        return
    event, name = found[0]
    yield Ruling.refuse(
        "PT105",
        event,
        f"{name} chooses what is trained here, in every process for itself: the processes would "
        "train with different settings, and wait for each other",
        "train one setting in a job of its own, or choose it on rank 0 and broadcast it",
        decisive=True,
    )


def callers(plan: Plan) -> Iterator[tuple[Event, str]]:
    """The calls out of the project that a backward pass is reached through."""
    entered: dict[int, Call] = {}
    for backward in plan.backwards:
        if backward.event.detached:
            continue
        for frame in backward.event.calls():
            if isinstance(frame.node, cst.Call):
                entered.setdefault(id(frame.node), frame)
    elsewhere = {id(event.node) for event, _ in started_elsewhere(plan, ("torch.",))}
    for event in plan.facts.calls:
        found = entered.get(id(event.node))
        if found is None or id(event.node) in elsewhere or event.detached:
            continue
        if isinstance(event.module.source.parent(event.node), cst.Decorator):
            continue
        for callee in event.callee:
            name = caller(plan, callee, found)
            if name:
                yield event, name


def caller(plan: Plan, callee: Value, frame: Call) -> str:
    """The name of something outside the project that hands values to a function; else empty."""
    if isinstance(callee, External):
        names, shown = [callee.name], callee.name
    elif isinstance(callee, Opaque) and callee.kind == "attribute":
        if callee.name in plan.table.step_methods:
            return ""
        names, shown = [], callee.name
        for owner in callee.operands[0]:
            names.extend(root_names(owner))
            names.extend(owner.cls.external_bases() if isinstance(owner, Instance) else ())
        shown = f"{names[0]}().{callee.name}" if names else f"'{callee.name}'"
    else:
        return ""
    if any(f"{name}.".startswith(SEARCHES) for name in names):
        return shown
    if not names or any(f"{name}.".startswith(RUNNERS) for name in names):
        return ""
    return shown if takes_values(frame) else ""


def takes_values(frame: Call) -> bool:
    """Whether a function has parameters that its caller must give something for."""
    parameters = frame.function.node.params
    given = [each for each in (*parameters.posonly_params, *parameters.params) if not each.default]
    return len(given) > bool(frame.receiver)


def asked(plan: Plan) -> Iterator[tuple[Event, str]]:
    """The calls of a search whose results training depends on."""
    if not any(f"{name}.".startswith(SEARCHES) for name in plan.facts.calls_by_name):
        return
    reached = {id(value): value for value in walk_back(settings(plan))}
    for event in plan.facts.calls:
        if event.detached or not any(id(value) in reached for value in event.result):
            continue
        for value in event.result:
            for name in root_names(value):
                if f"{name}.".startswith(SEARCHES):
                    yield event, name


def settings(plan: Plan) -> tuple[Value, ...]:
    """What training depends on."""
    events = [
        *(loader.event for loader in plan.training_loaders),
        *(optimizer.event for optimizer in plan.optimizers),
    ]
    given = [argument for event in events for argument in event.arguments.items]
    for model in plan.trained_models:
        if isinstance(model.value, Instance) and model.value.arguments is not None:
            given.extend(model.value.arguments.items)
    losses = [value for backward in plan.backwards for value in backward.loss]
    return (*losses, *(value for argument in given for value in argument.values))
