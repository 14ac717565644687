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
        used: the places in other methods.
    """

    made: list[tuple[Function, cst.Assign | cst.AnnAssign]]
    used: list[tuple[Function, cst.Attribute]]

    @staticmethod
    def of(part: Instance) -> dict[str, Uses]:
        """The uses of all attributes of a module, from one walk through its methods."""
        found: dict[str, Uses] = {}
        for ancestor in part.cls.ancestry():
            held = ancestor.scope.names.values() if isinstance(ancestor, Class) else ()
            for function in (value for values in held for value in values):
                if not isinstance(function, Function) or isinstance(function.node, cst.Lambda):
                    continue
                for node in descendants(function.node):
                    # By its exact kind: to ask for subclasses costs ten times as much.
                    if type(node) not in (cst.Assign, cst.AnnAssign, cst.Attribute):
                        continue
                    if isinstance(node, cst.Attribute):
                        if function.name != "__init__" and (name := own_attribute(node)):
                            found.setdefault(name, Uses([], [])).used.append((function, node))
                    elif isinstance(node, (cst.Assign, cst.AnnAssign)):
                        if function.name == "__init__":
                            for made in filter(None, map(own_attribute, targets_of(node))):
                                found.setdefault(made, Uses([], [])).made.append((function, node))
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
