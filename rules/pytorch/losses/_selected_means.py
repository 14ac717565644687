"""Means over some of the samples, rewritten so that they are those of the global batch."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.layout import replace_expression
from transpile.plan.model import Plan
from transpile.quantity.asking import Pending
from transpile.rule import Change, Helper, In
from transpile.text.changes import Insert, Replace
from transpile.text.span import Span


def rewritten_mean(plan: Plan, pending: Pending) -> Iterator[Change]:
    """The sum of a selection over its size, averaged over the processes."""
    module, call = pending.module, pending.node
    assert isinstance(call, cst.Call)
    source = module.source
    yield Helper("selected_mean", module)
    name = plan.names_in(module).fresh("selected_mean")
    if call.args:
        for edit in replace_expression(source, call.func, name):
            yield In(module, edit)
        return
    assert isinstance(call.func, cst.Attribute)
    whole = source.span(call)
    tail = Span(source.span(call.func.dot).start, whole.end)
    # The parentheses that the tensor has already are those of the call.
    opening, closing = ("", "") if call.func.value.lpar else ("(", ")")
    yield In(module, Insert(whole.start, f"{name}{opening}", 0, "open", whole))
    yield In(module, Replace(tail, closing))
