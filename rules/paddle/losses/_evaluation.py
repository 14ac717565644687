"""Paddle's evaluation loops."""

from __future__ import annotations

from transpile.evaluation import Evaluation, Shared, Way
from transpile.evaluation import evaluations as find_evaluations
from transpile.evaluation import shared_loops as find_shared_loops
from transpile.evaluation.words import EvaluationWords
from transpile.facts.values import Constant, Instance, Values
from transpile.plan.effects.effects import Vocabulary
from transpile.plan.graph import called_names
from transpile.plan.model import Plan


def is_distributed(values: Values) -> bool:
    """Whether a batch sampler may be one that knows of several processes."""
    return any("paddle.io.DistributedBatchSampler" in called_names(value) for value in values)


def is_stream(values: Values) -> bool:
    """Whether a data set may be iterated and not indexed."""
    return any(
        isinstance(value, Instance) and "paddle.io.IterableDataset" in value.cls.external_bases()
        for value in values
        if not isinstance(value, Constant)
    )


def words_with(vocabulary: Vocabulary) -> EvaluationWords:
    """What Paddle's functions mean for an evaluation.

    Args:
        vocabulary: what has effects.
    """
    return EvaluationWords(
        package="paddle.",
        vocabulary=vocabulary,
        is_distributed=is_distributed,
        is_stream=is_stream,
        computing=("paddle.",),
        effects=(
            "paddle.save", "paddle.load", "paddle.distributed.", "paddle.seed", "paddle.set_",
            "paddle.jit.", "paddle.onnx.", "paddle.profiler.", "paddle.io.", "paddle.grad",
            "paddle.autograd.", "paddle.optimizer.", "paddle.static.", "paddle.hub.",
            "paddle.enable_static", "paddle.disable_static", "paddle.Model", "paddle.create_",
            "paddle.summary", "paddle.flops", "paddle.increment", "paddle.assign",
        ),
        drawing=frozenset(
            {"paddle.nn.functional.gumbel_softmax", "paddle.nn.functional.rrelu",
             "paddle.nn.functional.class_center_sample"}
        ),
        dropouts=("paddle.nn.functional.dropout", "paddle.nn.functional.alpha_dropout"),
        layers=("paddle.nn.",),
        models=("paddle.nn.", "paddle.vision.models.", "paddlenlp.transformers."),
        transforms=("paddle.vision.transforms.",),
        compilers=frozenset({"paddle.jit.to_static"}),
        zeros=frozenset(
            {"paddle.zeros", "paddle.zeros_like", "numpy.zeros", "numpy.zeros_like"}
        ),
        tensors=frozenset({"paddle.to_tensor", "paddle.empty"}),
        joins={
            "paddle.concat": Way.TENSOR, "paddle.vstack": Way.TENSOR,
            "numpy.concatenate": Way.ARRAY, "numpy.append": Way.ARRAY, "numpy.vstack": Way.ARRAY,
        },
        looking=frozenset(
            {
                "cast", "tile", "clip", "equal", "not_equal", "equal_all", "less_than",
                "less_equal", "greater_than", "greater_equal", "subtract", "multiply", "divide",
                "square", "sublayers", "named_sublayers", "logical_and", "logical_or",
                "logical_not", "concat", "unstack", "unbind", "log", "nonzero", "cumsum",
                "compute", "flip", "roll", "maximum", "minimum", "gather_nd", "masked_select",
            }
        ),
    )  # fmt: skip


def evaluations(plan: Plan, vocabulary: Vocabulary) -> list[Evaluation]:
    """The loops over loaders that no backward pass depends on, in which models are called."""
    return find_evaluations(plan, words_with(vocabulary))


def shared_loops(plan: Plan, vocabulary: Vocabulary) -> list[Shared]:
    """The evaluation loops that are sharded, where that is wanted."""
    return find_shared_loops(plan, words_with(vocabulary))
