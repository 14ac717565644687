"""What the rules about effects share: the plan for all of them."""

from __future__ import annotations

from transpile.plan.effects.once import find_once
from transpile.plan.effects.treatment import Once
from transpile.plan.flow.entering import set_up_of
from transpile.plan.model import Plan
from transpile.plan.query import query
from transpile.rules.pytorch.effects._vocabulary import VOCABULARY
from transpile.rules.pytorch.losses._evaluation import shared_loops
from transpile.rules.pytorch.losses._reported import reported
from transpile.rules.pytorch.models._whole_states import meetings

BARRIERS = frozenset({"torch.distributed.barrier", "torch.distributed.monitored_barrier"})


@query
def once_of(plan: Plan) -> Once:
    """What is decided about the effects of a script; found once for all rules."""
    set_up = set_up_of(plan)
    joined = set_up.order if set_up is not None else 0
    together = reported(plan, VOCABULARY).together()
    together |= meetings(plan)
    together |= {id(shared.loader) for shared in shared_loops(plan)}
    plan.once = find_once(plan, VOCABULARY, BARRIERS, joined, together)
    return plan.once
