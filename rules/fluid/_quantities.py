"""Fluid's words for the quantity analysis: what its layers do with the samples of a batch.

Layers that take each sample by itself are named beside; of others nothing is known.
"""

from __future__ import annotations

from transpile.plan.vocabulary import Layers, Vocabulary
from transpile.quantity.operations import spoken, words
from transpile.rules.fluid._layers import APART, MEANS

OPERATIONS = spoken(
    words("""
    mean reshape squeeze unsqueeze flatten stack split cumsum argsort topk clip pow square sqrt
    rsqrt exp log abs relu sigmoid tanh softplus reciprocal softmax cast sums scale
    """) - {"cast", "sums"},
    cast="astype",
    assign="clone",
    sums="add_all",
    sum="add_all",
    reduce_mean="mean",
    reduce_sum="sum",
    reduce_max="amax",
    reduce_min="amin",
    reduce_prod="prod",
    elementwise_add="add",
    elementwise_sub="sub",
    elementwise_mul="mul",
    elementwise_div="div",
    elementwise_max="maximum",
    elementwise_min="minimum",
    elementwise_pow="pow",
    logsigmoid="elementwise",
    transpose="permute",
    concat="cat",
    expand="tile",
    slice="narrow",
    strided_slice="narrow",
    l2_normalize="normalize",
    reverse="flip",
    matmul="matmul",
    mul="mm",
    gather="index_select",
)
PARAMETERS = {
    "softmax": ("", "", "dim"),
    "split": ("pieces", "dim"),
    "topk": ("k",),
    "l2_normalize": ("dim",),
    "slice": ("dim", "starts", "ends"),
    "strided_slice": ("dim", "starts", "ends"),
    "matmul": ("other", "transpose_x", "transpose_y"),
    "gather": ("index",),
    "flatten": ("start_dim",),
    "elementwise_pow": ("other",),
}
DEFAULTS = {"split": -1, "topk": -1, "gather": 0, "argsort": -1}
LAYERS = "paddle.fluid.layers."
VOCABULARY = Vocabulary(
    tensors=("paddle.fluid.",),
    several=frozenset({"softmax_with_cross_entropy"}),
    packages=(LAYERS, "paddle.fluid.nets.", "numpy.", "math."),
    operations=OPERATIONS,
    parameters=PARAMETERS,
    defaults=DEFAULTS,
    sizes_kept=frozenset({0}),
    numbers_wait=False,
    samples=frozenset(
        {
            f"{LAYERS}data", "paddle.fluid.data", f"{LAYERS}read_file",
            "paddle.fluid.dygraph.to_variable",
        }
    ),
    layers=Layers(models=("paddle.fluid.dygraph.",), functional=(LAYERS,)),
    layer_functions=(LAYERS, "paddle.fluid.nets.", "paddle.fluid.embedding"),
    layer_words=APART,
    means=frozenset(f"{LAYERS}{word}" for word in MEANS),
    operations_first=True,
    weights=frozenset({f"{LAYERS}create_parameter", f"{LAYERS}create_global_var"}),
)  # fmt: skip
