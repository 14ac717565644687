"""SINGA's words for the quantity analysis: its functions, layers and losses.

A function or layer that is not named here counts as unknown.
"""

from __future__ import annotations

from transpile.facts.values import Constant, Opaque
from transpile.plan.vocabulary import LayerOperation, Layers, Loss, Vocabulary
from transpile.quantity.operations import spoken, words
from transpile.rules.singa._vocabulary import FROM_NUMPY, TENSOR, TENSORS_AS_THEY_ARE

#: Functions that are called as the analysis calls them.
SAME_NAME = words("""
    relu clip matmul add sub mul div elu selu softmax tanh cos cosh acos acosh sin sinh asin asinh
    tan atan atanh sigmoid abs exp prelu sign pow softsign sqrt softplus log negative reciprocal
    ceil floor round erf dropout cat flatten squeeze unsqueeze reshape where greater less
    """) - {"equal"}
#: Functions of one or several tensors that take each row by itself.
BY_ROW = (
    "leakyrelu", "hardsigmoid", "rounde", "globalaveragepool", "pooling_2d", "upsample",
    "depth_to_space", "space_to_depth", "onehot", "batchnorm_2d", "conv2d", "embedding", "cossim",
    "_and", "_or", "_not", "_xor", "_conv2d",
)  # fmt: skip
OPERATIONS = {
    **spoken(
        SAME_NAME,
        identity="clone",
        cast="astype",
        add_bias="add",
        add_all="add_all",
        equal="eq",
        reduce_sum="sum",
        reduce_mean="mean",
        transpose="permute",
        gather="index_select",
    ),
    **dict.fromkeys((*BY_ROW,), "elementwise"),
    **dict.fromkeys(TENSORS_AS_THEY_ARE, "clone"),
}
PARAMETERS = {
    "reduce_sum": ("dim",),
    "reduce_mean": ("dim",),
    "gather": ("dim", "index"),
    "flatten": ("start_dim",),
    "softmax": ("dim",),
}
DEFAULTS = {"flatten": 1, "softmax": 1, "cat": 0}
LAYERS = Layers(
    packages=("singa.layer.",),
    rows=frozenset(
        {
            "Linear", "Gemm", "Embedding", "Conv2d", "SeparableConv2d", "BatchNorm2d", "Pooling2d",
            "MaxPool2d", "AvgPool2d", "MaxPool1d", "AvgPool1d", "ReLU", "Sigmoid", "Add",
            "SoftMax", "Dropout", "Tanh",
        }
    ),
    operations={
        "Flatten": LayerOperation("flatten"),
        "Cat": LayerOperation("cat"),
        "Reshape": LayerOperation("reshape", when_made=False),
    },
)  # fmt: skip


def _mean(word: str, names: tuple[str, str]) -> Loss:
    return Loss(word, 2, (), (), names)


#: Losses that are the mean over the samples of a batch: the function, its parameters, its class.
MEANS = (
    ("softmax_cross_entropy", ("x", "t"), "SoftMaxCrossEntropy"),
    ("cross_entropy", ("y", "t"), "CrossEntropy"),
    ("mse_loss", ("x", "t"), "MeanSquareError"),
    ("binary_cross_entropy", ("x", "t"), "BinaryCrossEntropy"),
    ("ranking_loss", ("pos", "neg"), ""),
)


def keeps_gradients(made: Opaque) -> bool:
    """Whether a tensor is a parameter: it keeps gradients, and takes no batch in."""
    stores = made.arguments.get("stores_grad", 5)
    given = stores.values if stores is not None else ()
    later = made.attributes.get("stores_grad", ())
    return Constant(True) in (given[0] if len(given) == 1 else None, *later[:1])


VOCABULARY = Vocabulary(
    tensors=("singa.tensor.", "singa.autograd."),
    packages=("singa.autograd.", "numpy.", "math."),
    operations=OPERATIONS,
    parameters=PARAMETERS,
    defaults=DEFAULTS,
    numbers_wait=False,
    samples=frozenset({TENSOR, FROM_NUMPY}),
    parameter=keeps_gradients,
    losses={f"singa.autograd.{word}": _mean(word, names) for word, names, _ in MEANS},
    loss_classes={f"singa.layer.{cls}": _mean(word, names) for word, names, cls in MEANS if cls},
    layers=LAYERS,
)
