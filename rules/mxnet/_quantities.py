"""MXNet's words for the quantity analysis: operations, losses, layers and data sets."""

from __future__ import annotations

from transpile.plan.vocabulary import Batching, LayerOperation, Layers, Loss, TimeFirst, Vocabulary
from transpile.quantity.operations import spoken, words

#: Operations that are called as the analysis calls them.
SAME_NAME = words("""
    item tolist detach astype copy clone array asarray flatten reshape squeeze expand_dims swapaxes
    tile moveaxis zeros ones full empty zeros_like ones_like full_like arange linspace eye
    normal uniform randn randint exponential poisson multinomial
    mean sum nansum prod max min std var norm argmax argmin logsumexp median quantile unique
    softmax log_softmax softmin sort argsort topk cumsum diff stack flip normalize
    abs exp expm1 log log2 log10 log1p sqrt rsqrt square sigmoid relu tanh sin cos tan sinh cosh
    erf erfinv sign round floor ceil trunc fix reciprocal negative maximum minimum where one_hot
    add subtract multiply divide true_divide power mod elementwise
    logical_and logical_or logical_xor logical_not isnan isinf isfinite equal not_equal greater
    greater_equal less less_equal lt le gt ge eq ne gamma linear matmul batch_dot einsum
    split hsplit array_split concatenate size shape
    """) - {"power", "mod", "fix", "batch_dot", "equal", "shape", "gamma"}
#: What arithmetic is called in its several forms, to the operation.
ARITHMETIC = {
    "add": "add", "plus": "add", "sub": "sub", "minus": "sub", "mul": "mul", "div": "div",
    "power": "pow", "maximum": "maximum", "minimum": "minimum", "mod": "remainder",
    "equal": "eq", "not_equal": "ne", "greater": "gt", "greater_equal": "ge", "lesser": "lt",
    "lesser_equal": "le", "logical_and": "logical_and", "logical_or": "logical_or",
}  # fmt: skip
OPERATIONS = {
    **spoken(SAME_NAME),
    **{f"{kind}_{word}": operation for word, operation in ARITHMETIC.items()
       for kind in ("broadcast", "elemwise")},
    **dict.fromkeys(
        ("as_in_context", "as_in_ctx", "as_nd_ndarray", "as_np_ndarray", "copyto", "cast", "Cast",
         "identity", "attach_grad", "wait_to_read", "amp_cast", "BlockGrad", "stop_gradient",
         "split_and_load", "split_data", "as_np", "as_nd"),
        "astype",
    ),
    **dict.fromkeys(
        ("cbrt", "rcbrt", "softrelu", "softsign", "smooth_l1", "Activation", "LeakyReLU", "fix",
         "rint", "degrees", "radians", "gammaln", "gamma", "L2Normalization", "SequenceMask",
         "hard_sigmoid", "power_scalar", "leaky_relu", "activation", "gelu", "logistic",
         "BatchNorm", "BatchNorm_v1", "InstanceNorm", "GroupNorm", "LRN", "SoftmaxActivation"),
        "elementwise",
    ),
    "asnumpy": "numpy", "asscalar": "item", "power": "pow", "mod": "remainder", "equal": "eq",
    "Reshape": "reshape", "Flatten": "flatten", "reshape_like": "view_as", "transpose": "permute",
    "SwapAxis": "swapaxes", "repeat": "repeat_interleave", "broadcast_to": "expand",
    "broadcast_like": "expand_as",
    "clip": "clamp", "slice_axis": "narrow", "pick": "take_along_dim", "take": "index_select",
    "Embedding": "embedding", "FullyConnected": "linear", "Dropout": "dropout",
    "dropout": "dropout", "LayerNorm": "layer_norm", "Convolution": "conv2d",
    "Pooling": "max_pool2d", "dot": "matmul", "batch_dot": "bmm", "concat": "cat", "Concat": "cat",
    "SliceChannel": "split", "reverse": "flip", "flip": "flip", "add_n": "add_all",
    "ElementWiseSum": "add_all", "_apply_weighting": "weighting", "random_normal": "normal",
    "random_uniform": "uniform", "L2Loss": "elementwise", "waitall": "dim", "backward": "dim",
}  # fmt: skip
PARAMETERS = {
    "pick": ("index", "dim"),
    "take": ("index", "dim"),
    "topk": ("dim", "k"),
    "norm": ("ord", "dim"),
    "clip": ("min", "max"),
    "slice_axis": ("dim", "begin", "end"),
    "concat": ("",),
    "Concat": ("",),
    "stack": ("",),
    "split": ("pieces", "dim"),
    "SliceChannel": ("pieces", "dim"),
    "dot": ("other", "transpose_x", "transpose_y"),
    "batch_dot": ("other", "transpose_x", "transpose_y"),
}
DEFAULTS = {
    "concat": 1, "Concat": 1, "split": 1, "SliceChannel": 1, "pick": -1, "take": 0, "sort": -1,
    "argsort": -1, "topk": -1,
}  # fmt: skip
#: Losses of Gluon, each of which gives one number for each sample.
BY_SAMPLE = (
    "L2Loss", "L1Loss", "SigmoidBinaryCrossEntropyLoss", "SigmoidBCELoss", "SoftmaxCELoss",
    "SoftmaxCrossEntropyLoss", "KLDivLoss", "HuberLoss", "HingeLoss", "SquaredHingeLoss",
    "LogisticLoss", "CTCLoss", "PoissonNLLLoss", "CosineEmbeddingLoss", "TripletLoss",
)  # fmt: skip


def _loss(word: str, couples: bool = False) -> Loss:
    inputs = 3 if word in ("TripletLoss", "CosineEmbeddingLoss", "SDMLLoss") else 2
    settings = ("weight", "batch_axis")
    return Loss(word, inputs, (), settings, ("pred", "label"), reduction="none", couples=couples)


#: Layers that take each sample by itself, whatever they are given.
ROWS = words("""
    Dense Dropout Embedding SparseEmbedding Flatten Activation LeakyReLU PReLU ELU SELU Swish GELU
    BatchNorm BatchNormReLU SyncBatchNorm InstanceNorm GroupNorm Identity ReflectionPad2D
    Conv1D Conv2D Conv3D Conv1DTranspose Conv2DTranspose Conv3DTranspose DeformableConvolution
    ModulatedDeformableConvolution MaxPool1D MaxPool2D MaxPool3D AvgPool1D AvgPool2D AvgPool3D
    GlobalAvgPool1D GlobalAvgPool2D GlobalAvgPool3D GlobalMaxPool1D GlobalMaxPool2D GlobalMaxPool3D
    PixelShuffle1D PixelShuffle2D PixelShuffle3D RNN LSTM GRU RNNCell LSTMCell GRUCell LSTMPCell
    SequentialRNNCell HybridSequentialRNNCell BidirectionalCell DropoutCell ResidualCell
    ZoneoutCell VariationalDropoutCell Conv1DRNNCell Conv2DRNNCell Conv3DRNNCell Conv1DLSTMCell
    Conv2DLSTMCell Conv3DLSTMCell Conv1DGRUCell Conv2DGRUCell Conv3DGRUCell Block HybridBlock
    """)
#: Layers that take samples along the first dimension alone, to how many axes they give at least.
SPATIAL = {
    f"{word}{axes}D{last}": axes + 2
    for word, last in (
        ("Conv", ""), ("Conv", "Transpose"), ("MaxPool", ""), ("AvgPool", ""),
        ("GlobalAvgPool", ""), ("GlobalMaxPool", ""),
    )
    for axes in (1, 2, 3)
}  # fmt: skip
SEQUENCES = ("RNN", "LSTM", "GRU")
LAYERS = Layers(
    packages=("mxnet.gluon.nn.", "mxnet.gluon.rnn.", "mxnet.gluon.contrib."),
    functional=("mxnet.npx.",),
    models=("mxnet.gluon.model_zoo.", "gluoncv.model_zoo.", "gluonnlp.model."),
    whole=("mxnet.gluon.model_zoo.", "gluoncv.model_zoo.", "gluonnlp.model."),
    flat=("mxnet.gluon.model_zoo.",),
    several=frozenset({"RNN", "LSTM", "GRU", "RNNCell", "LSTMCell", "GRUCell"}),
    parameterless=frozenset(
        {
            "Activation", "Dropout", "Flatten", "LeakyReLU", "ELU", "SELU", "Swish", "GELU",
            "Lambda", "HybridLambda", "Identity", "MaxPool1D", "MaxPool2D", "MaxPool3D",
            "AvgPool1D", "AvgPool2D", "AvgPool3D", "GlobalAvgPool1D", "GlobalAvgPool2D",
            "GlobalMaxPool1D", "GlobalMaxPool2D", "ReflectionPad2D",
        }
    ),
    containers=frozenset(
        {"Sequential", "HybridSequential", "Concurrent", "HybridConcurrent", "HybridConcatenate"}
    ),
    rows=ROWS,
    by_name=frozenset({"Lambda", "HybridLambda"}),
    # Its own parameters are as many as what it goes along is long: never the samples of a vector.
    operations={"LayerNorm": LayerOperation("normalize", True, ("dim", "eps"), -1, rank=2)},
    time_first=dict.fromkeys(SEQUENCES, TimeFirst("layout", "TNC", True)),
    samples_first=frozenset({*SPATIAL, "Dense"}),
    contracting=frozenset({"Dense", "RNNCell", "LSTMCell", "GRUCell", "LSTMPCell"}),
    axes={**SPATIAL, **dict.fromkeys(SEQUENCES, 3)},
)  # fmt: skip
STACKS = frozenset({"mxnet.nd.stack", "mxnet.np.stack", "numpy.stack"})
PACKAGES = ("mxnet.nd", "mxnet.np", "numpy")
BATCHING = Batching(
    default=frozenset({"mxnet.gluon.data.default_batchify_fn"}),
    stacks=STACKS,
    listed=STACKS
    | {f"{package}.{word}" for package in PACKAGES for word in ("array", "asarray")},
    shaped=frozenset(
        {f"{package}.{word}" for package in PACKAGES for word in ("zeros", "ones", "empty", "full")}
    ),
    tensors=frozenset({"mxnet.gluon.data.ArrayDataset"}),
    of_tensors=("mxnet.gluon.data.ArrayDataset", "mxnet.gluon.data.vision."),
)  # fmt: skip
VOCABULARY = Vocabulary(
    tensors=("mxnet.",),
    packages=(
        "mxnet.nd.", "mxnet.np.", "mxnet.npx.", "mxnet.sym.", "mxnet.gluon.utils.",
        "mxnet.gluon.loss._apply_weighting", "mxnet.contrib.nd.", "numpy.", "math.", "copy.",
    ),
    operations=OPERATIONS,
    parameters=PARAMETERS,
    defaults=DEFAULTS,
    several=frozenset({"split_and_load", "split_data", "SliceChannel"}),
    lists=frozenset({"data", "label"}),
    sizes_kept=frozenset({0}),
    flattening=frozenset({"cumsum", "cumprod"}),
    numbers_wait=False,
    losses={
        "mxnet.nd.softmax_cross_entropy": Loss(
            "softmax_cross_entropy", 2, (), (), ("data", "label"), reduction="sum"
        )
    },
    loss_classes={
        **{f"mxnet.gluon.loss.{word}": _loss(word) for word in BY_SAMPLE},
        "mxnet.gluon.loss.SDMLLoss": _loss("SDMLLoss", couples=True),
    },
    batching=BATCHING,
    layers=LAYERS,
    gradients=frozenset({"mxnet.autograd.grad"}),
    agreed=("mxnet.metric.", "time."),
)  # fmt: skip
