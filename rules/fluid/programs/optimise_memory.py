"""Let memory_optimize run for trainers only, before the program is transpiled.

What:
    A call of ``memory_optimize`` or ``release_memory`` is made by trainers alone, in front of the
    transpiler, and with ``skip_grads=True``. With ``--mode nccl2``, where there are trainers alone,
    the argument is all that it needs.

Why:
    It renames variables: the transpiler looks gradients up by name to send them, or to add them up
    with NCCL, and a server's program has to keep all of its variables. From Fluid 1.6 on the call
    does nothing.

Before:
    fluid.memory_optimize(fluid.default_main_program())

After:
    if get_role() != "PSERVER":
        fluid.memory_optimize(fluid.default_main_program(), skip_grads=True)

Refuses when:
    the call stands behind the place where the program is transpiled.

Source:
    https://www.paddlepaddle.org.cn/documentation/docs/en/1.5/api/transpiler/memory_optimize.html
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.values import Constant
from transpile.layout import add_argument, guard, replace_argument_value
from transpile.plan.flow.places import statement_of
from transpile.plan.model import Plan
from transpile.result import Verdict
from transpile.rule import Answer, Change, Helper, In, Remark, Ruling, Rulings
from transpile.rules.fluid._events import names_of
from transpile.rules.fluid._roles import roles_of
from transpile.rules.fluid.programs._place import NoPlace, place_of

CODES = {
    "FL701": "trainers alone optimise memory, and keep the gradients' names",
    "FL702": "memory is optimised behind the transpiler",
    "FL703": "memory_optimize does nothing from Fluid 1.6 on",
}
CALLS = frozenset(
    {"paddle.fluid.transpiler.memory_optimize", "paddle.fluid.release_memory",
     "paddle.fluid.memory_optimize", "paddle.fluid.transpiler.release_memory"}
)  # fmt: skip


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each call."""
    roles = roles_of(plan)
    if not roles.minimizes:
        return
    for event in plan.facts.reached_calls:
        if not names_of(event) & CALLS:
            continue
        if roles.transpiles:
            done = event.order < roles.transpiles[0].order
            yield Ruling(
                "FL701" if done else "FL702",
                Verdict.ALREADY_DONE if done else Verdict.REFUSE,
                event.module,
                event.node,
                (
                    "the script optimises memory before it transpiles its program"
                    if done
                    else "memory is optimised behind the transpiler"
                ),
            )
            continue
        yield from answer(plan, event)


def answer(plan: Plan, event: Event) -> Iterator[Answer]:
    """What becomes of one call."""
    place = place_of(plan)
    if isinstance(place, NoPlace):
        return
    statement = statement_of(event.module, event.node)
    alone = isinstance(statement, cst.SimpleStatementLine) and len(statement.body) == 1
    if event.order > place.event.order or not event.module.is_entry or not alone:
        yield Ruling.refuse(
            "FL702",
            event,
            "memory is optimised here behind the place where the program is transpiled, and the "
            "names of gradients would be lost",
            "call it before the startup program is run, on a line of its own",
        )
        return
    yield Ruling.apply(
        "FL701",
        event,
        "trainers alone optimise memory, and keep the gradients' names",
        data=statement,
    )
    yield Remark.note(
        "FL703",
        event,
        "memory_optimize does nothing from Fluid 1.6 on",
        "take it out for Fluid 1.6 and later",
    )


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The test of the role around the call, and the argument."""
    source = ruling.module.source
    call = ruling.node
    assert isinstance(call, cst.Call)
    if plan.options.mode != "nccl2":
        yield Helper("get_role", ruling.module)
        header = f'if {plan.names_in(ruling.module).fresh("get_role")}() != "PSERVER":'
        for edit in guard(source, ruling.data, ruling.data, header):
            yield In(ruling.module, edit)
    function = plan.facts.values_of(call.func)
    if any(getattr(value, "name", "").endswith("release_memory") for value in function):
        return
    for argument in call.args:
        if argument.keyword is not None and argument.keyword.value == "skip_grads":
            if plan.facts.values_of(argument.value) != (Constant(True),):
                for edit in replace_argument_value(source, call, argument, "True"):
                    yield In(ruling.module, edit)
            return
    if len(call.args) < 5:
        for edit in add_argument(source, call, "skip_grads=True"):
            yield In(ruling.module, edit)
