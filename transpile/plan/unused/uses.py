"""Where the methods of a module's class make and use its attributes."""

from __future__ import annotations

import libcst as cst

from transpile.facts.values import Class, Function, Instance
from transpile.facts.walk import descendants
from transpile.records import dataclass


@dataclass(frozen=True, eq=False)
class Uses:
    """Where the methods of a module's class name one of its attributes.

    Args:
        made: the assignments to it in ``__init__``.
        used: the places in other methods; of an attribute that has a local name there, the places
            of that name.
    """

    made: list[tuple[Function, cst.Assign | cst.AnnAssign]]
    used: list[tuple[Function, cst.Attribute | cst.Name]]

    @staticmethod
    def of(part: Instance) -> dict[str, Uses]:
        """The uses of all attributes of a module, from one walk through its methods."""
        found: dict[str, Uses] = {}
        for ancestor in part.cls.ancestry():
            held = ancestor.scope.names.values() if isinstance(ancestor, Class) else ()
            for function in (value for values in held for value in values):
                if not isinstance(function, Function) or isinstance(function.node, cst.Lambda):
                    continue
                local = local_names(function.node) if function.name != "__init__" else {}
                for node in descendants(function.node):
                    # By its exact kind: to ask for subclasses costs ten times as much.
                    if type(node) not in (cst.Assign, cst.AnnAssign, cst.Attribute):
                        continue
                    if isinstance(node, cst.Attribute):
                        if function.name != "__init__" and (name := own_attribute(node)):
                            places = local.get(id(node), [node])
                            used = found.setdefault(name, Uses([], [])).used
                            used.extend((function, place) for place in places)
                    elif isinstance(node, (cst.Assign, cst.AnnAssign)):
                        if function.name == "__init__":
                            for made in filter(None, map(own_attribute, targets_of(node))):
                                found.setdefault(made, Uses([], [])).made.append((function, node))
        return found


def local_names(
    function: cst.FunctionDef | cst.Lambda,
) -> dict[int, list[cst.Attribute | cst.Name]]:
    """Where names stand that are bound once in a function, to an attribute of the module itself.

    Returns:
        The places of the name, by the identity of the attribute.
    """
    bound: dict[str, list[cst.Assign | None]] = {}
    names: list[cst.Name] = []
    others: set[int] = set()
    for node in descendants(function):
        if isinstance(node, cst.Name):
            names.append(node)
        elif isinstance(node, cst.Attribute):
            others.add(id(node.attr))
        elif isinstance(node, cst.Arg) and node.keyword is not None:
            others.add(id(node.keyword))
        elif isinstance(node, cst.Assign):
            for target in node.targets:
                alone = len(node.targets) == 1 and isinstance(target.target, cst.Name)
                for inner in descendants(target):
                    if isinstance(inner, cst.Name):
                        others.add(id(inner))
                        bound.setdefault(inner.value, []).append(node if alone else None)
        elif isinstance(node, (cst.For, cst.CompFor, cst.AugAssign, cst.NamedExpr, cst.Param)):
            bind = node.name if isinstance(node, cst.Param) else node.target
            for inner in descendants(bind):
                if isinstance(inner, cst.Name):
                    bound.setdefault(inner.value, []).append(None)
    found: dict[int, list[cst.Attribute | cst.Name]] = {}
    for name, assignments in bound.items():
        only = assignments[0] if len(assignments) == 1 else None
        if only is not None and own_attribute(only.value):
            found[id(only.value)] = [
                one for one in names if one.value == name and id(one) not in others
            ]
    return found


NO_USES = Uses([], [])


def targets_of(node: cst.CSTNode) -> list[cst.BaseExpression]:
    """What an assignment assigns to."""
    if isinstance(node, cst.Assign):
        return [target.target for target in node.targets]
    return [node.target] if isinstance(node, cst.AnnAssign) else []


def own_attribute(node: cst.CSTNode) -> str | None:
    """The name of an attribute of the module itself; None for anything else."""
    if isinstance(node, cst.Attribute) and isinstance(node.value, cst.Name):
        return node.attr.value if node.value.value == "self" else None
    return None
