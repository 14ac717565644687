"""Wrap every trained model in paddle.DataParallel.

What:
    Each model that an optimizer updates and a backward pass goes through is wrapped once it is
    loaded and frozen, and before its first use in training; with ``--paddle-api fleet`` by
    ``fleet.distributed_model``. Batch norm takes its statistics over all processes where the batch
    of one process shrinks and there are GPUs. In a single process the model stays as it is.

Why:
    Without the wrap the processes' gradients are never averaged and each trains a model of its
    own. Wrapped too early, parameters that load or freeze later are not the ones synchronised.

Before:
    model = Net()
    optimizer = paddle.optimizer.SGD(0.1, parameters=model.parameters())

After:
    model = Net()
    if dist.get_world_size() > 1:
        model = paddle.DataParallel(model)
    optimizer = paddle.optimizer.SGD(0.1, parameters=model.parameters())

Refuses when:
    no variable holds the model from where it is ready to where it is called, or it is trained
    through a method other than its call, or a loss may do without some of its outputs, and its
    gradients cannot be averaged by hand; it is trained inside a call that cannot be analysed; its
    gradients are taken by hand.

Source:
    https://www.paddlepaddle.org.cn/documentation/docs/en/api/paddle/DataParallel_en.html
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.backends.wrapping import (
    by_hand,
    claims,
    hidden,
    home,
    merged,
    untraced,
    wrapped,
    written,
)
from transpile.facts.values import Opaque
from transpile.layout.calls import written_call
from transpile.layout.lines import statement_indentation
from transpile.plan.flow.gate import hidden_training
from transpile.plan.graph import called_names
from transpile.plan.model import Model, Plan
from transpile.plan.models.absent import world_test
from transpile.plan.models.averaging import averaged_already
from transpile.plan.models.frozen import unfrozen_later
from transpile.plan.models.wraps import Wrap, find_wrap, wrapped_already
from transpile.rule import Answer, Change, Helper, Remark, Ruling, Rulings
from transpile.rules.paddle.gradients._averaging import averaged_by_hand, averagings
from transpile.rules.paddle.high_level._high_level import MODEL, is_static
from transpile.rules.paddle.models._batch_norm import has_batch_norm
from transpile.rules.paddle.models._bypasses import bypasses, parameters_beside
from transpile.rules.paddle.models._split_calls import whole_because
from transpile.rules.paddle.models._unused import may_leave_parameters_out, stops_the_wrap
from transpile.rules.paddle.static._static import static_of

CODES = {
    "PD301": "a trained model is wrapped",
    "PD302": "a trained model cannot be wrapped",
    "PD303": "a model is trained through something other than its call",
    "PD304": "gradients are taken by hand",
    "PD305": "training is hidden in a call that cannot be analysed",
    "PD306": "an optimizer's parameters cannot be traced to a model",
    "PD307": "batch norm takes its statistics per process",
    "PD308": "a backward pass goes through no model that learns",
    "PD310": "frozen parameters learn after the model is wrapped",
    "PD309": "a loss is minimised whose gradients nothing computes here",
}
ALL_REDUCE = "paddle.distributed.all_reduce"
#: It is the same whatever is sharded.
SURE = ("PD307",)


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each variable that holds a trained model."""
    yield from refusals(plan)
    wraps: dict[tuple[int, str], list[Wrap]] = {}
    for model in plan.trained_models:
        module, node = home(plan, model)
        if wrapped_already(plan, model) or averaged_already(plan, model.optimizers, ALL_REDUCE):
            yield Ruling.done(
                "PD301", (module, node), "its gradients are averaged", claims=claims(model)
            )
            continue
        if averaged_by_hand(plan, model):
            continue
        for event, why in bypasses(plan, model):
            yield Ruling.refuse(
                "PD303",
                event,
                why,
                "call the model itself in training, so that DataParallel sees it",
            )
        # With split calls every process has the whole gradient of what is beside them.
        for parameter in parameters_beside(plan, model) if plan.way == "data" else ():
            yield Ruling.refuse(
                "PD303",
                parameter,
                "this parameter of the model is used in a loss, but not in the model's call, past "
                "the wrap that averages gradients",
                "compute what needs it in the model's forward",
            )
        found = find_wrap(plan, model)
        if not isinstance(found, str) and stops_the_wrap(plan, model):
            found = stopped(plan, model)
        if isinstance(found, str):
            yield Ruling.refuse(
                "PD302",
                (module, node),
                f"this model learns but cannot be wrapped: {found}",
                (
                    "use all that the model gives in every loss, and call it once in each step"
                    if stops_the_wrap(plan, model)
                    else "keep the model in one variable from its making to its calls"
                ),
            )
            continue
        unfrozen = unfrozen_later(plan, model, found.order)
        if unfrozen is not None:
            yield Ruling.refuse(
                "PD310",
                unfrozen,
                "parameters that are frozen when the model is wrapped may learn from here on, and "
                "the wrap would not average their gradients",
                "wrap the model anew for each phase by hand, or freeze by a learning rate of 0",
            )
            continue
        if plan.options.paddle_api == "fleet" and may_leave_parameters_out(plan, model):
            yield Ruling.refuse(
                "PD302",
                (module, node),
                "a step may leave parameters of this model unused, which fleet must be told by a "
                "strategy of the script",
                "leave out --paddle-api fleet, or use all parameters in every step",
            )
            continue
        wraps.setdefault((id(found.node), found.text), []).append(found)
    for group in wraps.values():
        wrap = merged(group)
        yield wrapped(wrap, f"'{wrap.text}' is wrapped here", "PD301")
        if any(has_batch_norm(plan, model) for model in wrap.models):
            yield Remark.warn(
                "PD307",
                wrap,
                "without GPUs batch norm takes its statistics from the batch of each process, "
                "which is smaller than the script's",
                "on GPUs they are taken over all processes",
            )


def refusals(plan: Plan) -> Iterator[Answer]:
    """Training that no wrap would synchronise."""
    yield from by_hand(plan, "PD304")
    for value in hidden_training(plan):
        static = static_of(plan)
        if not is_prepared(value) and (static is None or not static.minimizes):
            yield hidden(value, "PD305")
    if not is_static(plan):
        yield from untraced(plan.optimizers, "PD306")
    for backward in plan.backwards:
        if backward.event.detached or any(model.trained for model in backward.models):
            continue
        if backward.tensors:
            continue
        yield Ruling.refuse(
            "PD308",
            backward.event,
            "this backward pass goes through no model that an optimizer updates, so nothing would "
            "average its gradients over the processes",
            "put what is trained into a paddle.nn.Layer whose parameters an optimizer holds",
        )
    if not plan.backwards and not is_static(plan):
        for optimizer in plan.optimizers:
            for step in optimizer.steps:
                if not step.detached:
                    yield Ruling.refuse(
                        "PD309",
                        step,
                        "the optimizer steps here, but no backward pass is seen that computes "
                        "gradients",
                        "call backward() on the loss in the script",
                    )


def stopped(plan: Plan, model: Model) -> str:
    """Why no wrap can hold a model whose steps leave parameters out, nor can it do without one."""
    by_hand = averagings(plan, model)
    assert isinstance(by_hand, str)
    return (
        "a loss may do without some outputs of its calls, or one of several calls without some of "
        "its layers, for whose gradients DataParallel would wait; nor can its gradients be "
        f"averaged by hand: {by_hand}"
    )


def is_prepared(value: Opaque) -> bool:
    """Whether a call prepares a high-level model, which another rule looks at."""
    return any(
        isinstance(callee, Opaque)
        and callee.kind == "attribute"
        and any(MODEL in called_names(behind) for behind in callee.operands[0])
        for callee in value.callee
    )


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The wrap, under the condition that there are several processes."""
    wrap: Wrap = ruling.data
    dist = plan.names_in(wrap.module).imported("paddle.distributed", "dist")
    paddle = plan.names_in(wrap.module).imported("paddle", "paddle")
    lines = [world_test(plan, wrap, f"{dist}.get_world_size()")]
    if plan.options.batch_size == "global" and any(has_batch_norm(plan, m) for m in wrap.models):
        convert = f"{wrap.text} = {paddle}.nn.SyncBatchNorm.convert_sync_batchnorm"
        lines += [
            f"    if {paddle}.is_compiled_with_cuda():",
            f"        {convert}({wrap.text})",
        ]
    source = wrap.module.source
    indentation = len(statement_indentation(source, wrap.node))
    if plan.options.paddle_api == "fleet":
        fleet = plan.names_in(wrap.module).imported("paddle.distributed.fleet", "fleet")
        head, arguments = f"{wrap.text} = {fleet}.distributed_model", [wrap.text]
    else:
        head, arguments = f"{wrap.text} = {paddle}.DataParallel", [wrap.text]
        if plan.way == "calls" and not any(whole_because(plan, model) for model in wrap.models):
            yield Helper("SplitCalls", wrap.module)
            head = f"{wrap.text} = {plan.names_in(wrap.module).fresh('SplitCalls')}"
        if any(may_leave_parameters_out(plan, model) for model in wrap.models):
            arguments.append("find_unused_parameters=True")
    lines += [f"    {line}" for line in written_call(head, arguments, indentation + 4)]
    yield from written(wrap, lines)
