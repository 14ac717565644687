"""Let a module that is bound to other shapes divide by what it divides by in one process.

What:
    A module divides the gradients of a batch by the number of samples that it was bound to. Where
    that is not the batch of the training data, the divisor is written down: a shared store would
    multiply it by the number of workers, although no worker has a share of that batch.

Why:
    A module may be bound to the batch of its evaluation data, or to any other: it is bound anew
    to each batch of another size, but its divisor stays. Gradients of all workers add up to those
    of the whole batch, and are to be divided as one process divides them.

Before:
    module.bind(data_shapes=val_iter.provide_data, label_shapes=val_iter.provide_label)
    module.init_params()
    module.init_optimizer(optimizer="sgd")

After:
    module.bind(data_shapes=val_iter.provide_data, label_shapes=val_iter.provide_label)
    module.init_params()
    module.init_optimizer(optimizer="sgd", optimizer_params=divide_by_bound_batch(module))

Refuses when:
    never; modules of another kind are refused by the rule for divisors.

Source:
    https://mxnet.apache.org/versions/1.9.1/api/python/docs/api/module/index.html
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.layout import add_argument, wrap_expression
from transpile.plan.model import Plan
from transpile.rule import Answer, Change, Helper, In, Ruling, Rulings
from transpile.rules.mxnet._roles import Fit
from transpile.rules.mxnet.gradients._module_divisors import bound_elsewhere

CODES = {"MX318": "a module divides by the batch that it was bound to, as in one process"}
HELPER = "divide_by_bound_batch"


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each call that sets the optimizer of such a module up."""
    told = {id(fit.event.node): fit for each in bound_elsewhere(plan) for fit in each.fits}
    for fit in told.values():
        yield Ruling.apply(
            "MX318",
            fit.event,
            "this module divides by the batch that it was bound to, as in one process",
            data=fit,
            done=is_written(fit),
        )


def is_written(fit: Fit) -> bool:
    """Whether the divisor is among the settings already."""
    given = fit.argument("optimizer_params")
    call = given.node if given is not None else None
    return (
        isinstance(call, cst.Call)
        and isinstance(call.func, cst.Name)
        and call.func.value.startswith(HELPER)
    )


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The divisor among the settings of the optimizer."""
    fit: Fit = ruling.data
    call = fit.event.node
    assert isinstance(call, cst.Call) and isinstance(call.func, cst.Attribute)
    source = ruling.module.source
    yield Helper(HELPER, ruling.module)
    name = plan.names_in(ruling.module).fresh(HELPER)
    opening = f"{name}({source.code(call.func.value)}"
    given = fit.argument("optimizer_params")
    if given is not None:
        assert isinstance(given.node, cst.BaseExpression)
        changes = wrap_expression(source, given.node, f"{opening}, ", ")")
    else:
        changes = add_argument(source, call, f"optimizer_params={opening})")
    for edit in changes:
        yield In(ruling.module, edit)
