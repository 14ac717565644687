"""What a SINGA job does once: the rules that all frameworks share, in its words."""

from __future__ import annotations

from transpile.once import log_once
from transpile.once.rules import Words, once_rules
from transpile.plan.model import Plan
from transpile.records import replace
from transpile.result import Verdict
from transpile.rule import Answer, Ruling
from transpile.rules.singa.effects._once import once_of
from transpile.rules.singa.processes._own_path import asks_for_rank

WORDS = Words(
    saver="model.save_states",
    saving='model.save_states("model.zip")',
    saving_source="https://singa.apache.org/docs/dist-train/",
    preparing='urlretrieve(url, "digits.npz")',
    preparing_source="https://singa.apache.org/docs/dist-train/",
    tracker="SummaryWriter",
    tracker_source="https://pypi.org/project/tensorboardX/",
    batches="range(num_batch)",
    rank_source="https://singa.apache.org/docs/dist-train/",
)


def settled(plan: Plan, answer: Answer) -> Answer:
    """A print under a test of the rank that the function is given is done."""
    if isinstance(answer, Ruling) and answer.code == "SG501":
        if asks_for_rank(plan, answer.module, answer.node):
            return replace(answer, verdict=Verdict.ALREADY_DONE)
    return answer


RULES = once_rules(
    "singa",
    "SG",
    WORDS,
    once_of,
    without=(log_once,),
    amend=settled,
)
