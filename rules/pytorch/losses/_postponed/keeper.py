"""A variable that holds a list or a meter, and how it takes numbers."""

from __future__ import annotations

import libcst as cst

from transpile.facts.module import Module
from transpile.facts.values import Class
from transpile.plan.flow.places import ancestors
from transpile.records import dataclass

from .averaged import first_parameter, is_plain, methods_of
from .names import Addition, Owner


@dataclass(frozen=True, eq=False)
class Keeper:
    """A variable that holds a list or a meter.

    Args:
        module: where it is.
        owner: the function, or the module, whose variable it is.
        name: the variable.
        method: the method that takes numbers.
    """

    module: Module
    owner: Owner
    name: str
    method: str

    def addition(self, module: Module, node: cst.Name) -> Addition | None:
        """The statement that gives it a number, and the call."""
        source = module.source
        function = source.parent(node)
        if not isinstance(function, cst.Attribute) or function.value is not node:
            return None
        call = source.parent(function)
        if not isinstance(call, cst.Call) or call.func is not function:
            return None
        statement = source.parent(call)
        if function.attr.value != self.method or not isinstance(statement, cst.Expr):
            return None
        return statement, call, [node]


def block_of(module: Module, node: cst.CSTNode) -> cst.CSTNode | None:
    """The block whose statement a place belongs to."""
    around = ancestors(module, node)
    return next((one for one in around if isinstance(one, (cst.BaseSuite, cst.Module))), None)


def only_holds(value: object) -> bool:
    """Whether a class of the project does no more at first than to keep what it is given."""
    if not isinstance(value, Class) or not is_plain(value):
        return False
    function = methods_of(value).get("__init__")
    if function is None:
        return False
    itself = first_parameter(function)
    for line in function.body.body:
        for small in line.body if isinstance(line, cst.SimpleStatementLine) else (line,):
            if not isinstance(small, cst.Assign):
                return False
            for each in small.targets:
                place = each.target
                if not (isinstance(place, cst.Attribute) and isinstance(place.value, cst.Name)):
                    return False
                if place.value.value != itself:
                    return False
    return True
