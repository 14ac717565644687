"""Where the process really starts: the scope that loads data, builds the model and trains."""

from __future__ import annotations

import libcst as cst

from transpile.facts.events import Call, Event, Loop
from transpile.facts.module import Module
from transpile.facts.values import External, Instance, Opaque
from transpile.plan.flow.places import Statement, calls_of, site_at, statement_in, statement_of
from transpile.plan.model import Plan
from transpile.plan.query import query
from transpile.records import dataclass

PARSERS = frozenset({"parse_args", "parse_known_args", "parse_intermixed_args"})


@dataclass(frozen=True, eq=False)
class Start:
    """The scope in which training is set up.

    Args:
        module: where it is.
        function: the function; None for the module's own code.
        block: the block of statements.
        depth: project calls that lead there.
        first: the first statement of the block that has to do with training.
        last: the last one.
        parsed: the last statement before `first` that parses the command line.
        entered: the call that enters the function, if it is one.
    """

    module: Module
    function: cst.FunctionDef | None
    block: cst.CSTNode
    depth: int
    first: Statement
    last: Statement
    parsed: Statement | None
    entered: Statement | None


def training_events(plan: Plan) -> list[Event]:
    """The events of the training itself: what makes its parts, and its steps."""
    found = [loader.event for loader in plan.training_loaders]
    found.extend(optimizer.event for optimizer in plan.optimizers)
    found.extend(backward.event for backward in plan.backwards)
    made = {
        id(model.value.node)
        for model in plan.trained_models
        if isinstance(model.value, (Instance, Opaque))
    }
    made |= {
        id(one.node) for each in plan.optimizers for one in each.tensors if isinstance(one, Opaque)
    }
    found.extend(event for event in plan.facts.calls if id(event.node) in made)
    if plan.table.sites is not None:
        own = {id(node) for _, _, node in plan.table.sites(plan)}
        found.extend(event for event in plan.facts.events if id(event.node) in own)
    return [event for event in found if not event.detached]


def relevant(plan: Plan) -> list[Event]:
    """The events that need the process group."""
    found = training_events(plan)
    if found and plan.table.early is not None:
        found.extend(event for event in plan.table.early(plan) if not event.detached)
    return found


@query
def find_start(plan: Plan) -> Start | None:
    """The innermost scope of the entry that holds everything relevant; None without any."""
    return _find_start(plan)


def _find_start(plan: Plan) -> Start | None:
    events = relevant(plan)
    if not events:
        return None
    depth = 0
    function: cst.FunctionDef | None = None
    block: cst.CSTNode = plan.entry.source.tree
    entered: Statement | None = None
    while True:
        found = statements(plan, events, block, depth)
        if not found:
            return None
        inner = inner_block(plan, events, found, block, depth)
        if isinstance(inner, (cst.IndentedBlock,)):
            block = inner
            continue
        order = list(block.body)  # type: ignore[attr-defined]
        if inner is None or parse_statement(plan, block, depth, order.index(found[0]), order):
            # The command line is parsed here: whatever is called next knows the arguments.
            break
        frame_function, call = inner
        function, block = frame_function, frame_function.body
        entered = statement_of(plan.entry, call)
        depth += 1
    order = list(block.body)  # type: ignore[attr-defined]
    found.sort(key=order.index)
    return Start(
        plan.entry,
        function,
        block,
        depth,
        found[0],
        found[-1],
        parse_statement(plan, block, depth, order.index(found[0]), order),
        entered,
    )


def statements(plan: Plan, events: list[Event], block: cst.CSTNode, depth: int) -> list[Statement]:
    """The statements of a block in which the events happen."""
    found: list[Statement] = []
    for event in events:
        site = site_at(event, depth)
        if site is None:
            continue
        statement = statement_in(plan.entry, block, site)
        if statement is not None and statement not in found:
            found.append(statement)
    return found


def inner_block(
    plan: Plan,
    events: list[Event],
    found: list[Statement],
    block: cst.CSTNode,
    depth: int,
) -> cst.IndentedBlock | tuple[cst.FunctionDef, cst.CSTNode] | None:
    """Where to look closer: a main guard's body, or the function that one statement calls."""
    if len(found) != 1:
        return None
    statement = found[0]
    if isinstance(statement, cst.If) and is_main_guard(statement):
        body = statement.body
        return body if isinstance(body, cst.IndentedBlock) else None
    if not isinstance(statement, cst.SimpleStatementLine):
        return None
    functions: set[cst.FunctionDef] = set()
    calls: set[cst.CSTNode] = set()
    for event in events:
        frames = calls_of(event.stack)
        if len(frames) <= depth or not isinstance(frames[depth].function.node, cst.FunctionDef):
            return None
        function, call = frames[depth].function.node, frames[depth].node
        if not isinstance(function, cst.FunctionDef):
            return None
        if frames[depth].function.module is not plan.entry or call is None:
            return None
        if runs_often(plan, event, frames[depth]):
            return None
        functions.add(function)
        calls.add(call)
    if len(functions) != 1 or len(calls) != 1:
        return None
    entered = functions.pop()
    if not isinstance(entered.body, cst.IndentedBlock):
        return None
    return entered, calls.pop()


def runs_often(plan: Plan, event: Event, entered: Call) -> bool:
    """Whether a call that an event happens in may run several times: processes join once."""
    before = list(event.stack[: event.stack.index(entered)])
    while before and not isinstance(before[-1], Call):
        if isinstance(before.pop(), Loop):
            return True
    called = entered.node.func if isinstance(entered.node, cst.Call) else None
    return any(
        isinstance(value, External) and value.name.startswith("builtins.")
        for value in plan.facts.values_of(called)
    )


def is_main_guard(statement: cst.If) -> bool:
    """Whether a statement is ``if __name__ == "__main__":``."""
    test = statement.test
    return (
        isinstance(test, cst.Comparison)
        and isinstance(test.left, cst.Name)
        and test.left.value == "__name__"
    )


def parse_statement(
    plan: Plan, block: cst.CSTNode, depth: int, before: int, order: list[Statement]
) -> Statement | None:
    """The last statement before a position that parses the command line."""
    best: Statement | None = None
    for event in plan.facts.calls:
        if not parses_arguments(event):
            continue
        site = site_at(event, depth)
        statement = statement_in(plan.entry, block, site) if site is not None else None
        if statement is None or order.index(statement) >= before:
            continue
        if best is None or order.index(statement) > order.index(best):
            best = statement
    return best


def parses_arguments(event: Event) -> bool:
    """Whether a call parses the command line."""
    for callee in event.callee:
        if isinstance(callee, Opaque) and callee.kind == "attribute" and callee.name in PARSERS:
            return True
        if isinstance(callee, External) and callee.name.startswith(("tyro.cli", "fire.Fire")):
            return True
    return False
