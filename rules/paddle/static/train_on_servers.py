"""Train a static graph with parameter servers.

What:
    With ``--mode pserver`` every process takes the role that the launcher gives it. ``minimize()``
    goes through ``fleet.distributed_optimizer``; a server serves from there on, a trainer goes on
    and exchanges the changes of each of its steps with the servers. Each trainer is fed its rows of
    every array, or reads its part of a data set's files. The trainers do not wait for each other:
    where they do, the servers of Paddle 2.6, the last version with any, crash in ``send_barrier``,
    and where each pushes gradients no trainer ever sees the others' updates.

Why:
    Large tables of recommendation models are exchanged row by row, and no trainer waits for
    another.

Before:
    sgd.minimize(loss)

After:
    minimize_on_servers(sgd, loss)

Refuses when:
    models are trained in dynamic graph mode, or fed from a loader; something must be agreed on
    before training; a data set is trained on whose files or batch size are not seen.

Source:
    https://www.paddlepaddle.org.cn/documentation/docs/en/2.6/api/paddle/distributed/fleet/DistributedStrategy_en.html
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event, Loop
from transpile.facts.values import Argument, Constant, Opaque, Values
from transpile.layout import insert_before, wrap_expression
from transpile.once import wait_before_reading
from transpile.once.shared import surround
from transpile.plan.flow.places import Statement, insertion_place
from transpile.plan.graph import called_names, method_calls
from transpile.plan.model import Plan
from transpile.records import dataclass
from transpile.result import Verdict
from transpile.rule import Answer, Change, Helper, In, Ruling, Rulings
from transpile.rules.paddle.effects._once import VOCABULARY, once_of
from transpile.rules.paddle.losses._shares import analysis
from transpile.rules.paddle.randomness._seeds import Sharing, sharing_of
from transpile.rules.paddle.static._server_prelude import SERVER_HELPERS
from transpile.rules.paddle.static._static import Static, executed, static_of
from transpile.rules.paddle.static.train_static_graph import (
    noise,
    remark,
    shared_already,
    unfed,
    unminimised,
)
from transpile.text.changes import Insert, Replace
from transpile.text.span import Span

CODES = {
    "PD931": "a static graph is trained with parameter servers",
    "PD932": "this cannot be trained with parameter servers",
    "PD933": "each trainer takes its part of what it is fed",
    "PD934": "trainers exchange their changes without waiting for each other",
}
#: Where calls are split, every process has whole batches.
WAYS = ("data",)
WAITING = "parameter servers are not a place where trainers wait for each other"
DATA_SETS = frozenset(
    {
        "paddle.distributed.QueueDataset",
        "paddle.distributed.InMemoryDataset",
        "paddle.distributed.fleet.QueueDataset",
        "paddle.distributed.fleet.InMemoryDataset",
    }
)
#: Methods of an executor and of data sets that need what these trainers do not have.
EXCHANGING = frozenset({"global_shuffle", "infer_from_dataset"})


@dataclass(frozen=True, eq=False)
class Part:
    """What each trainer takes its part of.

    Args:
        node: the expression.
        way: ``feed``, ``files``, ``batch`` or ``fetch``.
    """

    node: cst.BaseExpression
    way: str


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for what is minimised, and one for each place that is fed or read."""
    if plan.options.mode != "pserver":
        return
    static = static_of(plan)
    if static is None or not static.minimizes:
        yield refusal(
            plan,
            None,
            "parameter servers train static graphs alone, and there is none here",
            "leave out --mode: gradients are averaged by collectives",
        )
        return
    plan.helpers.update(SERVER_HELPERS)
    event, _ = static.minimizes[0]
    claims = tuple(
        each.node
        for each in (
            *(event for event, _ in static.minimizes),
            *(run.event for run in static.training),
            *static.whole,
        )
    )
    if shared_already(plan):
        yield Ruling.done("PD931", event, "the script trains with other processes", claims=claims)
        return
    parts: list[tuple[Event, Part]] = []
    why = obstacle(plan, static, parts)
    if why:
        place, reason, advice = why
        yield refusal(plan, place, reason, advice)
        return
    yield from trained(plan, static, parts, claims)


def refusal(plan: Plan, event: Event | None, reason: str, advice: str) -> Ruling:
    """The refusal of a script that cannot be trained with servers."""
    module = event.module if event is not None else plan.entry
    node = event.node if event is not None else plan.entry.source.tree
    return Ruling.refuse("PD932", (module, node), reason, advice)


def obstacle(
    plan: Plan, static: Static, parts: list[tuple[Event, Part]]
) -> tuple[Event, str, str] | None:
    """Where and why a static graph cannot be trained with servers; fills what is taken in parts."""
    by_hand = "leave out --mode: gradients of static graphs are averaged within the graph"
    event, _ = static.minimizes[0]
    found = unminimised(plan, static)
    if found:
        return (*found, by_hand)
    if sharing_of(plan) is Sharing.NEEDED:
        reason = "random numbers that are not seeded decide something that all processes must share"
        return static.enabled, reason, "seed NumPy and paddle before they are drawn"
    preparations = [each for each in once_of(plan).preparations if not each.why_not]
    if preparations:
        effect = preparations[0].effects[0]
        return effect.events[0], f"something is prepared here first; {WAITING}", "run it beforehand"
    for answer in wait_before_reading.decide(plan, VOCABULARY):
        if isinstance(answer, Ruling) and answer.verdict is Verdict.APPLY:
            reason = f"a file is read back that one process writes; {WAITING}"
            return event, reason, "read it in a script of its own"
    for run in static.training:
        why = unfed(plan, static, run)
        if not why and run.loaders:
            why = "a loader's batches are fed, which nothing shards among trainers of servers"
        if why:
            return run.event, why, by_hand
        assert run.feed is not None and isinstance(run.feed.node, cst.BaseExpression)
        parts.append((run.event, Part(run.feed.node, "feed")))
    for whole in static.whole:
        why = unread(plan, whole, parts)
        if why:
            return whole, why, by_hand
    if not static.training and not static.whole:
        return event, "no run of an executor is seen that trains what is minimised", by_hand
    return None


def unread(plan: Plan, whole: Event, parts: list[tuple[Event, Part]]) -> str:
    """Why the data set of a call cannot be read in parts; empty where it can, filling the parts."""
    given = whole.arguments.get("dataset", 1)
    if given is None or not given.values:
        return "it is not seen which data set is trained on"
    if not all(DATA_SETS & set(called_names(value)) for value in given.values):
        return "the data set is neither a QueueDataset nor an InMemoryDataset of the script"
    wanted = {id(value) for value in given.values}
    ways: set[str] = set()
    for event in plan.facts.reached_calls:
        if executed(event) in EXCHANGING:
            return "infer_from_dataset runs the program that the servers' trainers run"
        for method, receivers in called_methods(event):
            if not any(id(value) in wanted for value in receivers):
                continue
            if method in EXCHANGING:
                return "global_shuffle exchanges samples between trainers, which need gloo for it"
            argument, way = read_in_parts(event, method)
            if not way:
                continue
            if argument is None or not isinstance(argument.node, cst.BaseExpression):
                return f"what {method} is given has no place in the text"
            if way == "batch" and plan.options.batch_size == "per-device":
                ways.add(way)
                continue
            ways.add(way)
            parts.append((event, Part(argument.node, way)))
    if ways != {"files", "batch"}:
        return "the files or the batch size of the data set are not seen"
    for name, position in (("fetch_list", 5), ("fetch_info", 6)):
        fetched = whole.arguments.get(name, position)
        if fetched is not None and fetched.values != (Constant(None),):
            if not isinstance(fetched.node, cst.BaseExpression):
                return "what is fetched has no place in the text"
            parts.append((whole, Part(fetched.node, "fetch")))
    return ""


def called_methods(event: Event) -> Iterator[tuple[str, Values]]:
    """Each method that a call may call, with what it is called on."""
    for callee in event.callee:
        if isinstance(callee, Opaque) and callee.kind == "attribute":
            yield callee.name, callee.operands[0]
    for value in event.result:
        if isinstance(value, Opaque) and value.node is event.node:
            yield from method_calls(value)


def read_in_parts(event: Event, method: str) -> tuple[Argument | None, str]:
    """What a method of a data set is given that each trainer takes its part of, and how."""
    if method == "set_filelist":
        return event.arguments.get("filelist", 0), "files"
    if method in ("init", "update_settings"):
        size = event.arguments.keyword("batch_size")
        return size, "batch" if size is not None else ""
    return None, ""


def trained(
    plan: Plan,
    static: Static,
    parts: list[tuple[Event, Part]],
    claims: tuple[cst.CSTNode, ...],
) -> Iterator[Answer]:
    """The answers about a graph that can be trained with servers."""
    event, _ = static.minimizes[0]
    call = event.node
    assert isinstance(call, cst.Call)
    quantity = analysis(plan).of(plan.facts.values_of(call.args[0].value))
    summed = call.args[0].value if quantity.is_sum else None
    if not (quantity.is_sum or quantity.is_mean):
        yield remark(
            event,
            "PD925",
            "the changes of the trainers may add up to something else than those of the whole "
            f"batch: {quantity.reason or 'it is not seen how the samples become one number'}",
            "compare a run with one process",
        )
    yield remark(
        event,
        "PD934",
        "trainers exchange the changes of each step without waiting for each other, since the "
        "servers of Paddle 2.6, the last version with any, crash where they wait: results differ "
        "from those of one process and from run to run, and what is fetched and saved is the first "
        "trainer's",
        "compare the accuracy with that of one process; Paddle 3 has no parameter servers",
    )
    yield Ruling.apply(
        "PD931", event, "the parameters are exchanged through servers", data=summed, claims=claims
    )
    first = beginning(static)
    yield Ruling.apply(
        "PD931",
        (first[0].module, first[1]),
        "every trainer begins with the parameters of the first",
        data="begin",
    )
    seen: set[int] = set()
    for place, part in parts:
        if id(part.node) not in seen:
            seen.add(id(part.node))
            yield Ruling.apply(
                "PD933", (place.module, part.node), "each trainer takes its part", data=part
            )
    if static.training:
        yield from noise(plan, static)


def beginning(static: Static) -> tuple[Event, Statement]:
    """The first statement that trains: the outermost loop around it, or itself."""
    event = static.training[0].event if static.training else static.whole[0]
    loops = [frame for frame in event.stack if isinstance(frame, Loop)]
    for frame in loops:
        if frame.module is event.module and isinstance(frame.node, Statement):
            return event, frame.node
    statement = insertion_place(event.module, event.node)
    assert statement is not None
    return event, statement


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The optimizer on the servers, the beginning of training, and what is taken in parts."""
    module, node, data = ruling.module, ruling.node, ruling.data
    source, names = module.source, plan.names_in(module)
    if data == "begin":
        yield Helper("begin_with_servers", module)
        lines = [f"{names.fresh('begin_with_servers')}()"]
        assert isinstance(node, Statement)
        for edit in insert_before(source, node, lines, order=-4):
            yield In(module, edit)
    elif isinstance(data, Part):
        if data.way == "fetch":
            yield Helper("is_main_process", module)
            before, after = "", f" if {names.fresh('is_main_process')}() else None"
        else:
            helper = {"feed": "shard_feed", "files": "share_files", "batch": "split_batch"}[
                data.way
            ]
            yield Helper(helper, module)
            before, after = f"{names.fresh(helper)}(", ")"
        for edit in wrap_expression(source, data.node, before, after):
            yield In(module, edit)
    else:
        assert isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute)
        first = node.args[0].value
        if isinstance(data, cst.BaseExpression):
            dist = names.imported("paddle.distributed", "dist")
            before, after = "", f" * {dist}.get_world_size()"
            if isinstance(first, (cst.BinaryOperation, cst.IfExp)) and not first.lpar:
                before, after = "(", f"){after}"
            for edit in surround(module, first, before, after):
                yield In(module, edit)
        yield Helper("minimize_on_servers", module)
        start = source.span(node).start
        yield In(module, Insert(start, f"{names.fresh('minimize_on_servers')}("))
        between = Span(source.span(node.func.value).end, source.span(first).start)
        yield In(module, Replace(between, ", "))
