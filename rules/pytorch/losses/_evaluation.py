"""PyTorch's evaluation loops."""

from __future__ import annotations

from transpile.evaluation import Evaluation, Shared, Way
from transpile.evaluation import evaluations as find_evaluations
from transpile.evaluation import shared_loops as find_shared_loops
from transpile.evaluation.words import EvaluationWords
from transpile.plan.model import Plan
from transpile.rules.pytorch.data._loaders import is_distributed_sampler, is_iterable_dataset
from transpile.rules.pytorch.effects._vocabulary import VOCABULARY

WORDS = EvaluationWords(
    package="torch.",
    vocabulary=VOCABULARY,
    is_distributed=is_distributed_sampler,
    is_stream=is_iterable_dataset,
    computing=(
        "torch.", "torchvision.transforms.", "torchvision.ops.", "torchmetrics.functional.",
    ),
    effects=(
        "torch.save", "torch.load", "torch.distributed.", "torch.manual_seed", "torch.seed",
        "torch.utils.tensorboard.", "torch.onnx.", "torch.jit.save", "torch.set_",
        "torch.profiler.", "torch.multiprocessing.", "torch.autograd.grad",
        "torch.autograd.backward", "torch.utils.data.", "torch.nn.Parameter",
        "torch.cuda.manual_seed", "torch.hub.", "torch.optim.",
    ),
    drawing=frozenset(
        {"torch.nn.functional.gumbel_softmax", "torch.nn.functional.rrelu", "torch.dropout",
         "torch.rrelu", "torch.nn.functional.fractional_max_pool2d"}
    ),
    dropouts=(
        "torch.nn.functional.dropout", "torch.nn.functional.alpha_dropout",
        "torch.nn.functional.feature_alpha_dropout",
    ),
    layers=("torch.nn.",),
    models=(
        "torch.nn.", "torch.utils.checkpoint", "torch.jit.script", "torchvision.models.", "timm.",
        "transformers.", "segmentation_models_pytorch.", "efficientnet_pytorch.",
    ),
    transforms=("torchvision.transforms.",),
    compilers=frozenset({"torch.compile"}),
    zeros=frozenset({"torch.zeros", "torch.zeros_like", "numpy.zeros", "numpy.zeros_like"}),
    tensors=frozenset(
        {"torch.tensor", "torch.Tensor", "torch.FloatTensor", "torch.LongTensor",
         "torch.IntTensor", "torch.DoubleTensor", "torch.cuda.FloatTensor",
         "torch.cuda.LongTensor", "torch.empty"}
    ),
    joins={
        "torch.cat": Way.TENSOR, "torch.concat": Way.TENSOR, "torch.vstack": Way.TENSOR,
        "numpy.concatenate": Way.ARRAY, "numpy.append": Way.ARRAY, "numpy.vstack": Way.ARRAY,
    },
)  # fmt: skip


def evaluations(plan: Plan) -> list[Evaluation]:
    """The loops over loaders that no backward pass depends on, in which models are called."""
    return find_evaluations(plan, WORDS)


def shared_loops(plan: Plan) -> list[Shared]:
    """The evaluation loops that are sharded, where that is wanted."""
    return find_shared_loops(plan, WORDS)
