"""What is written where the batches of an evaluation are sharded."""

from __future__ import annotations

from collections.abc import Iterator

from transpile.layout import insert_after, wrap_expression
from transpile.layout.calls import LINE_LENGTH, written_call
from transpile.plan.model import Plan
from transpile.rule import Change, Helper, In

from .model import Shared, Way


def shared_out(plan: Plan, data: Shared) -> Iterator[Change]:
    """Own batches in the head, the model itself in the body, the totals behind the loop.

    Args:
        plan: the plan.
        data: the loop.
    """
    source, names = data.module.source, plan.names_in(data.module)
    yield Helper("own_batches", data.module)
    for edit in wrap_expression(source, data.loader, f"{names.fresh('own_batches')}(", ")"):
        yield In(data.module, edit)
    for forward in data.forwards:
        if forward.model.trained:
            yield Helper("unwrap", data.module)
            for edit in wrap_expression(source, forward.node, f"{names.fresh('unwrap')}(", ")"):
                yield In(data.module, edit)
    lines: list[str] = []
    column = source.position(source.span(data.loop).start)[1] - 1
    for way in Way:
        texts = [total.text for total in data.totals if total.way is way]
        if texts:
            yield Helper(way.value, data.module)
            lines.extend(put_together(texts, names.fresh(way.value), column))
    for meter in data.meters:
        yield Helper(Way.SUM.value, data.module)
        texts = [f"{meter.text}.{name}" for name in meter.sums]
        lines.extend(put_together(texts, names.fresh(Way.SUM.value), column))
        lines.extend(meter.derived)
    for edit in insert_after(source, data.loop, lines):
        yield In(data.module, edit)


def put_together(texts: list[str], helper: str, column: int) -> list[str]:
    """The lines in which totals are put together, as black writes them."""
    if len(texts) == 1:
        return written_call(f"({texts[0]},) = {helper}", texts, column)
    targets = ", ".join(texts)
    if len(f"{targets} = {helper}({targets})") <= LINE_LENGTH - column:
        return [f"{targets} = {helper}({targets})"]
    if len(f"{targets} = {helper}(") <= LINE_LENGTH - column:
        return written_call(f"{targets} = {helper}", texts, column)
    arguments = written_call(f") = {helper}", texts, column)
    return ["(", *(f"    {text}," for text in texts), *arguments]
