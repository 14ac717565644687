"""Train a static graph in several processes.

What:
    What ``minimize()`` adds to the program is split in two: the gradients are averaged over the
    processes within the graph, then applied. Each process is fed its rows of every array, or its
    share of each batch of a loader, and what is fetched in training is averaged in the graph. With
    ``--paddle-api fleet`` the optimizer goes through ``fleet.distributed_optimizer`` instead, which
    rewrites the program for GPUs.

Why:
    An executor knows nothing of other processes: each would train a model of its own.

Before:
    sgd.minimize(loss)

After:
    minimize_together(sgd, loss)

Refuses when:
    more than one loss is minimised, by an optimizer that something wraps, or with dynamic graphs
    beside it; a data set is trained on within one call; it is not known what has a row for every
    sample; training is left on a number that is not that of all processes.

Source:
    https://www.paddlepaddle.org.cn/documentation/docs/en/api/paddle/static/append_backward_en.html
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event, Loop
from transpile.facts.values import Constant, External, Sequence, Value
from transpile.layout import insert_before, replace_expression, wrap_expression
from transpile.plan.flow.places import Statement
from transpile.plan.graph import called_names
from transpile.plan.model import Optimizer, Plan
from transpile.rule import Answer, Change, Helper, In, Remark, Ruling, Rulings
from transpile.rules.paddle.gradients.wrap_optimizer import variable
from transpile.rules.paddle.losses._shares import analysis
from transpile.rules.paddle.models._batch_norm import BATCH_NORMS
from transpile.rules.paddle.randomness._seeds import draws_noise
from transpile.rules.paddle.static._fetched import Minimize, averaged, fetched, named_variable
from transpile.rules.paddle.static._static import (
    Run,
    Static,
    decisions,
    declared_names,
    loose_entries,
    static_of,
)
from transpile.rules.paddle.static._static_prelude import static_helpers

CODES = {
    "PD911": "a static graph cannot be trained by several processes",
    "PD921": "the gradients of a static graph are averaged over the processes",
    "PD922": "each process is fed its rows of every array",
    "PD923": "what is fetched in training is averaged over the processes",
    "PD924": "what is fetched in training is of one process's share",
    "PD925": "the loss of a static graph may mean something else over shares",
    "PD926": "batch norm in a static graph takes its statistics per process",
    "PD927": "each process draws noise of its own in its graph",
    "PD928": "fleet rewrites static graphs for GPUs",
}
#: Where calls are split, every process has whole batches.
WAYS = ("data",)
BY_HAND = "train in dynamic graph mode, with paddle.jit.to_static where speed matters"
#: Batch norm, whose statistics the processes do not share.
NORMS = (*BATCH_NORMS, "paddle.static.nn.batch_norm", "paddle.vision.models.")


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for what is minimised, and one for each place that feeds or fetches."""
    static = static_of(plan)
    if static is None or not (static.minimizes or static.whole):
        return
    if plan.options.mode == "pserver":
        return
    plan.helpers.update(static_helpers(plan.options))
    claims = tuple(
        node
        for event in (
            *(event for event, _ in static.minimizes),
            *(run.event for run in static.training),
            *static.whole,
        )
        for node in (event.node,)
    )
    event = static.minimizes[0][0] if static.minimizes else static.whole[0]
    if shared_already(plan):
        yield Ruling.done(
            "PD921", event, "the processes share this graph's gradients", claims=claims
        )
        return
    why = obstacle(plan, static)
    if why:
        place, reason = why
        yield Ruling.refuse("PD911", place, reason, BY_HAND, claims=claims)
        return
    yield from minimised(plan, static, claims)


def shared_already(plan: Plan) -> bool:
    """Whether the script joins other processes itself."""
    return any(
        any(getattr(c, "name", "") in plan.table.distributed_starts for c in event.callee)
        for event in plan.facts.calls
    )


def obstacle(plan: Plan, static: Static) -> tuple[Event, str] | None:
    """Where and why a static graph cannot be trained by several processes."""
    if static.whole:
        return static.whole[0], (
            "a whole data set is trained on within this call, which only the trainers of parameter "
            "servers share (--mode pserver)"
        )
    why = unminimised(plan, static)
    if why:
        return why
    event, optimizer = static.minimizes[0]
    if not static.training:
        return event, "no run of an executor is seen that trains what is minimised"
    for run in static.training:
        unshared = unfed(plan, static, run)
        if unshared:
            return run.event, unshared
    if plan.options.paddle_api == "fleet" and holder(plan, optimizer) is None:
        return event, "no variable holds the optimizer that fleet would have to be handed"
    return None


def unminimised(plan: Plan, static: Static) -> tuple[Event, str] | None:
    """Where and why what is minimised cannot be seen or changed."""
    if any(not backward.event.detached for backward in plan.backwards):
        return static.enabled, "this script trains static and dynamic graphs"
    nodes = {id(event.node) for event, _ in static.minimizes}
    if len(nodes) > 1 or len(static.minimizes) > 1:
        return static.minimizes[1][0], "several losses are minimised in static graphs"
    event, optimizer = static.minimizes[0]
    if not any(plan.table.is_optimizer(name) for name in called_names(optimizer)):
        return event, "the optimizer is wrapped by something that changes what is minimised"
    call = event.node
    if not isinstance(call, cst.Call) or not isinstance(call.func, cst.Attribute):
        return event, "the call of minimize has no place in the text"
    if not call.args or call.args[0].star or call.args[0].keyword is not None:
        return event, "the loss is not the first argument of minimize"
    if any(isinstance(frame, Loop) for frame in event.stack):
        return event, "the graph is built in a loop"
    return None


def holder(plan: Plan, optimizer: Value) -> str | None:
    """The variable that holds an optimizer from where it is made."""
    found: list[Optimizer] = [each for each in plan.optimizers if each.value is optimizer]
    return variable(found[0]) if found else None


def unfed(plan: Plan, static: Static, run: Run) -> str:
    """Why what a run is fed cannot be sharded; empty where it can."""
    names = declared_names(static)
    if run.feed is None:
        return "nothing is fed here, so that there is nothing to shard"
    if run.loaders:
        if loose_entries(static, run):
            return "samples from a loader and from elsewhere are fed together"
        return ""
    if not isinstance(run.feed.node, cst.BaseExpression):
        return "what is fed has no place in the text"
    if any(isinstance(value, (Sequence, Constant)) for value in run.feed.values):
        return "one feed for each device is given here"
    if plan.options.batch_size == "per-device":
        return "the batches are made in place, so that no process can leave those of others out"
    if not names or any(batched is None for batched in names.values()):
        return "it is not known what of the feed has a row for every sample"
    if not all(names.values()):
        return "something is fed that has no row for every sample, or batches of a fixed size"
    return ""


def minimised(plan: Plan, static: Static, claims: tuple[cst.CSTNode, ...]) -> Iterator[Answer]:
    """The answers about a graph that can be trained by several processes."""
    event, _ = static.minimizes[0]
    call = event.node
    assert isinstance(call, cst.Call)
    by_fleet = plan.options.paddle_api == "fleet"
    data = Minimize()
    loss = call.args[0].value
    quantity = analysis(plan).of(plan.facts.values_of(loss))
    if quantity.is_sum:
        data.summed = loss
    elif not quantity.is_mean:
        why = quantity.reason or "it is not seen how the samples become one number"
        yield remark(
            event,
            "PD925",
            f"the average over the processes may differ from the loss over the whole batch: {why}",
            "compare a run with one process",
        )
    fetching: list[Ruling] = []
    unshared: list[Run] = []
    for run in static.training:
        for node, why in fetched(plan, event, run, data):
            if why or by_fleet:
                unshared.append(run)
                yield remark(
                    run.event,
                    "PD924",
                    "what is fetched here in training is of one process's share of the batch"
                    + (f": {why}" if why else ""),
                    "read it as a sample, or evaluate on all data",
                )
                break
            fetching.append(
                Ruling.apply(
                    "PD923",
                    (run.event.module, node),
                    "what is fetched is the mean over the processes",
                    data=data.fetched[run.event.module.source.code(named_variable(node))],
                )
            )
    for decision in decisions(plan, unshared):
        yield Ruling.refuse(
            "PD911",
            decision,
            "what is done here depends on a number of one process's share of the batch: the "
            "processes would go different ways",
            "decide on the loss, fetched by its name in the script",
        )
    if by_fleet:
        data.fetched.clear()
        yield remark(
            event,
            "PD928",
            "fleet rewrites static graphs for GPUs alone, and those of Paddle 3 with "
            "FLAGS_enable_pir_api=0: the script says so where it is started otherwise",
            "start it on GPUs, or convert without --paddle-api fleet",
        )
    yield Ruling.apply(
        "PD921",
        event,
        "the gradients are averaged over the processes",
        data=None if by_fleet and data.summed is None else data,
        claims=claims,
    )
    yield from () if by_fleet else fetching
    seen: set[int] = set()
    for run in static.training:
        assert run.feed is not None and run.feed.node is not None
        if run.loaders or id(run.feed.node) in seen:
            continue
        seen.add(id(run.feed.node))
        yield Ruling.apply(
            "PD922", (run.event.module, run.feed.node), "each process is fed its rows"
        )
    yield from noise(plan, static)


def noise(plan: Plan, static: Static) -> Iterator[Answer]:
    """What is said and done about batch norm and dropout."""
    run = static.training[0]
    for event in plan.facts.reached_calls:
        if any(isinstance(c, External) and c.name.startswith(NORMS) for c in event.callee):
            yield remark(
                event,
                "PD926",
                "batch norm takes its statistics from the batch of each process, which is "
                "smaller than the script's, and rank 0 saves its own",
                "keep the shares large enough",
            )
            break
    loops = [frame for frame in run.event.stack if isinstance(frame, Loop)]
    if draws_noise(plan) and loops:
        yield Ruling.apply("PD927", loops[0], "each process draws noise of its own from here on")


def remark(event: Event, code: str, message: str, advice: str) -> Remark:
    """A warning at an event."""
    return Remark.warn(code, event, message, advice)


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The averaging in the place of ``minimize``, the rows that are fed, the means fetched."""
    module = ruling.module
    source, names = module.source, plan.names_in(module)
    node = ruling.node
    if ruling.code == "PD922":
        assert isinstance(node, cst.BaseExpression)
        yield Helper("shard_feed", module)
        for edit in wrap_expression(source, node, f"{names.fresh('shard_feed')}(", ")"):
            yield In(module, edit)
    elif ruling.code == "PD923":
        for edit in replace_expression(source, node, ruling.data):
            yield In(module, edit)
    elif ruling.code == "PD927":
        yield Helper("vary_graph_noise", module)
        assert isinstance(node, Statement)
        lines = [f"{names.fresh('vary_graph_noise')}()"]
        for edit in insert_before(source, node, lines, order=-3):
            yield In(module, edit)
    elif ruling.data is not None:
        yield from averaged(plan, ruling, ruling.data)
