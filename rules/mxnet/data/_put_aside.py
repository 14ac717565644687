"""Arguments that a class of the script keeps as an attribute and makes no other use of."""

from __future__ import annotations

from collections.abc import Set

import libcst as cst

from transpile.facts.values import Class, Function, Instance
from transpile.facts.walk import descendants
from transpile.plan.model import Plan


def is_put_aside(
    plan: Plan, made: Instance, call: cst.Call, argument: cst.Arg, followed: Set[int]
) -> bool:
    """Whether the initialiser only stores an argument, under names that nothing else reads.

    Args:
        plan: the plan.
        made: the object.
        call: the call that makes it.
        argument: one of its arguments.
        followed: the identities of the reads that become this worker's share.
    """
    initialiser = initialiser_of(made)
    if initialiser is None or argument.star:
        return False
    name = parameter_of(initialiser, call, argument)
    if not name:
        return False
    kept: set[str] = set()
    stored: set[int] = set()
    for node in descendants(initialiser.body):
        if isinstance(node, cst.Attribute):
            stored.add(id(node.attr))
        elif isinstance(node, cst.Arg) and node.keyword is not None:
            stored.add(id(node.keyword))
        elif isinstance(node, cst.Assign) and isinstance(node.value, cst.Name):
            targets = [each.target for each in node.targets]
            if node.value.value == name and all(isinstance(t, cst.Attribute) for t in targets):
                kept.update(t.attr.value for t in targets if isinstance(t, cst.Attribute))
                stored.add(id(node.value))
    for node in descendants(initialiser.body):
        if isinstance(node, cst.Name) and node.value == name and id(node) not in stored:
            return False
    return bool(kept) and not reads(plan, kept, followed)


def initialiser_of(made: Instance) -> cst.FunctionDef | None:
    """The ``__init__`` that making an object of a class of the script runs."""
    for cls in made.cls.ancestry():
        held = cls.scope.names.get("__init__", ()) if isinstance(cls, Class) else ()
        for value in held:
            if isinstance(value, Function) and isinstance(value.node, cst.FunctionDef):
                return value.node
    return None


def parameter_of(function: cst.FunctionDef, call: cst.Call, argument: cst.Arg) -> str:
    """The parameter of an initialiser that takes an argument; empty where that is not told."""
    names = [each.name.value for each in function.params.params[1:]]
    if argument.keyword is not None:
        keyword = argument.keyword.value
        others = [each.name.value for each in function.params.kwonly_params]
        return keyword if keyword in (*names, *others) else ""
    place = next(i for i, each in enumerate(call.args) if each is argument)
    before = call.args[:place]
    told = place < len(names) and not any(each.star or each.keyword for each in before)
    return names[place] if told else ""


def reads(plan: Plan, attributes: set[str], followed: Set[int]) -> bool:
    """Whether the project reads an attribute of one of some names, at other places than some."""
    for module in plan.facts.modules.values():
        written = {
            id(target.target)
            for node in module.source.nodes_of(cst.Assign)
            for target in node.targets
        }
        for node in module.source.nodes_of(cst.Attribute):
            if node.attr.value in attributes and id(node) not in written | followed:
                return True
    return False
