"""Have the executors of all trainers share their gradients through NCCL2.

What:
    With ``--mode nccl2`` a ``ParallelExecutor`` that trains is told the number of trainers and its
    own, as is the build strategy of a ``CompiledProgram`` with data parallelism. A GPU that is
    named by a number becomes the one that the launcher has chosen for this process.

Why:
    The transpiler only makes the trainers find each other: the sums of gradients are put in by the
    executor, which must know how many trainers there are.

Before:
    train_exe = fluid.ParallelExecutor(use_cuda=True, loss_name=avg_loss.name)

After:
    train_exe = fluid.ParallelExecutor(
        use_cuda=True,
        loss_name=avg_loss.name,
        num_trainers=get_trainer_count(),
        trainer_id=get_trainer_id(),
    )

Refuses when:
    a plain ``Executor`` runs the program, which shares nothing; no GPU is used.

Source:
    https://www.paddlepaddle.org.cn/documentation/docs/en/1.8/advanced_guide/distributed_training/cluster_howto_en.html
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.values import Constant, Opaque, only_constant
from transpile.layout import add_argument, replace_argument_value, wrap_expression
from transpile.plan.graph import called_names
from transpile.plan.model import Plan
from transpile.result import Verdict
from transpile.rule import Answer, Change, Helper, In, Ruling, Rulings
from transpile.rules.fluid._events import names_of, receivers_of
from transpile.rules.fluid._roles import roles_of
from transpile.rules.fluid.programs._place import users
from transpile.rules.fluid.programs._programs import programs_of
from transpile.rules.fluid.programs._runs import PARALLEL_EXECUTOR

CODES = {
    "FL401": "gradients are shared with the other trainers here",
    "FL402": "gradients cannot be shared through NCCL2",
    "FL403": "each trainer takes the GPU that the launcher has chosen",
}
CUDA = "paddle.fluid.CUDAPlace"


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each executor and program that trains, and for each GPU."""
    roles = roles_of(plan)
    if plan.options.mode != "nccl2" or not roles.minimizes:
        return
    verdict = Verdict.ALREADY_DONE if roles.transpiles else Verdict.APPLY
    calls = list(plan.facts.reached_calls)
    gpus = [event for event in calls if CUDA in names_of(event)]
    if not gpus and not any("paddle.fluid.cuda_places" in names_of(event) for event in calls):
        yield refusal(
            roles.minimizes[0].event, "NCCL2 works between GPUs, and the script uses none"
        )
    seen: set[int] = set()
    training = {id(event.node) for event in users(plan, roles.minimizes[0])}
    for event in calls:
        if id(event.node) in seen:
            continue
        is_executor = PARALLEL_EXECUTOR in names_of(event) and id(event.node) in training
        if is_executor or trains_compiled(plan, event):
            seen.add(id(event.node))
            yield Ruling(
                "FL401",
                verdict,
                event.module,
                event.node,
                "gradients are shared with the other trainers here",
                data="executor" if is_executor else "strategy",
            )
    for event in gpus:
        number = event.arguments.get("device_id", 0)
        if id(event.node) in seen or number is None or only_constant(number.values) is None:
            continue
        seen.add(id(event.node))
        yield Ruling(
            "FL403",
            verdict,
            event.module,
            event.node,
            "each trainer takes the GPU that the launcher has chosen",
            data="place",
        )
    for run in roles.training:
        compiled = all(program is not None and program.compiled for program in run.programs)
        plain = any(
            PARALLEL_EXECUTOR not in called_names(value) for value in receivers_of(run.event, "run")
        )
        if plain and not compiled:
            yield refusal(
                run.event,
                "a plain Executor trains on one device here, and shares no gradients",
            )


def refusal(event: Event, why: str) -> Ruling:
    """Why NCCL2 is none for this script."""
    return Ruling.refuse(
        "FL402",
        event,
        why,
        "run fluid.CompiledProgram(program).with_data_parallel(loss_name=loss.name) on GPUs, or "
        "convert with --mode pserver",
    )


def trains_compiled(plan: Plan, event: Event) -> bool:
    """Whether an event makes the program that is trained parallel on the devices."""
    minimize = roles_of(plan).minimizes[0]
    programs = programs_of(plan)
    for value in event.result:
        if not isinstance(value, Opaque) or value.node is not event.node:
            continue
        if not receivers_of(event, "with_data_parallel"):
            continue
        program = programs.of((value,))
        if program is not None and minimize.program is not None and program.compiled:
            return program.key == minimize.program.key and not program.testing
    return False


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The arguments that say who the trainers are."""
    call = ruling.node
    assert isinstance(call, cst.Call)
    module = ruling.module
    names = plan.names_in(module)
    if ruling.data == "executor":
        for order, (keyword, helper) in enumerate(
            (("num_trainers", "get_trainer_count"), ("trainer_id", "get_trainer_id"))
        ):
            yield Helper(helper, module)
            yield from given(ruling, keyword, f"{names.fresh(helper)}()", order)
    elif ruling.data == "place":
        yield Helper("get_gpu", module)
        edited = replace_argument_value(
            module.source, call, call.args[0], f"{names.fresh('get_gpu')}()"
        )
        for edit in edited:
            yield In(module, edit)
    else:
        yield Helper("share_gradients", module)
        name = names.fresh("share_gradients")
        written = strategy_of(call)
        if written is None or plan.facts.values_of(written.value) == (Constant(None),):
            yield from given(ruling, "build_strategy", f"{name}()", 0)
            return
        for edit in wrap_expression(module.source, written.value, f"{name}(", ")"):
            yield In(module, edit)


def given(ruling: Ruling, keyword: str, value: str, order: int) -> Iterator[Change]:
    """An argument by keyword, in the place of what stands there."""
    call = ruling.node
    assert isinstance(call, cst.Call)
    source = ruling.module.source
    for argument in call.args:
        if argument.keyword is not None and argument.keyword.value == keyword:
            for edit in replace_argument_value(source, call, argument, value):
                yield In(ruling.module, edit)
            return
    for edit in add_argument(source, call, f"{keyword}={value}", order):
        yield In(ruling.module, edit)


def strategy_of(call: cst.Call) -> cst.Arg | None:
    """The build strategy that is given to ``with_data_parallel``."""
    for position, argument in enumerate(call.args):
        keyword = argument.keyword.value if argument.keyword is not None else ""
        if keyword == "build_strategy" or (not keyword and position == 1):
            return argument
    return None
