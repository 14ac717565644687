"""Where a script uses DataParallel itself, and whether a wrap may take its place."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.module import Module
from transpile.facts.values import Value
from transpile.plan.flow.places import ancestors, function_of, start, statement_of
from transpile.plan.graph import origin
from transpile.plan.model import Plan
from transpile.plan.models.reaches import Wrapper, reaches
from transpile.plan.models.wraps import Wrap, find_wrap
from transpile.plan.query import query
from transpile.rules.pytorch import TABLE

DATA_PARALLEL = "torch.nn.DataParallel"
SAME = frozenset(
    {
        "train", "eval", "parameters", "zero_grad", "requires_grad_",
        "no_sync", "join", "module", "register_comm_hook", "buffers", "__call__", "forward",
    }
)  # fmt: skip
#: DistributedDataParallel, in whose place a script may have had DataParallel.
WRAPPER = Wrapper(
    SAME,
    harmless=(
        "torch.nn.utils.clip_grad", "torch.compile", "torch.nn.parallel.",
        DATA_PARALLEL, "torch_geometric.nn.DataParallel",
    ),
    replaces=DATA_PARALLEL,
    same_as_replaced=SAME
    | {
        "state_dict", "load_state_dict", "named_parameters", "named_buffers", "named_modules",
        "modules", "children", "named_children", "training", "to", "cuda", "cpu",
    },
    asked_for=frozenset({"module", "train", "eval", "parameters", "state_dict"}),
    writers=(
        "torch.save", "pickle.dump", "pickle.dumps", "joblib.dump", "dill.dump", "cloudpickle.dump",
    ),
)  # fmt: skip
#: Methods that give back the model that they move or change.
MOVES = TABLE.preparing_methods - {"load_state_dict"}
FUNCTIONAL = "torch.nn.parallel.data_parallel"
#: What copies a model onto several GPUs, for a script that runs the copies itself.
COPIES = ("torch.nn.parallel.replicate", "torch.nn.parallel.replicate.replicate")
#: What decides at run time whether an expression within it is evaluated, or how often.
CONDITIONAL = (
    cst.IfExp, cst.BooleanOperation, cst.Lambda, cst.ListComp, cst.DictComp, cst.GeneratorExp,
)  # fmt: skip


def data_parallel_calls(plan: Plan) -> list[Event]:
    """The calls of DataParallel, as a wrapper or as a function."""
    return plan.facts.calls_to(DATA_PARALLEL, FUNCTIONAL)


def wrapped_by_script(plan: Plan, model: Value) -> list[Event]:
    """The calls that put a model into DataParallel."""
    return [
        event
        for event in plan.facts.calls_to(DATA_PARALLEL)
        if event.arguments.items
        and any(origin(value) is model for value in event.arguments.items[0].values)
    ]


@query
def _wraps_in_place_of_data_parallel(plan: Plan) -> set[tuple[int, str]]:
    return wraps_in_place(plan)


def replaces_data_parallel(plan: Plan, wrap: Wrap) -> bool:
    """Whether the variable to wrap holds a DataParallel in any case, whose place can be taken.

    That needs a script that uses of the wrapper only what DistributedDataParallel has, too: the
    model as ``module``, and a state whose names begin with it. The models that one variable may
    hold are treated alike.
    """
    found = _wraps_in_place_of_data_parallel(plan)
    return variable(wrap) in found


def wraps_in_place(plan: Plan) -> set[tuple[int, str]]:
    """The variables for whose wraps :func:`replaces_data_parallel` holds."""
    if not data_parallel_calls(plan):
        return set()
    wraps = [find_wrap(plan, model) for model in plan.trained_models]
    found: set[tuple[int, str]] = set()
    others: set[tuple[int, str]] = set()
    for wrap in wraps:
        if isinstance(wrap, Wrap):
            fits = (
                always_holds_one(plan, wrap)
                and next(reaches(plan, wrap, WRAPPER, in_place=True), None) is None
            )
            (found if fits else others).add(variable(wrap))
    return found - others


def variable(wrap: Wrap) -> tuple[int, str]:
    """What tells the variable of a wrap from others: its scope and its text."""
    return id(wrap.function or wrap.module), wrap.text


def always_holds_one(plan: Plan, wrap: Wrap) -> bool:
    """Whether the variable of a wrap certainly holds a DataParallel where the wrap stands."""
    made = wrapped_by_script(plan, wrap.models[0].value)
    nodes = {id(event.node): event for event in made}
    if len(nodes) != 1:
        return False
    event = made[0]
    module, node = event.module, event.node
    if module is not wrap.module or function_of(module, node) is not wrap.function:
        return False
    statement = statement_of(module, node)
    small = assignment(module, node)
    if small is None or not isinstance(statement, cst.SimpleStatementLine):
        return False
    if len(small.targets) != 1 or module.source.code(small.targets[0].target) != wrap.text:
        return False
    if not is_chain(small.value, node):
        return False
    if start(module, statement) > start(module, wrap.node):
        return False
    block = module.source.parent(statement)
    if all(outer is not block for outer in ancestors(module, wrap.node)):
        return False
    return all(
        keeps(module, other, wrap.text)
        for other in assignments_between(module, wrap, start(module, statement))
        if other is not small
    )


def assignment(module: Module, node: cst.CSTNode) -> cst.Assign | None:
    """The assignment that a call stands in, where it is evaluated exactly once."""
    for outer in module.source.parents(node):
        if isinstance(outer, CONDITIONAL):
            return None
        if isinstance(outer, cst.Assign):
            return outer
        if isinstance(outer, (cst.BaseSmallStatement, cst.BaseCompoundStatement)):
            return None
    return None


def is_chain(value: cst.BaseExpression, call: cst.CSTNode) -> bool:
    """Whether an expression is a call, or a chain of methods on it that give it back."""
    current = value
    while current is not call:
        if not isinstance(current, cst.Call) or not isinstance(current.func, cst.Attribute):
            return False
        if current.func.attr.value not in MOVES:
            return False
        current = current.func.value
    return True


def assignments_between(module: Module, wrap: Wrap, first: int) -> Iterator[cst.Assign]:
    """The assignments to the variable of a wrap from an offset on."""
    for node in module.source.nodes:
        if (
            isinstance(node, cst.Assign)
            and function_of(module, node) is wrap.function
            and start(module, node) >= first
            and any(module.source.code(target.target) == wrap.text for target in node.targets)
        ):
            yield node


def keeps(module: Module, node: cst.Assign, text: str) -> bool:
    """Whether an assignment gives a variable what it held: ``model = model.to(device)``."""
    current = node.value
    while isinstance(current, cst.Call) and isinstance(current.func, cst.Attribute):
        if current.func.attr.value not in MOVES:
            return False
        current = current.func.value
    return module.source.code(current) == text
