"""Save with the parameters what the servers keep of the training.

What:
    ``save_persistables`` of the program that is trained becomes a helper that fetches from the
    servers what the optimizer keeps for each parameter, the learning rate and its count of steps.
    ``save_inference_model`` saves the parameters of the trainer. Without a launcher both save what
    they did.

Why:
    A trainer holds the parameters alone: a checkpoint of what it holds could not be loaded again,
    and a training that is resumed would begin its momentum and its learning rate anew. A model for
    inference would be saved with what the servers keep, and without the file that the script names.

Before:
    fluid.io.save_persistables(exe, path)

After:
    save_whole_state(exe, path)

Refuses when:
    never; files that hold less than they did are reported.

Source:
    https://www.paddlepaddle.org.cn/documentation/docs/en/1.8/api/io/save_persistables.html
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.values import Constant
from transpile.layout import replace_expression
from transpile.plan.model import Plan
from transpile.rule import Answer, Change, Helper, In, Remark, Ruling, Rulings
from transpile.rules.fluid._events import names_of
from transpile.rules.fluid._roles import roles_of
from transpile.rules.fluid.programs._programs import Program, programs_of
from transpile.rules.fluid.programs._serving import in_own_scope

CODES = {
    "FL606": "what the servers keep is saved, too",
    "FL608": "a model for inference is saved with the parameters of the trainer",
    "FL607": "this is saved in another way, or without what the servers keep",
}
SAVE = "paddle.fluid.io.save_persistables"
SAVE_MODEL = "paddle.fluid.io.save_inference_model"
#: What saves the variables that a process holds itself.
HELD = frozenset({"paddle.fluid.save", "paddle.fluid.io.save"})


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each place where all of a program is saved."""
    roles = roles_of(plan)
    options = plan.options
    if options.mode == "nccl2" or options.distributed_embedding or not roles.minimizes:
        return
    for event in plan.facts.reached_calls:
        if names_of(event) & HELD and not roles.transpiles:
            yield remark(
                event,
                "what the optimizer keeps and the learning rate are on the servers: this saves the "
                "parameters alone",
                "save with fluid.io.save_persistables what a training is resumed from",
            )
        if SAVE_MODEL in names_of(event) and not roles.transpiles and not options.async_mode:
            yield Ruling.apply(
                "FL608",
                event,
                "it is saved with the parameters of this trainer",
                data="save_own_model",
            )
        if SAVE not in names_of(event) or in_own_scope(event):
            continue
        if roles.transpiles:
            yield Ruling.done("FL606", event, "the script transpiles its program itself")
        elif is_of_training(plan, event):
            if roles.minimize is None:
                yield Ruling.refuse(
                    "FL606",
                    event,
                    "each of several programs has servers of its own, and what they keep is not "
                    "saved here",
                    "save the parameters with fluid.io.save_params",
                )
                continue
            yield from saved(event)


def saved(event: Event) -> Iterator[Answer]:
    """The answer for one place."""
    yield Ruling.apply(
        "FL606", event, "what the servers keep is saved, too", data="save_whole_state"
    )
    name = event.arguments.get("filename", 3)
    if name is not None and name.values != (Constant(None),):
        yield remark(
            event,
            "with servers every variable is saved in a file of its own, whatever filename says",
            "leave filename out, here and where it is loaded",
        )


def is_of_training(plan: Plan, event: Event) -> bool:
    """Whether the program that is saved is the one that is trained."""
    roles = roles_of(plan)
    trained = (roles.minimize,) if roles.minimize is not None else roles.several
    given = event.arguments.get("main_program", 2)
    programs = programs_of(plan)
    if given is None or given.values == (Constant(None),):
        program: Program | None = programs.current(event.stack, 0)
    else:
        program = programs.of(given.values)
    return (
        program is not None
        and not program.testing
        and any(each.program is not None and each.program.key == program.key for each in trained)
    )


def remark(event: Event, message: str, advice: str) -> Remark:
    """A warning at an event."""
    return Remark.warn("FL607", event, message, advice)


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The helper in the place of the function that saves."""
    call = ruling.node
    assert isinstance(call, cst.Call)
    yield Helper(ruling.data, ruling.module)
    name = plan.names_in(ruling.module).fresh(ruling.data)
    for edit in replace_expression(ruling.module.source, call.func, name):
        yield In(ruling.module, edit)
