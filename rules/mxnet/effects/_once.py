"""What the rules about effects share: MXNet's own effects, and the plan for all of them."""

from __future__ import annotations

from transpile.plan.effects.once import find_once
from transpile.plan.effects.treatment import Once
from transpile.plan.model import Plan
from transpile.plan.query import query
from transpile.rules.mxnet.effects._vocabulary import VOCABULARY
from transpile.rules.mxnet.losses._evaluation import Shared, evaluations
from transpile.rules.mxnet.losses._numbers import numbers_of
from transpile.rules.mxnet.losses.reduce_metrics import reduced

#: What waits until every worker has come.
BARRIERS = frozenset({"mxnet.kvstore.create._barrier"})


@query
def once_of(plan: Plan) -> Once:
    """What is decided about the effects of a script; found once for all rules."""
    together = {id(event.node) for event in reduced(plan)}
    together.update(numbers_of(plan, VOCABULARY).chosen)
    if plan.options.evaluation == "shard":
        shares = [each for each in evaluations(plan) if isinstance(each, Shared)]
        together.update(id(each.loop) for each in shares)
    plan.once = find_once(plan, VOCABULARY, BARRIERS, 0, together)
    return plan.once
