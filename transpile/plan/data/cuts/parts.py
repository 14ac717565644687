"""How positions of samples are written: indices, bounds of slices, numbers of draws."""

from __future__ import annotations

import libcst as cst

from transpile.facts.events import Event, Loop
from transpile.facts.module import Module
from transpile.facts.values import Instance, Opaque, Value, Values
from transpile.facts.walk import descendants
from transpile.plan.graph import called_names, is_instance_of, method_calls
from transpile.plan.model import Plan
from transpile.plan.table import Table

#: What lays the parts of a list side by side along the first dimension.
LAID = frozenset({"stack", "tensor", "array", "asarray", "LongTensor", "FloatTensor", "as_tensor"})
#: What gives the same numbers in the same order.
SAME_ORDER = LAID | frozenset(
    {
        "list", "tuple", "to", "cuda", "cpu", "long", "int", "tolist", "numpy", "from_numpy",
        "clone", "copy", "detach", "flatten", "view", "reshape", "astype", "contiguous",
    }
)  # fmt: skip


def index_values(plan: Plan, value: Opaque, node: cst.Subscript) -> Values:
    """The index of an item along its first dimension, or the bounds of its slices."""
    found = list(value.index)
    for place, element in enumerate(node.slice if not found else ()):
        if place and isinstance(element.slice, cst.Index):
            continue
        part = element.slice
        if isinstance(part, cst.Index):
            found.extend(plan.facts.values_of(part.value))
        elif isinstance(part, cst.Slice):
            for bound in (part.lower, part.upper, part.step):
                if bound is not None:
                    found.extend(plan.facts.values_of(bound))
    return tuple(found)


def later_indices(plan: Plan, node: cst.Subscript) -> list[Values]:
    """The indices of an item along the dimensions behind the first."""
    return [
        plan.facts.values_of(element.slice.value)
        for element in node.slice[1:]
        if isinstance(element.slice, cst.Index)
    ]


def drawn_size(table: Table, node: cst.Call, names: tuple[str, ...]) -> cst.BaseExpression | None:
    """How many positions a call draws; None where it is one, or not to be seen."""
    for arg in node.args:
        if arg.keyword is not None and arg.keyword.value in ("size", "k"):
            return single(arg.value)
    plain = [arg.value for arg in node.args if arg.keyword is None]
    if not table.shaped_draws.isdisjoint(names):
        found = [value for value in plain if isinstance(value, (cst.Tuple, cst.List))]
        return single(found[0]) if len(found) == 1 else None
    if any(name in ("random.sample", "numpy.random.choice") for name in names):
        return single(plain[1]) if len(plain) > 1 else None
    if any(name == "numpy.random.randint" for name in names):
        return single(plain[2]) if len(plain) > 2 else None
    return None


def single(node: cst.BaseExpression) -> cst.BaseExpression | None:
    """The one number of a shape."""
    if isinstance(node, (cst.Tuple, cst.List)):
        return node.elements[0].value if len(node.elements) == 1 else None
    return node


def module_of(plan: Plan, node: cst.CSTNode) -> Module:
    """The module that a node stands in."""
    for module in plan.facts.modules.values():
        if id(node) in module.source.places.around:
            return module
    return plan.entry


def is_order(value: Value) -> bool:
    """Whether a value may be what it is made of in the same order, or in that of an index.

    What is computed of samples that were drawn, such as their losses, is none: the first of these
    are not the first that were drawn.
    """
    if not isinstance(value, Opaque) or value.kind != "call":
        return not isinstance(value, Instance)
    names = [*called_names(value), *(name for name, _ in method_calls(value))]
    return any(name.rpartition(".")[2] in SAME_ORDER for name in names)


def in_module(event: Event, module_bases: frozenset[str]) -> bool:
    """Whether something happens in the code of a model, which draws no batches."""
    return any(
        is_instance_of(value, module_bases) for frame in event.calls() for value in frame.receiver
    )


def is_drawn_ahead(plan: Plan, event: Event, loops: list[Loop]) -> bool:
    """Whether a call draws before the loops what the same code draws in each round of the last.

    The first batch of a script that draws the next one while it computes.
    """
    if in_module(event, plan.table.module_bases) or event.function() is None:
        return False
    return bool(loops) and any(
        other.node is event.node and any(loop.node is loops[-1].node for loop in other.loops())
        for other in plan.facts.calls
    )


def is_told_apart(module: Module, node: cst.Call) -> bool:
    """Whether each of what a call gives gets a name of its own: ``i, j = sample(rows, 2)``."""
    statement = module.source.parent(node)
    return isinstance(statement, cst.Assign) and any(
        isinstance(target.target, (cst.Tuple, cst.List)) for target in statement.targets
    )


def is_repeated(event: Event | None, loops: list[Loop]) -> bool:
    """Whether each round of the innermost loop draws in a loop of its own, sample by sample."""
    frames = [frame for frame in event.stack if isinstance(frame, Loop)] if event else []
    places = [id(frame.node) for frame in frames]
    innermost = id(loops[-1].node)
    inner = frames[places.index(innermost) + 1 :] if innermost in places else []
    return any(not hands_on(frame.node) for frame in inner)


def hands_on(loop: cst.CSTNode) -> bool:
    """Whether the rounds of a loop are those of who asks for them: it yields."""
    return any(isinstance(node, cst.Yield) for node in descendants(loop))
