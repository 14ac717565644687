"""What is asked of every script: does it train, is it distributed, what must be taken care of."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Branch, Event
from transpile.facts.module import Module
from transpile.facts.values import Unknown
from transpile.plan.model import Plan
from transpile.rules.fluid._events import loops_around, names_of, receivers_of
from transpile.rules.fluid._roles import roles_of
from transpile.rules.fluid.programs._programs import STARTUP

#: What reads parameters.
LOADS = frozenset(
    {
        "paddle.fluid.io.load_vars", "paddle.fluid.io.load_params",
        "paddle.fluid.io.load_persistables", "paddle.fluid.io.load", "paddle.fluid.load",
        "paddle.fluid.io.set_program_state", "paddle.fluid.set_program_state",
        "paddle.fluid.io.load_inference_model",
    }
)  # fmt: skip
#: Modules that hold the Trainer, for scripts that import all of their names.
TRAINED_BY = ("paddle.fluid.trainer", "paddle.fluid.contrib.trainer")


def trains(plan: Plan) -> bool:
    """Whether something is minimised, or trained by an object of an older time or unseen."""
    roles = roles_of(plan)
    if roles.minimizes or roles.trainers or trained_unseen(plan):
        return True
    return any(
        name.startswith(("paddle.v2.trainer.", "paddle.fluid.dygraph.parallel."))
        for event in plan.facts.reached_calls
        for name in names_of(event)
    ) or bool(roles.dygraph and any(receivers_of(e, "minimize") for e in plan.facts.events))


def trained_unseen(plan: Plan) -> Event | None:
    """What trains, though no updates are seen to be added to a program; None where nothing does.

    A program that runs batch after batch with parameters that were read from nowhere is trained.
    """
    roles = roles_of(plan)
    if roles.minimizes or roles.trainers:
        return None
    loads: list[Event] = []
    for event in plan.facts.reached_calls:
        if names_of(event) & LOADS:
            loads.append(event)
        for callee in event.callee:
            if isinstance(callee, Unknown) and any(name in callee.reason for name in TRAINED_BY):
                return event
    if always_one_of(loads):
        return None
    for run in roles.runs:
        if not loops_around(run.event) or not any(run.event.result):
            continue
        keys = {
            program.key if program is not None and not (program.foreign or program.testing) else ()
            for program in run.programs
        }
        if keys - {()} and STARTUP not in keys:
            found: Event = run.event
            return found
    return None


def always_one_of(events: list[Event]) -> bool:
    """Whether one of the events happens on every way through the script."""
    arms: dict[int, set[str]] = {}
    for event in events:
        around = [frame for frame in event.stack if isinstance(frame, Branch)]
        if not around:
            return True
        if isinstance(around[-1].node, cst.If):
            arms.setdefault(id(around[-1].node), set()).add(around[-1].arm)
    return any(len(found) > 1 for found in arms.values())


def distributed(plan: Plan) -> str:
    """How a script is distributed already; empty where it is not."""
    roles = roles_of(plan)
    if roles.transpiles:
        return "it makes its program distributed itself (DistributeTranspiler.transpile)"
    for event in plan.facts.reached_calls:
        if is_fleet(event):
            return "it is distributed by fleet"
    eager = list(plan.facts.reached_calls)
    if all(any(is_eager(event, word) for event in eager) for word in EAGER):
        return "it shares its gradients in eager mode itself (fluid.dygraph.parallel.DataParallel)"
    return ""


#: What a script in eager mode calls that is distributed already, perhaps behind a flag.
EAGER = ("prepare_context", "DataParallel")


def is_eager(event: Event, word: str) -> bool:
    """Whether an event calls something of that name in Fluid's eager mode."""
    return any(
        name.startswith("paddle.fluid.dygraph.") and name.endswith(f".{word}")
        for name in names_of(event)
    )


def is_fleet(event: Event) -> bool:
    """Whether an event sets up fleet or the transpiler of collectives."""
    return any(
        (".fleet." in name and name.endswith((".init", ".distributed_optimizer")))
        or name.startswith("paddle.fluid.transpiler.collective.")
        for name in names_of(event)
    )


def sites(plan: Plan) -> Iterator[tuple[str, Module, cst.CSTNode]]:
    """What some rule must take care of."""
    roles = roles_of(plan)
    for minimize in roles.minimizes:
        yield "call of minimize", minimize.event.module, minimize.event.node
    for run in roles.training:
        yield "run of the training program", run.event.module, run.event.node
