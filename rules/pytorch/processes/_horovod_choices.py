"""What a script chooses of Horovod when it runs, where one of the choices has a counterpart.

Scripts offer Adasum, compression and other factors as options of theirs. Whoever does not ask for
them trains as torch.distributed does; who does is told so where the script starts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import libcst as cst

from transpile.facts.module import Module
from transpile.layout.statements import insert_before, remove_statement, replace_statement
from transpile.plan.flow.places import insertion_place
from transpile.plan.model import Plan
from transpile.records import dataclass
from transpile.rule import Change, Helper, In

#: Parameters to the values that torch.distributed has, and to what any other one is called.
PLAIN: Mapping[str, tuple[tuple[str, ...], str]] = {
    "compression": (("Compression.none",), "compressing gradients"),
    "op": (("Average",), "reducing gradients other than by their mean"),
}
#: Parameters that may have any value, where one of them changes nothing.
NEUTRAL = {"gradient_predivide_factor": ("1", "dividing gradients before they are added up")}


@dataclass(frozen=True, eq=False)
class Choice:
    """A choice that is made when the script runs.

    Args:
        condition: the expression that is true where what has no counterpart is chosen.
        what: what that does.
        statement: the assignment that makes it; None where it is made in the call.
        nodes: the expressions of Horovod within it.
    """

    condition: str
    what: str
    statement: cst.Assign | None
    nodes: tuple[cst.CSTNode, ...]

    @property
    def guard(self) -> str:
        """The arguments of the helper that stops the script."""
        return f'{self.condition}, "{self.what}"'


def choice_of(module: Module, argument: cst.Arg, aliases: set[str]) -> Choice | None:
    """The choice that an argument of an optimizer hands over; None where it is something else."""
    keyword = argument.keyword.value if argument.keyword is not None else ""
    if keyword in NEUTRAL and isinstance(argument.value, (cst.Name, cst.Attribute)):
        value, what = NEUTRAL[keyword]
        return Choice(f"{module.source.code(argument.value)} != {value}", what, None, ())
    if keyword not in PLAIN:
        return None
    value_node: cst.BaseExpression = argument.value
    statement = None
    if isinstance(value_node, cst.Name):
        statement = only_assignment(module, value_node)
        if statement is None:
            return None
        value_node = statement.value
    plain, what = PLAIN[keyword]
    texts = {f"{alias}.{one}" for alias in aliases for one in plain}
    code = module.source.code
    if statement is not None and code(value_node) in texts:
        return Choice("", what, statement, (value_node,))
    if not isinstance(value_node, cst.IfExp):
        return None
    sides = (value_node.body, value_node.orelse)
    if not all(is_of(module, side, aliases) for side in sides):
        return None
    condition = code(value_node.test)
    if any(is_said_in(module, alias, value_node.test) for alias in aliases):
        return None
    if code(value_node.orelse) in texts:
        return Choice(condition, what, statement, sides)
    if code(value_node.body) in texts:
        return Choice(f"not ({condition})", what, statement, sides)
    return None


def is_of(module: Module, node: cst.CSTNode, aliases: set[str]) -> bool:
    """Whether an expression only names something of Horovod."""
    return isinstance(node, cst.Attribute) and module.source.code(node).split(".")[0] in aliases


def is_said_in(module: Module, name: str, within: cst.CSTNode) -> bool:
    """Whether a name stands within an expression."""
    whole = module.source.span(within)
    names = module.source.nodes_of(cst.Name)
    return any(one.value == name and whole.contains(module.source.span(one)) for one in names)


def only_assignment(module: Module, name: cst.Name) -> cst.Assign | None:
    """The statement that gives a name its only value, where the name is said twice in all."""
    said = [one for one in module.source.nodes_of(cst.Name) if one.value == name.value]
    places: list[cst.CSTNode] = []
    for one in said:
        parent = module.source.parent(one)
        if one is name or (isinstance(parent, cst.Arg) and parent.keyword is one):
            continue
        places.append(one)
    if len(places) != 1:
        return None
    target = module.source.parent(places[0])
    assignment = module.source.parent(target) if target is not None else None
    if not isinstance(target, cst.AssignTarget) or not isinstance(assignment, cst.Assign):
        return None
    return assignment if len(assignment.targets) == 1 else None


def guards(
    plan: Plan,
    module: Module,
    choices: Sequence[Choice],
    same: cst.CSTNode | None,
    call: cst.Call | None,
) -> Iterator[Change]:
    """The calls that stop the script where something without a counterpart is chosen.

    Args:
        plan: the plan.
        module: where the optimizer is given to Horovod.
        choices: what is chosen there.
        same: the statement of that, where nothing of it is left.
        call: the call of it.
    """
    if not any(one.condition for one in choices):
        name = ""
    else:
        yield Helper("refuse_choice", module)
        name = plan.names_in(module).fresh("refuse_choice")
    source = module.source
    for one in choices:
        if one.statement is not None and one.condition:
            for edit in replace_statement(source, one.statement, [f"{name}({one.guard})"]):
                yield In(module, edit)
        elif one.statement is not None:
            for edit in remove_statement(source, one.statement):
                yield In(module, edit)
    lines = [f"{name}({one.guard})" for one in choices if one.statement is None]
    if lines and same is not None:
        for edit in replace_statement(source, same, lines):  # type: ignore[arg-type]
            yield In(module, edit)
    elif lines and call is not None:
        around = insertion_place(module, call)
        assert around is not None
        yield from (In(module, edit) for edit in insert_before(source, around, lines))
