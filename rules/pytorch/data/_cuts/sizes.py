"""How large the batches are that a script cuts out of its data, and what else that shapes."""

from __future__ import annotations

import libcst as cst

from transpile.facts.module import Module
from transpile.facts.values import Argument, Constant
from transpile.plan.data.batch_size.reads import read_at, shapes
from transpile.plan.data.batch_size.uses import all_uses
from transpile.plan.data.cuts.bounds import same
from transpile.plan.data.sources import is_simple
from transpile.plan.effects.treatment import descendants
from transpile.plan.flow.places import function_of
from transpile.plan.graph import walk_back
from transpile.plan.model import Backward, Cut, Plan
from transpile.plan.models.holders import bindings, parameters


def size_text(plan: Plan, cut: Cut, module: Module, place: cst.CSTNode) -> str | None:
    """The size of a batch as it can be written at a place; None where it cannot."""
    alike = [
        other
        for backward in plan.backwards
        for other in backward.cuts
        if cut.bounds is not None and cut.bounds.same_as(other.bounds)
    ]
    for other in (cut, *alike):
        node = other.size
        if node is None or other.module is not module or not is_simple(node):
            continue
        function = function_of(module, place)
        if function_of(module, node) is not function and bound_in(module, root_of(node), function):
            continue
        text: str = module.source.code(node)
        if function_of(module, node) is function or is_global(module, node):
            return text
    return None


def root_of(node: cst.BaseExpression) -> str:
    """The name that an expression of attributes begins with."""
    while isinstance(node, (cst.Attribute, cst.Subscript)):
        node = node.value
    return node.value if isinstance(node, cst.Name) else ""


def bound_in(module: Module, name: str, function: cst.FunctionDef | None) -> bool:
    """Whether a function around a place binds a name itself."""
    while function is not None:
        if name in bindings(function) or name in parameters(function):
            return True
        function = function_of(module, function)
    return False


def is_global(module: Module, node: cst.BaseExpression) -> bool:
    """Whether an expression is a number, or begins with a name of the module."""
    name = root_of(node)
    return not name or not bound_in(module, name, function_of(module, node))


def argument_text(cut: Cut, module: Module, call: cst.Call) -> str | None:
    """The size of a batch as the call of the function that cuts it out gives it."""
    function = function_of(cut.module, cut.node)
    if function is None or not isinstance(cut.size, cst.Name):
        return None
    name, order = cut.size.value, parameters(function)
    if name not in order or name in bindings(function):
        return None
    for arg in call.args:
        if arg.keyword is not None and arg.keyword.value == name:
            return text_of(module, arg.value)
    plain = [arg for arg in call.args if arg.keyword is None]
    position = order.index(name)
    if any(arg.star for arg in call.args) or position >= len(plain):
        return None
    return text_of(module, plain[position].value)


def text_of(module: Module, node: cst.BaseExpression) -> str | None:
    """A name, attribute or number as it is written; None for anything else."""
    if not is_simple(node):
        return None
    text: str = module.source.code(node)
    return text


def other_sizes(
    plan: Plan, backward: Backward
) -> tuple[tuple[Module, cst.BaseExpression], ...] | str:
    """Where the size of a batch shapes something else in the step, or why that is not clear."""
    sizes = [
        (plan.facts.values_of(cut.size), cut.module.source.code(cut.size))
        for cut in backward.cuts
        if cut.size is not None and cut.streams is None and not cut.fresh
    ]
    cut_out = {id(cut.node) for cut in backward.cuts}
    reached = {id(value) for value in walk_back(backward.loss)}
    found: dict[int, tuple[Module, cst.BaseExpression]] = {}
    for cut in backward.cuts:
        if cut.size is None or not (cut.fresh or cut.streams is not None):
            continue
        streams = () if cut.fresh else tuple(cut.values)
        before = frozenset(id(value) for value in walk_back(streams))
        uses = list(all_uses(plan, Argument(cut.sizes, cut.size), set(), before))
        if cut.fresh and not cut.done and not uses:
            return "where the size of the batches comes from that each step makes up is not known"
        for each in uses:
            if not each.obstacle:
                found[id(each.node)] = (each.module, each.node)
        obstacles = [written_again(plan, cut, set(found), reached)]
        obstacles += [each.obstacle for each in uses]
        for obstacle in obstacles:
            if obstacle:
                return obstacle
    for event in plan.facts.calls:
        if not isinstance(event.node, cst.Call):
            continue
        if id(event.node) in cut_out or not shapes(plan, event.callee):
            continue
        if not any(id(value) in reached for value in event.result):
            continue
        for arg in event.node.args:
            for node in descendants(arg.value, (cst.Name, cst.Attribute)):
                assert isinstance(node, cst.BaseExpression)
                values = plan.facts.values_of(node)
                for size, text in sizes:
                    if not same(values, size):
                        continue
                    use = read_at(plan, event, node)
                    module, place = use.module, use.node
                    why: str = use.obstacle
                    if why:
                        return why
                    written = module.source.code(place)
                    if isinstance(values[0], Constant) and written != text:
                        return (
                            f"'{written}' has the value of the batch size and shapes something in "
                            "the step: whether it must follow the share of a process is not known"
                        )
                    found[id(place)] = (module, place)
    return tuple(found.values())


def written_again(plan: Plan, cut: Cut, followed: set[int], reached: set[int]) -> str:
    """Why a number may be how many streams there are, though nothing connects it with them.

    Args:
        plan: the plan.
        cut: the streams.
        followed: the expressions that follow their number already.
        reached: what the loss is made of.
    """
    if cut.streams is None or not all(isinstance(size, Constant) for size in cut.sizes):
        return ""
    before = {id(value) for value in walk_back(tuple(cut.values))}
    for event in plan.facts.calls:
        if not isinstance(event.node, cst.Call) or not shapes(plan, event.callee):
            continue
        if not any(id(value) in reached and id(value) not in before for value in event.result):
            continue
        for arg in event.node.args:
            if not isinstance(arg.value, (cst.Integer, cst.Name)) or id(arg.value) in followed:
                continue
            read = read_at(plan, event, arg.value).node
            if id(read) in followed:
                continue
            # A parameter is what this call of the function gives it, whatever others do.
            here = [item.values for item in event.arguments.items if item.node is arg.value]
            if any(same(each, cut.sizes) for each in (plan.facts.values_of(arg.value), *here)):
                written = event.module.source.code(arg.value)
                return (
                    f"'{written}' is the number of streams and shapes something in the step: "
                    "whether it must follow the share of a process is not known"
                )
    return ""
