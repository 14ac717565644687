"""What a static graph is fetched for, and what is known of it."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.values import Constant, Values
from transpile.layout import insert_after
from transpile.once.shared import surround
from transpile.plan.data.sources import is_simple
from transpile.plan.flow.places import function_of, insertion_place
from transpile.plan.model import Plan
from transpile.records import dataclass, field
from transpile.rule import Change, Helper, In, Ruling
from transpile.rules.paddle.losses._losses import told
from transpile.rules.paddle.losses._shares import analysis
from transpile.rules.paddle.static._static import (
    Run,
)
from transpile.text.changes import Insert, Replace
from transpile.text.span import Span


@dataclass(eq=False)
class Minimize:
    """A call of ``minimize`` to change.

    Args:
        summed: the loss, where it is a sum.
        fetched: the text of each variable to average, with the name of the mean.
    """

    summed: cst.BaseExpression | None = None
    fetched: dict[str, str] = field(default_factory=dict)


def fetched(
    plan: Plan, event: Event, run: Run, data: Minimize
) -> Iterator[tuple[cst.BaseExpression, str]]:
    """Each variable of a run's fetches that differs between processes; why it stays, if it does."""
    module = run.event.module
    given = run.fetches
    if given is None or given.values == (Constant(None),):
        return
    if isinstance(module.source.parent(run.event.node), cst.Expr):
        return
    node = given.node
    if not isinstance(node, (cst.List, cst.Tuple)):
        if isinstance(node, cst.BaseExpression):
            yield node, "its fetches do not stand in the call"
        return
    for element in node.elements:
        variable_node = named_variable(element.value)
        values: Values = plan.facts.values_of(variable_node)
        if any(isinstance(value, Constant) for value in values):
            yield element.value, "it is fetched by a name that is written out"
            continue
        quantity = analysis(plan).of(values)
        if quantity.is_same:
            continue
        text = module.source.code(variable_node)
        here = function_of(event.module, event.node)
        if not quantity.is_mean:
            yield element.value, quantity.reason or f"it is {told(quantity)}"
        elif not is_simple(variable_node) or isinstance(element, cst.StarredElement):
            yield element.value, "it has no name"
        elif event.module is not module or here not in (
            None,
            function_of(module, run.event.node),
        ):
            yield element.value, "the graph is built in another function"
        elif not known_there(plan, event, text, values):
            yield element.value, "it is made behind the call of minimize"
        else:
            name = f"mean_{text.rpartition('.')[2]}"
            key = f"mean {text}"
            data.fetched[text] = plan.names_in(module).fresh(name, key)
            yield element.value, ""


def named_variable(node: cst.BaseExpression) -> cst.BaseExpression:
    """The variable that is fetched by its name: ``loss`` in ``loss.name``."""
    return node.value if isinstance(node, cst.Attribute) and node.attr.value == "name" else node


def known_there(plan: Plan, event: Event, text: str, values: Values) -> bool:
    """Whether a variable is bound to the same before the call of ``minimize``."""
    source = event.module.source
    until = source.span(event.node).end
    wanted = set(map(id, values))
    for node in source.nodes:
        bound = node
        if isinstance(node, cst.Assign):
            if all(source.code(each.target) != text for each in node.targets):
                continue
            bound = node.value
        elif not isinstance(node, (cst.Name, cst.Attribute)) or source.code(node) != text:
            continue
        if source.span(bound).end <= until and wanted == set(map(id, plan.facts.values_of(bound))):
            return True
    return False


def averaged(plan: Plan, ruling: Ruling, data: Minimize) -> Iterator[Change]:
    """The call that minimises by averaged gradients, and the means of what is fetched."""
    module, call = ruling.module, ruling.node
    source, names = module.source, plan.names_in(module)
    assert isinstance(call, cst.Call) and isinstance(call.func, cst.Attribute)
    first = call.args[0].value
    if data.summed is not None:
        dist = names.imported("paddle.distributed", "dist")
        before, after = "", f" * {dist}.get_world_size()"
        if isinstance(first, (cst.BinaryOperation, cst.IfExp)) and not first.lpar:
            before, after = "(", f"){after}"
        for edit in surround(module, first, before, after):
            yield In(module, edit)
    if plan.options.paddle_api == "fleet":
        return
    yield Helper("minimize_together", module)
    start = source.span(call).start
    yield In(module, Insert(start, f"{names.fresh('minimize_together')}("))
    between = Span(source.span(call.func.value).end, source.span(first).start)
    yield In(module, Replace(between, ", "))
    lines = []
    for text, name in sorted(data.fetched.items()):
        yield Helper("average_fetched", module)
        lines.append(f"{name} = {names.fresh('average_fetched')}({text})")
    statement = insertion_place(module, call)
    if lines and statement is not None:
        for edit in insert_after(source, statement, lines):
            yield In(module, edit)
