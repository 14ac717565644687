"""What a Paddle job does once: the rules that all frameworks share, in its words."""

from __future__ import annotations

from transpile.once.rules import Words, once_rules
from transpile.rules.paddle.effects._once import once_of

WORDS = Words(
    saver="paddle.save",
    saving='paddle.save(model.state_dict(), "model.pdparams")',
    saving_source=(
        "https://www.paddlepaddle.org.cn/documentation/docs/en/api/paddle/distributed/get_rank_en.html"
    ),
    preparing='train_set = MNIST(mode="train")',
    preparing_source=(
        "https://www.paddlepaddle.org.cn/documentation/docs/en/api/paddle/vision/datasets/MNIST_en.html"
    ),
    tracker="LogWriter",
    tracker_source=(
        "https://github.com/PaddlePaddle/VisualDL/blob/develop/docs/components/README.md"
    ),
    batches="train_loader",
    rank_source=(
        "https://www.paddlepaddle.org.cn/documentation/docs/en/api/paddle/distributed/get_rank_en.html"
    ),
)
RULES = once_rules("paddle", "PD", WORDS, once_of)
