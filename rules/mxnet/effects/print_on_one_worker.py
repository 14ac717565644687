"""Print to standard output once per job.

What:
    Every ``print`` becomes a call of a small helper that prints on the worker with rank 0 alone.
    The arguments are still evaluated in every worker.

Why:
    With N workers every line would come out N times, mixed with those of the others.

Before:
    print("epoch", epoch)

After:
    print_once("epoch", epoch)

Refuses when:
    never: prints of other modules of the project are reported.

Source:
    https://mxnet.apache.org/versions/1.9.1/api/python/docs/api/kvstore/index.html
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.values import External
from transpile.layout import replace_expression
from transpile.plan.effects.effects import Kind
from transpile.plan.model import Plan
from transpile.rule import Answer, Change, Helper, In, Remark, Ruling, Rulings
from transpile.rules.mxnet.effects._once import once_of

CODES = {
    "MX501": "prints once per job",
    "MX502": "something prints in every worker",
}
PRINT = (External("builtins.print"),)


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each print of the script."""
    once = once_of(plan)
    for effect, how in once.finished(Kind.PRINT):
        yield Ruling.done("MX501", effect, f"it prints {how}", claims=(effect.node,))
    for effect in once.pending(Kind.PRINT):
        if plan.facts.values_of(effect.node.func) == PRINT:
            yield Ruling.apply(
                "MX501",
                effect,
                "it prints once per job",
                data=effect.node.func,
                claims=(effect.node,),
            )
        else:
            yield Remark.warn(
                "MX502",
                effect,
                "this prints in every worker: print is called by another name here",
                "print where the rank of the store is 0",
            )


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The helper's name in the place of ``print``."""
    function: cst.BaseExpression = ruling.data
    yield Helper("print_once", ruling.module)
    name = plan.names_in(ruling.module).fresh("print_once")
    for edit in replace_expression(ruling.module.source, function, name):
        yield In(ruling.module, edit)
