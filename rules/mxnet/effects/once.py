"""What an MXNet job does once: the rules that all frameworks share, in its words."""

from __future__ import annotations

from transpile.once import log_once
from transpile.once.rules import Words, once_rules
from transpile.rules.mxnet.effects._once import once_of

KVSTORE = "https://mxnet.apache.org/versions/1.9.1/api/python/docs/api/kvstore/index.html"
WORDS = Words(
    saver="net.save_parameters",
    saving='net.save_parameters("net.params")',
    saving_source=KVSTORE,
    preparing='train_set = gluon.data.vision.MNIST("data", train=True)',
    preparing_source="https://github.com/pytorch/pytorch/issues/68320",
    tracker="SummaryWriter",
    tracker_source="https://github.com/awslabs/mxboard",
    batches="loader",
    rank_source=KVSTORE,
)
#: The whole log is quiet in the other workers, from the store on.
RULES = once_rules("mxnet", "MX", WORDS, once_of, without=(log_once,))
