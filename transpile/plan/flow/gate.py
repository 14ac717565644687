"""Whether a script is for conversion at all: distributed already, or not training."""

from __future__ import annotations

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.values import Class, External, Function, Instance, Opaque, Values
from transpile.facts.walk import descendants
from transpile.plan.data.data_gradients import of_data_alone
from transpile.plan.graph import called_names, walk_back
from transpile.plan.model import Plan
from transpile.plan.query import query


def distributed_already(plan: Plan) -> str:
    """How a script is distributed already; empty where it is not.

    A reachable initialisation plus what makes use of it counts; an import alone, or a helper that
    asks whether a process group exists, does not.
    """
    table = plan.table
    initialised = ""
    used = ""
    # The names, and the classes by their identity, that have been asked.
    asked: set[str | int] = set()
    for event in plan.facts.events:
        if event.kind not in ("call", "import") or event.detached:
            continue
        names = [callee.name for callee in event.callee if isinstance(callee, External)]
        if event.kind == "call":
            for name in names:
                if name in asked:
                    continue
                asked.add(name)
                if name in table.distributed_starts:
                    initialised = initialised or name
                if name in table.distributed_uses:
                    used = used or name
                if table.engine_of(name):
                    return f"it is distributed by {table.engine_of(name)} ({name})"
            for value in event.result:
                if isinstance(value, Instance) and id(value.cls) not in asked:
                    asked.add(id(value.cls))
                    for base in value.cls.external_bases():
                        if table.engine_of(base):
                            return f"it is distributed by {table.engine_of(base)} ({base})"
    if initialised and used:
        return f"it initialises a process group ({initialised}) and uses it ({used})"
    return table.distributed(plan) if table.distributed is not None else ""


def trains(plan: Plan) -> bool:
    """Whether a backward pass, or something that trains unseen, is reached from the script."""
    if any(not backward.event.detached for backward in plan.backwards):
        return True
    if any(not step.detached for optimizer in plan.optimizers for step in optimizer.steps):
        return True
    if hidden_training(plan) or hand_written(plan):
        return True
    return plan.table.trains is not None and plan.table.trains(plan)


def hidden_training(plan: Plan) -> list[Opaque]:
    """Calls out of the project that are given an optimizer or a model together with a loader."""
    loaders = {id(loader.value) for loader in plan.loaders}
    optimizers = {id(optimizer.value) for optimizer in plan.optimizers}
    found: list[Opaque] = []
    if plan.backwards:
        return found
    for event in plan.facts.reached_calls:
        given = {id(value) for argument in event.arguments.items for value in argument.values}
        if (given & loaders and given & optimizers) or (
            given & optimizers and not harmless_with_optimizer(event.callee)
        ):
            for value in event.result:
                if isinstance(value, Opaque) and value.kind == "call" and value not in found:
                    found.append(value)
    return found


def unfollowed_training(plan: Plan) -> Event | None:
    """A call of a method that holds a backward pass, of something made of an object that has it.

    Such as the element of a container of a library, of which it is not known what it hands out, or
    what comes of a module whose name is computed.
    """
    for event in plan.facts.reached_calls:
        for callee in event.callee:
            if not isinstance(callee, Opaque) or callee.kind != "attribute":
                continue
            for value in walk_back(callee.operands[0]):
                if isinstance(value, Instance) and trains_in(value, callee.name):
                    return event
                if is_imported_by_name(value) and may_train(event, callee):
                    return event
    return None


#: Functions that give a module by its name.
IMPORTING = frozenset({"importlib.import_module", "builtins.__import__"})
#: Methods of models, settings and the like that train nothing.
QUIET = frozenset(
    {
        "add_argument", "append", "close", "cpu", "cuda", "double", "eval", "extend", "flush",
        "float", "half", "load_state_dict", "parse_args", "requires_grad_", "save", "seed",
        "setup", "share_memory", "to", "train", "update", "write", "zero_grad",
    }
)  # fmt: skip


def is_imported_by_name(value: object) -> bool:
    """Whether a value is a module that comes by a name, and was not found by it."""
    return isinstance(value, Opaque) and not IMPORTING.isdisjoint(called_names(value))


def may_train(event: Event, method: Opaque) -> bool:
    """Whether a call is there for what it does, and may be one that trains."""
    alone = isinstance(event.module.source.parent(event.node), cst.Expr)
    return alone and method.name not in QUIET


def trains_in(value: Instance, name: str) -> bool:
    """Whether a method of an object's class goes back through a loss."""
    for cls in value.cls.ancestry():
        for method in cls.scope.names.get(name, ()) if isinstance(cls, Class) else ():
            if isinstance(method, Function):
                return any(
                    isinstance(part, cst.Call)
                    and isinstance(part.func, cst.Attribute)
                    and part.func.attr.value == "backward"
                    for part in descendants(method.node)
                )
    return False


def harmless_with_optimizer(callees: object) -> bool:
    """Whether a call only schedules or stores what it is given."""
    words = ("lr_scheduler", "Scheduler", "LR", "save", "load", "print", "GradScaler", "append")
    for callee in callees:  # type: ignore[attr-defined]
        name = callee.name if isinstance(callee, (External, Opaque)) else ""
        if not any(word in name for word in words):
            return False
    return True


@query
def hand_written(plan: Plan) -> list[Opaque]:
    """Gradients taken by function instead of a backward pass, but for those of data alone."""
    functions = plan.table.gradient_functions
    found: list[Opaque] = []
    for event in plan.facts.reached_calls:
        for value in event.result:
            if isinstance(value, Opaque) and any(n in functions for n in called_names(value)):
                if not of_data_alone(value, plan):
                    found.append(value)
    return found


def depends_on_calls(values: Values, names: frozenset[str]) -> bool:
    """Whether values come from a call of one of the external names."""
    return any(name in names for value in walk_back(values) for name in called_names(value))
