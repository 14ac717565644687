"""What becomes of checkpoints that are loaded."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.module import Module
from transpile.facts.walk import descendants
from transpile.plan.flow.places import function_of


def only_fills_models(module: Module, node: cst.Call) -> bool:
    """Whether what is loaded goes straight into ``load_state_dict``, which copies it."""
    parent = module.source.parent(node)
    if isinstance(parent, cst.Arg):
        return fills(module, parent)
    if not isinstance(parent, cst.Assign) or len(parent.targets) != 1:
        return False
    target = parent.targets[0].target
    if not isinstance(target, cst.Name):
        return False
    owner: cst.CSTNode = function_of(module, node) or module.source.tree
    used = [
        other
        for other in descendants(owner)
        if isinstance(other, cst.Name) and other.value == target.value and other is not target
    ]
    return bool(used) and all(
        any(isinstance(outer, cst.Arg) and fills(module, outer) for outer in expression(module, n))
        for n in used
    )


def expression(module: Module, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """What a name stands in, as long as it is items of it that are taken."""
    for outer in module.source.parents(node):
        yield outer
        if not isinstance(outer, (cst.Subscript, cst.Arg)):
            return


def fills(module: Module, argument: cst.Arg) -> bool:
    """Whether an argument is the first of ``load_state_dict``."""
    call = module.source.parent(argument)
    return (
        isinstance(call, cst.Call)
        and isinstance(call.func, cst.Attribute)
        and call.func.attr.value == "load_state_dict"
        and call.args[0] is argument
    )
