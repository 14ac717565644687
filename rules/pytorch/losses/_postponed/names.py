"""Where a variable of one function is set, added to and read."""

from __future__ import annotations

from collections.abc import Callable

import libcst as cst

from transpile.facts.module import Module
from transpile.facts.walk import descendants
from transpile.plan.flow.places import ancestors
from transpile.records import dataclass, field

#: What tells of, or reaches, variables without naming them.
LOOKING_ROUND = frozenset({"locals", "globals", "vars", "exec", "eval"})
SCOPES = (cst.FunctionDef, cst.Lambda, cst.ClassDef)
Owner = cst.FunctionDef | cst.Module


@dataclass(eq=False)
class Uses:
    """Where a variable is used; all that is not listed otherwise is a read.

    Args:
        starts: statements that set it to zero, each as the line that it stands in.
        additions: statements that add to it, with what is added.
        settings: statements that set it, and nothing else, to something else.
        reads: everything else.
    """

    starts: list[cst.SimpleStatementLine] = field(default_factory=list)
    additions: list[tuple[cst.BaseSmallStatement, cst.BaseExpression]] = field(default_factory=list)
    settings: list[tuple[cst.BaseSmallStatement, cst.BaseExpression]] = field(default_factory=list)
    reads: list[cst.Name] = field(default_factory=list)


def owner_of(module: Module, node: cst.CSTNode) -> Owner | None:
    """The function, or the module, whose own code a place belongs to; None within others."""
    for around in ancestors(module, node):
        if isinstance(around, (cst.Lambda, cst.ClassDef)):
            return None
        if isinstance(around, (cst.FunctionDef, cst.Module)):
            return around
    return None


Addition = tuple[cst.BaseSmallStatement, cst.BaseExpression, list[cst.Name]]


def uses_of(
    module: Module,
    owner: Owner,
    name: str,
    start_of: Callable[[Module, cst.Name], cst.SimpleStatementLine | None],
    addition_of: Callable[[Module, cst.Name], Addition | None],
) -> Uses | None:
    """All uses of a variable; None where code elsewhere may use it, too.

    Args:
        module: where it is.
        owner: the function, or the module, whose variable it is.
        name: the variable.
        start_of: the line that begins with nothing, where the name stands as its target.
        addition_of: the statement that adds, what it adds, and the names that it says it by.
    """
    found = Uses()
    counted: set[int] = set()
    whole = module.source.tree
    for node in descendants(whole if isinstance(owner, cst.Module) else owner):
        if not isinstance(node, cst.Name):
            continue
        parent = module.source.parent(node)
        if isinstance(parent, cst.Attribute) and parent.attr is node:
            # Of something else: `model.eval()` looks at no variables.
            continue
        if node.value in LOOKING_ROUND:
            return None
        if node.value != name or id(node) in counted:
            continue
        if isinstance(parent, cst.Arg) and parent.keyword is node:
            continue
        if isinstance(parent, (cst.Param, cst.NameItem)) or inside_other(module, owner, node):
            return None
        start = start_of(module, node)
        addition = addition_of(module, node)
        if start is not None:
            found.starts.append(start)
        elif addition is not None:
            statement, added, names = addition
            counted.update(id(one) for one in names)
            found.additions.append((statement, added))
        elif isinstance(parent, cst.AssignTarget) and parent.target is node:
            setting = module.source.parent(parent)
            assert isinstance(setting, cst.Assign)
            if len(setting.targets) > 1:
                return None
            found.settings.append((setting, setting.value))
        else:
            found.reads.append(node)
    return found


def inside_other(module: Module, owner: Owner, node: cst.CSTNode) -> bool:
    """Whether a place belongs to a function or class within the owner."""
    for around in ancestors(module, node):
        if around is owner:
            return False
        if isinstance(around, SCOPES):
            return True
    return True


def zero_start(module: Module, node: cst.Name) -> cst.SimpleStatementLine | None:
    """The line that sets a variable to zero, where the name stands as its target."""
    return start_by(module, node, is_zero)


def start_by(
    module: Module, node: cst.Name, begins: Callable[[cst.BaseExpression | None], bool]
) -> cst.SimpleStatementLine | None:
    """The line that sets a variable to a value that begins, where the name is its target."""
    source = module.source
    target: cst.CSTNode = node
    parent = source.parent(node)
    position = None
    if isinstance(parent, cst.Element):
        group = source.parent(parent)
        if not isinstance(group, (cst.Tuple, cst.List)):
            return None
        position = next(i for i, element in enumerate(group.elements) if element is parent)
        target, parent = group, source.parent(group)
    statement: cst.CSTNode
    if isinstance(parent, cst.AnnAssign):
        value, statement = parent.value, parent
        if parent.target is not target:
            return None
    elif isinstance(parent, cst.AssignTarget):
        outer = source.parent(parent)
        assert isinstance(outer, cst.Assign)
        value, statement = outer.value, outer
    else:
        return None
    if position is not None:
        if not isinstance(value, (cst.Tuple, cst.List)):
            return None
        if len(value.elements) <= position:
            return None
        if any(isinstance(element, cst.StarredElement) for element in value.elements):
            return None
        value = value.elements[position].value
    if not begins(value):
        return None
    line = source.parent(statement)
    return line if isinstance(line, cst.SimpleStatementLine) else None


def is_zero(value: cst.BaseExpression | None) -> bool:
    """Whether an expression is the number zero."""
    if isinstance(value, (cst.Integer, cst.Float)):
        return bool(value.evaluated_value == 0)
    return False


def addition_of(module: Module, node: cst.Name) -> Addition | None:
    """The statement that adds to a variable, what it adds, and the names that it says it by."""
    parent = module.source.parent(node)
    if isinstance(parent, cst.AugAssign) and parent.target is node:
        if isinstance(parent.operator, cst.AddAssign):
            return parent, parent.value, [node]
        return None
    if not isinstance(parent, cst.AssignTarget):
        return None
    statement = module.source.parent(parent)
    if not isinstance(statement, cst.Assign) or len(statement.targets) != 1:
        return None
    value = statement.value
    if not isinstance(value, cst.BinaryOperation) or not isinstance(value.operator, cst.Add):
        return None
    first, second = value.left, value.right
    for own, added in ((first, second), (second, first)):
        if isinstance(own, cst.Name) and own.value == node.value:
            return statement, added, [node, own]
    return None
