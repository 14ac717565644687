"""What a SINGA job does once: the rules that all frameworks share, in its words."""

from __future__ import annotations

from transpile.once import log_once, print_once
from transpile.once.rules import Words, once_rules
from transpile.rules.singa.effects._once import once_of

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
RULES = once_rules(
    "singa",
    "SG",
    WORDS,
    once_of,
    without=(
        log_once,
        print_once,
    ),
)
