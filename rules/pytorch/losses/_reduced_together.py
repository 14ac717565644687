"""Statements that reduce numbers: totals where they are read, others ahead of what shows them."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.layout import (
    insert_after,
    insert_at_start_of_body,
    insert_before,
    replace_expression,
)
from transpile.layout.calls import written_call
from transpile.layout.lines import statement_indentation
from transpile.plan.model import Plan
from transpile.rule import Change as Edited
from transpile.rule import Helper, In
from transpile.rules.pytorch.losses._postponed import (
    Ahead,
    Kept,
    Number,
    Place,
    Postponed,
    postponed,
)
from transpile.rules.pytorch.losses._reported import Change, Leaf
from transpile.text.changes import Insert

#: What shows a number may be bound to a name before it is shown; the number is made before that.
AHEAD = -150


def reduced_where_read(plan: Plan, leaf: Leaf, applied: dict[int, Leaf]) -> Iterator[Edited]:
    """The statements that reduce totals; those of a place come with the first of their numbers."""
    totals = {id(total): total for total in postponed(plan).values()}
    kept = [t for t in totals.values() if all(id(each.node) in applied for each in t.leaves)]
    kept.sort(key=lambda total: total.order)
    together: dict[tuple[object, ...], list[tuple[Place, Postponed]]] = {}
    for total in kept:
        for place in total.places:
            # Lists have as many numbers as there were batches: each is a call of its own.
            alone = total.name if total.kept is Kept.LIST else total.attributes
            key = (id(place.node), total.change, total.loader, alone)
            together.setdefault(key, []).append((place, total))
    for group in together.values():
        place, first = group[0]
        change, loader = first.change, first.loader
        if first.leaves[0] is not leaf:
            continue
        if first.kept is not Kept.NUMBER:
            yield from kept_together(plan, place, [total for _, total in group])
            continue
        helper = "average_numbers" if change is Change.MEAN else "sum_numbers"
        yield Helper(helper, place.module)
        fresh = plan.names_in(place.module).fresh
        names = ", ".join(total.name for _, total in group)
        line = f"{names if len(group) > 1 else f'[{names}]'} = {fresh(helper)}({names})"
        lines = [line]
        if change is Change.SHARED_SUM:
            yield Helper("shard_count", place.module)
            lines = [f"if {fresh('shard_count')}({loader}) > 1:", f"    {line}"]
        yield from put(place, lines)


def kept_together(plan: Plan, place: Place, group: list[Postponed]) -> Iterator[Edited]:
    """The statement that averages a list, or meters of one kind."""
    first = group[0]
    helper = "average_numbers" if first.kept is Kept.LIST else "average_meters"
    yield Helper(helper, place.module)
    function = plan.names_in(place.module).fresh(helper)
    if first.kept is Kept.LIST:
        lines = [f"{first.name}[:] = {function}(*{first.name})"]
    else:
        source = place.module.source
        names = ", ".join(total.name for total in group)
        attributes = [f'"{name}"' for name in first.attributes]
        column = len(source.indentation_of(source.span(place.node).start))
        column += 4 * isinstance(place.node, cst.If)
        lines = written_call(function, [f"[{names}]", *attributes], column)
    yield from put(place, lines)


def put(place: Place, lines: list[str]) -> Iterator[Edited]:
    """Lines at a place where numbers are reduced."""
    source = place.module.source
    if isinstance(place.node, cst.If):
        changes = insert_at_start_of_body(source, place.node, lines)
    else:
        changes = insert_after(source, place.node, lines)
    for edit in changes:
        yield In(place.module, edit)


def own_statement(
    plan: Plan, leaf: Leaf, place: Ahead, applied: dict[int, Leaf]
) -> Iterator[Edited]:
    """The name of a reduced number, and with the first of a place the statement that makes it."""
    numbers = [
        number for number in place.numbers if any(id(one.node) in applied for one in number.leaves)
    ]
    own = next(number for number in numbers if leaf in number.leaves)
    source = place.module.source
    for edit in replace_expression(source, leaf.node, name_of(plan, place, own)):
        yield In(leaf.module, edit)
    if leaf.cuts is not None and leaf.degree and leaf.change is Change.MEAN:
        for edit in replace_expression(source, leaf.cuts, "float"):
            yield In(leaf.module, edit)
    first = next(one for one in numbers[0].leaves if id(one.node) in applied)
    if first is not leaf:
        return
    fresh = plan.names_in(place.module).fresh
    means = [number for number in numbers if number.change is Change.MEAN]
    together = [means] if len(means) > 1 else []
    alone = [number for number in numbers if not together or number not in means]
    column = len(statement_indentation(source, place.line))
    lines: list[str] = []
    for group in (*together, *([number] for number in alone)):
        helper = "reduce_means" if len(group) > 1 else "reduce_mean"
        if group[0].change is Change.SUM:
            helper = "reduce_sum"
        yield Helper(helper, place.module)
        names = ", ".join(name_of(plan, place, number) for number in group)
        texts = [number.text for number in group]
        lines += written_call(f"{names} = {fresh(helper)}", texts, column)
    for edit in insert_before(source, place.line, lines):
        if isinstance(edit, Insert):
            edit = Insert(edit.offset, edit.text, AHEAD)
        yield In(place.module, edit)


def name_of(plan: Plan, place: Ahead, number: Number) -> str:
    """The variable that holds a reduced number."""
    kind = "mean" if number.change is Change.MEAN else "sum"
    name: str = plan.names_in(place.module).fresh(
        f"{number.base}_{kind}", f"{kind} of {number.text}"
    )
    return name
