"""Scripts that have a path for several processes, and take it where they are given a DistOpt.

The examples of SINGA ask the optimizer whether it has a ``communicator``. Then they part the data
by ``global_rank`` and ``world_size``, which their function is given, and add up what they print.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.module import Module
from transpile.facts.values import Argument, BoundMethod, Function, Values
from transpile.facts.walk import descendants
from transpile.plan.model import Plan
from transpile.plan.query import query
from transpile.records import dataclass, field
from transpile.rules.singa._roles import constant_of, is_optimizer, names_of

ASKING = frozenset({"builtins.hasattr", "builtins.getattr"})
#: Parameters that are given what a DistOpt knows, to what one process has.
RANKS = ("global_rank", "world_size", "local_rank")


@dataclass(frozen=True, eq=False)
class OwnPath:
    """The path for several processes that a script has.

    Args:
        module: where the function is called.
        call: the call, which is given what one process has.
        function: the function that asks for a communicator.
        optimizer: the argument that is the optimizer.
        ranks: the arguments by the names of :data:`RANKS`; None where one is left out.
        why_not: why the path cannot be taken; empty where it can.
        asked: the question for the communicator.
    """

    asked: Event
    module: Module
    call: cst.Call | None = None
    function: Function | None = None
    optimizer: cst.BaseExpression | None = None
    ranks: dict[str, Argument | None] = field(default_factory=dict)
    why_not: str = ""


@query
def own_path(plan: Plan) -> OwnPath | None:
    """The path for several processes that a script has; None where it has none."""
    return next(find_own_path(plan), None)


def find_own_path(plan: Plan) -> Iterator[OwnPath]:
    """See :func:`own_path`."""
    for asked in plan.facts.reached_calls:
        name = asked.arguments.get("name", 1)
        owner = asked.arguments.get("obj", 0)
        if not ASKING.intersection(names_of(asked)) or name is None or owner is None:
            continue
        if constant_of(name.values) != "communicator":
            continue
        if not any(is_optimizer(plan, value) for value in owner.values):
            continue
        yield entered(plan, asked)


def entered(plan: Plan, asked: Event) -> OwnPath:
    """How the function is entered that asks for a communicator."""
    sites = {id(frame.node): frame for frame in asked.calls()}
    for event in reversed(plan.facts.reached_calls):
        frame = sites.get(id(event.node))
        if frame is None or not isinstance(event.node, cst.Call):
            continue
        for callee in event.callee:
            function = callee.function if isinstance(callee, BoundMethod) else callee
            if function is not frame.function or not isinstance(function, Function):
                continue
            names = parameter_names(function)
            if not {"global_rank", "world_size"} <= set(names):
                continue
            places = {name: names.index(name) for name in RANKS if name in names}
            ranks = {name: event.arguments.get(name, at) for name, at in places.items()}
            optimizer = next(
                (
                    item.node
                    for item in event.arguments.items
                    if any(is_optimizer(plan, value) for value in item.values)
                    and isinstance(item.node, cst.BaseExpression)
                ),
                None,
            )
            why = obstacle(ranks, optimizer, event)
            return OwnPath(asked, event.module, event.node, function, optimizer, ranks, why)
    return OwnPath(
        asked, asked.module, why_not="no function around it is given global_rank and world_size"
    )


def obstacle(
    ranks: dict[str, Argument | None], optimizer: cst.BaseExpression | None, event: Event
) -> str:
    """Why the call cannot be given what a DistOpt knows; empty where it can."""
    if event.arguments.unknown_because:
        return f"the arguments of the call are unclear: {event.arguments.unknown_because}"
    if not isinstance(optimizer, cst.Name):
        return "the optimizer has no name where the function is called"
    for name, argument in ranks.items():
        alone = {"global_rank": 0, "world_size": 1}.get(name)
        if argument is None:
            continue
        if not isinstance(argument.node, cst.BaseExpression):
            return f"{name} comes through an unpacked mapping"
        if alone is not None and constant_of(argument.values) != alone:
            return f"{name} is not {alone} where the function is called"
    return ""


def parameter_names(function: Function) -> list[str]:
    """The parameters of a function, without the receiver of a method."""
    if not isinstance(function.node, cst.FunctionDef):
        return []
    params = function.node.params
    names = [param.name.value for param in (*params.posonly_params, *params.params)]
    if function.owner is not None and names[:1] in (["self"], ["cls"]):
        names = names[1:]
    return names + [param.name.value for param in params.kwonly_params]


def given_on(plan: Plan, path: OwnPath, wanted: Values) -> Argument | None:
    """The argument of the call that is the same as a value inside the function."""
    for event in plan.facts.reached_calls:
        if event.node is path.call:
            for item in event.arguments.items:
                if item.values == wanted and isinstance(item.node, cst.BaseExpression):
                    found: Argument = item
                    return found
    return None


def asks_for_rank(plan: Plan, module: Module, node: cst.CSTNode) -> bool:
    """Whether a place stands under a test of the rank that the function is given."""
    path = own_path(plan)
    if path is None or path.function is None or module is not path.function.module:
        return False
    for parent in module.source.parents(node):
        if isinstance(parent, cst.If) and any(
            isinstance(inner, cst.Name) and inner.value == "global_rank"
            for inner in descendants(parent.test)
        ):
            return True
    return False
