"""What the rules about effects share: Paddle's own effects, and the plan for all of them."""

from __future__ import annotations

from transpile.plan.effects.effects import Vocabulary
from transpile.plan.effects.once import find_once
from transpile.plan.effects.treatment import Once
from transpile.plan.flow.entering import set_up_of
from transpile.plan.model import Plan
from transpile.plan.query import query
from transpile.rules.paddle.losses._evaluation import shared_loops
from transpile.rules.paddle.losses._numbers import together

BARRIERS = frozenset({"paddle.distributed.barrier"})

VOCABULARY = Vocabulary(
    writes=frozenset(
        {
            "paddle.save", "paddle.jit.save", "paddle.onnx.export", "paddle.static.save",
            "paddle.static.save_inference_model", "paddle.static.save_vars",
        }
    ),  # fmt: skip
    reports=frozenset({"paddle.summary", "paddle.flops"}),
    reads=frozenset(
        {
            "paddle.load", "paddle.jit.load", "paddle.static.load",
            "paddle.static.load_inference_model", "paddle.static.load_program_state",
        }
    ),  # fmt: skip
    saves=frozenset({"paddle.save"}),
    loads=frozenset({"paddle.load"}),
    paths={"paddle.save": ("path", 1), "paddle.jit.save": ("path", 1)},
    trackers=frozenset(
        {
            "visualdl.LogWriter", "tensorboardX.SummaryWriter",
            "torch.utils.tensorboard.SummaryWriter",
        }
    ),  # fmt: skip
    downloads=frozenset(
        {
            "paddle.utils.download.get_weights_path_from_url", "paddle.dataset.common.download",
            "paddle.hub.load", "paddlenlp.datasets.load_dataset",
            "paddle.vision.datasets.MNIST", "paddle.vision.datasets.FashionMNIST",
            "paddle.vision.datasets.Cifar10", "paddle.vision.datasets.Cifar100",
            "paddle.vision.datasets.Flowers", "paddle.vision.datasets.VOC2012",
        }
    ),  # fmt: skip
    download_flags=(
        ("paddle.vision.models.", ("pretrained",)),
        ("paddle.text.", ("download",)),
    ),
    pure=("paddle.",),
    impure=(
        "paddle.rand", "paddle.normal", "paddle.bernoulli", "paddle.multinomial",
        "paddle.poisson", "paddle.uniform", "paddle.standard_", "paddle.shuffle",
        "paddle.gaussian", "paddle.log_normal", "paddle.binomial",
        "paddle.nn.", "paddle.seed", "paddle.set_", "paddle.distributed.", "paddle.load",
        "paddle.save", "paddle.jit.", "paddle.onnx.", "paddle.io.", "paddle.optimizer.",
        "paddle.autograd.", "paddle.grad", "paddle.static.", "paddle.enable_static",
        "paddle.disable_static", "paddle.Model", "paddle.DataParallel", "paddle.vision.",
        "paddle.text.", "paddle.hub.", "paddle.utils.", "paddle.dataset.", "paddle.summary",
        "paddle.create_parameter", "paddle.metric.", "paddle.amp.", "paddle.device.",
        "paddle.incubate.", "paddle.distribution.", "paddle.batch", "paddle.reader.",
    ),  # fmt: skip
)


@query
def once_of(plan: Plan) -> Once:
    """What is decided about the effects of a script; found once for all rules."""
    set_up = set_up_of(plan)
    joined = set_up.order if set_up is not None else 0
    everywhere = together(plan) | {id(one.loader) for one in shared_loops(plan, VOCABULARY)}
    plan.once = find_once(plan, VOCABULARY, BARRIERS, joined, everywhere)
    return plan.once
