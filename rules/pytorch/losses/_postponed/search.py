"""The search for what can wait; one for all rules."""

from __future__ import annotations

from transpile.plan.model import Plan
from transpile.plan.query import query
from transpile.rules.pytorch.effects._vocabulary import VOCABULARY
from transpile.rules.pytorch.losses._reported import reported

from .keepers import Keepers
from .statements import Ahead, Statements
from .totals import Postponed, Totals


@query
def postponed(plan: Plan) -> dict[int, Postponed]:
    """The totals that are reduced where they are read, by the numbers that are added to them."""
    totals = Totals(plan, reported(plan, VOCABULARY).leaves)
    waiting = {id(leaf.node): total for total in totals.find() for leaf in total.leaves}
    for kept in Keepers(totals, frozenset(waiting)).find():
        waiting.update((id(leaf.node), kept) for leaf in kept.leaves)
    return waiting


@query
def ahead(plan: Plan) -> dict[int, Ahead]:
    """The statements of their own in which other numbers are reduced, by the numbers."""
    waiting = postponed(plan)
    leaves = reported(plan, VOCABULARY).leaves.values()
    here = [leaf for leaf in leaves if id(leaf.node) not in waiting]
    return {
        id(leaf.node): each
        for each in Statements(plan, here).find()
        for number in each.numbers
        for leaf in number.leaves
    }
