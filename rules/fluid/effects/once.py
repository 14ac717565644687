"""What a Fluid job does once: the rules that all frameworks share, in its words."""

from __future__ import annotations

from transpile.once import prepare_once
from transpile.once.rules import Words, once_rules
from transpile.rules.fluid.effects._once import once_of

TRANSPILER = (
    "https://www.paddlepaddle.org.cn/documentation/docs/en/1.8/api/transpiler/"
    "DistributeTranspiler.html"
)
WORDS = Words(
    saver="save_persistables",
    saving="fluid.io.save_persistables(exe, path)",
    saving_source=(
        "https://www.paddlepaddle.org.cn/documentation/docs/en/1.8/api/io/save_persistables.html"
    ),
    preparing="",
    preparing_source="",
    tracker="LogWriter",
    tracker_source="https://github.com/PaddlePaddle/VisualDL",
    batches="train_reader()",
    rank_source=TRANSPILER,
)
RULES = once_rules("fluid", "FL", WORDS, once_of, without=(prepare_once,))
