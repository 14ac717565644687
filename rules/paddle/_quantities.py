"""Paddle's words for the quantity analysis: operations, losses, layers and data sets."""

from __future__ import annotations

from transpile.plan.vocabulary import Batching, LayerOperation, Layers, Loss, TimeFirst, Vocabulary
from transpile.quantity.operations import spoken, words

#: Operations that are called as the analysis calls them.
SAME_NAME = words("""
    item tolist numpy cpu cuda pin_memory to detach clone astype array asarray float int contiguous
    flatten unflatten reshape view squeeze unsqueeze expand expand_as tile t moveaxis real copy
    as_tensor float32 float64 int64 int32 bool
    zeros ones full empty rand randn randint randperm arange linspace eye normal uniform
    zeros_like ones_like full_like empty_like standard_normal randint_like
    add subtract multiply divide neg negative floor_divide remainder pow
    mean average nanmean sum nansum count_nonzero
    max min amax amin std var norm prod median nanmedian quantile nanquantile logsumexp all any
    argmax argmin unique bincount mode
    softmax log_softmax cumsum cumprod logcumsumexp sort argsort topk kthvalue normalize
    cosine_similarity diff
    stack roll flip index_select masked_select nonzero matmul mm bmm einsum cdist linear outer
    abs exp expm1 log log2 log10 log1p sqrt rsqrt square sigmoid tanh sin cos tan asin acos atan
    sinh cosh atan2 relu relu6 leaky_relu elu selu celu gelu silu mish softplus softsign hardtanh
    hardswish hardsigmoid hardshrink softshrink tanhshrink prelu swish sign round floor ceil trunc
    frac reciprocal logical_and logical_or logical_xor logical_not isnan isinf isfinite isclose
    maximum minimum fmax fmin where dropout one_hot embedding conv1d conv2d conv3d max_pool1d
    max_pool2d max_pool3d avg_pool1d avg_pool2d avg_pool3d adaptive_avg_pool1d adaptive_avg_pool2d
    adaptive_max_pool1d adaptive_max_pool2d interpolate upsample grid_sample layer_norm group_norm
    instance_norm batch_norm pixel_shuffle unfold fold glu eq ne lt le gt ge erf lerp lgamma
    digamma logit split chunk unbind dim ndimension element_size alpha_dropout erfinv
    masked_fill tril triu angle conj size numel bernoulli multinomial nan_to_num clip
    """)
OPERATIONS = spoken(
    SAME_NAME,
    cast="astype",
    to_tensor="tensor",
    assign="clone",
    add_n="add_all",
    broadcast_to="expand",
    transpose="permute",
    gaussian="normal",
    log_normal="normal",
    scale="scale",
    pad="pad_either",
    mod="remainder",
    floor_mod="remainder",
    histogram="histc",
    concat="cat",
    gather="index_select",
    take_along_axis="take_along_dim",
    unstack="unbind",
    log_sigmoid="logsigmoid",
    log_loss="elementwise",
    label_smooth="elementwise",
    equal="eq",
    not_equal="ne",
    less_than="lt",
    less_equal="le",
    greater_than="gt",
    greater_equal="ge",
    dropout2d="dropout",
    dropout3d="dropout",
    conv1d_transpose="conv_transpose1d",
    conv2d_transpose="conv_transpose2d",
    conv3d_transpose="conv_transpose3d",
    rank="dim",
    backward="dim",
    clear_grad="dim",
    clear_gradients="dim",
    get_lr="dim",
)
#: Functions of static graphs that take each sample, or each sequence, by itself.
STATIC_LAYERS = words("""
    fc embedding sparse_embedding conv2d conv2d_transpose conv3d conv3d_transpose batch_norm
    data_norm layer_norm group_norm instance_norm spectral_norm deform_conv2d prelu row_conv nce
    bilinear_tensor_product crf_decoding multi_box_head continuous_value_model
    sequence_concat sequence_conv sequence_enumerate sequence_expand sequence_expand_as
    sequence_first_step sequence_last_step sequence_pad sequence_pool sequence_reverse
    sequence_slice sequence_softmax sequence_unpad
    """)
PARAMETERS = {
    "gather": ("index", "dim"),
    "index_select": ("index", "dim"),
    "take_along_axis": ("index", "dim"),
    "split": ("pieces", "dim"),
    "matmul": ("other", "transpose_x", "transpose_y"),
}
LABELS = ("input", "label")
#: Measured: 2.6 divides by the targets other than -100, 3.3 by all.
LEFT_OUT = (
    "the script writes -100, which marks targets that the mean leaves out in some versions of "
    "Paddle (2.6) and not in others (3.3)"
)
#: Measured: 2.6 divides by the targets that are kept, 3.3 by all unless it is 0 or more.
NEGATIVE = (
    "what its mean leaves out for a negative 'ignore_index' is not the same in all versions of "
    "Paddle"
)
_CLASSES = ("weight", "ignore_index", "reduction")
_ENTROPY = (*_CLASSES, "soft_label", "axis", "use_softmax", "label_smoothing")
_PLAIN = ("reduction",)
_LOGITS = ("weight", "reduction", "pos_weight")


def _loss(
    function: str, parameters: tuple[str, ...] = _PLAIN, inputs: int = 2, **more: object
) -> Loss:
    return Loss(function, inputs, parameters, parameters, LABELS, **more)  # type: ignore[arg-type]


#: Class to loss; the functional forms are found through it.
CLASSES: dict[str, Loss] = {
    "CrossEntropyLoss": _loss(
        "cross_entropy", _ENTROPY, by_targets=True, unsure=LEFT_OUT, negative=NEGATIVE
    ),
    "NLLLoss": _loss("nll_loss", _CLASSES, by_targets=True),
    "MSELoss": _loss("mse_loss"),
    "L1Loss": _loss("l1_loss"),
    "SmoothL1Loss": _loss("smooth_l1_loss", ("reduction", "delta")),
    "BCELoss": _loss("binary_cross_entropy", ("weight", "reduction")),
    "BCEWithLogitsLoss": _loss("binary_cross_entropy_with_logits", _LOGITS),
    "KLDivLoss": _loss("kl_div"),
    "MarginRankingLoss": _loss("margin_ranking_loss", ("margin", "reduction"), 3),
    "CosineEmbeddingLoss": _loss("cosine_embedding_loss", ("margin", "reduction"), 3),
    "HingeEmbeddingLoss": _loss("hinge_embedding_loss", ("margin", "reduction")),
    "TripletMarginLoss": _loss(
        "triplet_margin_loss", ("margin", "p", "epsilon", "swap", "reduction"), 3
    ),
    "TripletMarginWithDistanceLoss": _loss(
        "triplet_margin_with_distance_loss",
        ("distance_function", "margin", "swap", "reduction"),
        3,
    ),
    "CTCLoss": _loss("ctc_loss", couples=True),
    "SoftMarginLoss": _loss("soft_margin_loss"),
    "MultiMarginLoss": _loss("multi_margin_loss", ("p", "margin", "weight", "reduction")),
    "MultiLabelSoftMarginLoss": _loss("multi_label_soft_margin_loss", ("weight", "reduction")),
    "GaussianNLLLoss": _loss("gaussian_nll_loss", ("full", "epsilon", "reduction"), 3),
    "PoissonNLLLoss": _loss("poisson_nll_loss", ("log_input", "full", "epsilon", "reduction")),
}
FUNCTIONS: dict[str, Loss] = {
    **{loss.function: loss for loss in CLASSES.values()},
    "softmax_with_cross_entropy": _loss(
        "softmax_with_cross_entropy", ("soft_label", "ignore_index"), reduction="none"
    ),
    "square_error_cost": _loss("square_error_cost", (), reduction="none"),
    "log_loss": _loss("log_loss", ("epsilon",), reduction="none"),
    "sigmoid_focal_loss": _loss(
        "sigmoid_focal_loss", ("normalizer", "alpha", "gamma", "reduction"), couples=True
    ),
    "dice_loss": _loss("dice_loss", ("epsilon",), couples=True),
    "npair_loss": _loss("npair_loss", ("l2_reg",), 3, couples=True),
}
BATCHING = Batching(
    stacks=frozenset({"paddle.stack", "numpy.stack"}),
    joins=frozenset({"paddle.concat", "numpy.concatenate"}),
    listed=frozenset({"paddle.stack", "numpy.stack", "paddle.to_tensor", "numpy.array"}),
    shaped=frozenset(
        {f"{package}.{word}" for package in ("paddle", "numpy") for word in
         ("zeros", "ones", "empty", "full")}
    ),
    tensors=frozenset({"paddle.io.TensorDataset"}),
    of_tensors=("paddle.io.TensorDataset",),
    wrappers=frozenset(
        {"paddle.io.Subset", "paddle.io.random_split", "paddle.io.ConcatDataset"}
    ),
    chains=frozenset({"paddle.io.ConcatDataset"}),
)  # fmt: skip
PARAMETERLESS = words("""
    Identity Flatten Dropout Dropout2D Dropout3D AlphaDropout ReLU ReLU6 LeakyReLU ELU CELU SELU
    GELU Silu Swish Mish Sigmoid Tanh Softplus Softsign Softmax LogSoftmax LogSigmoid Hardtanh
    Hardswish Hardsigmoid Hardshrink Softshrink Tanhshrink ThresholdedReLU GLU MaxPool1D MaxPool2D
    MaxPool3D AvgPool1D AvgPool2D AvgPool3D AdaptiveAvgPool1D AdaptiveAvgPool2D AdaptiveAvgPool3D
    AdaptiveMaxPool1D AdaptiveMaxPool2D AdaptiveMaxPool3D Upsample UpsamplingNearest2D
    UpsamplingBilinear2D PixelShuffle Pad1D Pad2D Pad3D ZeroPad2D CosineSimilarity PairwiseDistance
    Fold Unfold ChannelShuffle
    """)
#: Layers that take each sample by itself, whatever they are given.
ROWS = words("""
    BatchNorm BatchNorm1D BatchNorm2D BatchNorm3D SyncBatchNorm GroupNorm LayerNorm SpectralNorm
    InstanceNorm1D InstanceNorm2D InstanceNorm3D LocalResponseNorm Embedding Linear Bilinear
    Upsample UpsamplingNearest2D UpsamplingBilinear2D Pad1D Pad2D Pad3D ZeroPad1D ZeroPad2D
    ZeroPad3D ConstantPad1D ConstantPad2D ConstantPad3D CircularPad1D CircularPad2D CircularPad3D
    ReplicationPad1D ReplicationPad2D ReplicationPad3D ReflectionPad1D ReflectionPad2D
    ReflectionPad3D PairwiseDistance Dropout Dropout2D Dropout3D AlphaDropout FeatureAlphaDropout
    Unfold Fold SimpleRNNCell LSTMCell GRUCell RNN BiRNN SimpleRNN LSTM GRU MultiHeadAttention
    Transformer TransformerEncoder TransformerEncoderLayer TransformerDecoder
    TransformerDecoderLayer ReLU ReLU6 LeakyReLU PReLU RReLU ELU CELU SELU GELU Silu SiLU Swish
    Hardswish Mish Sigmoid LogSigmoid Hardsigmoid Tanh Tanhshrink Hardtanh Hardshrink Softshrink
    Softplus Softsign ThresholdedReLU Softmax2D Identity PixelShuffle PixelUnshuffle
    ChannelShuffle Conv1D Conv2D Conv3D Conv1DTranspose Conv2DTranspose Conv3DTranspose
    Conv1d Conv2d Conv3d AvgPool1D AvgPool2D AvgPool3D MaxPool1D MaxPool2D MaxPool3D
    AdaptiveAvgPool1D AdaptiveAvgPool2D AdaptiveAvgPool3D AdaptiveMaxPool1D AdaptiveMaxPool2D
    AdaptiveMaxPool3D MaxUnPool1D MaxUnPool2D MaxUnPool3D FractionalMaxPool2D
    FractionalMaxPool3D LPPool1D LPPool2D LayerList LayerDict ParameterList ParameterDict Layer
    """)
#: Layers that take samples along the first dimension alone, to how many axes they give at least.
SPATIAL = {
    f"{word}{axes}{last}": axes + 2
    for word, last in (
        ("Conv", "D"), ("Conv", "DTranspose"), ("MaxPool", "D"), ("AvgPool", "D"),
        ("AdaptiveAvgPool", "D"), ("AdaptiveMaxPool", "D"), ("InstanceNorm", "D"),
    )
    for axes in (1, 2, 3)
}  # fmt: skip
ATTENDING = words("""
    MultiHeadAttention Transformer TransformerEncoder TransformerEncoderLayer TransformerDecoder
    TransformerDecoderLayer
    """)
SEQUENCES = ("RNN", "BiRNN", "SimpleRNN", "LSTM", "GRU")
LAYERS = Layers(
    packages=("paddle.nn.",),
    functional=("paddle.nn.functional.", "paddle.nn.utils.", "paddle.nn.initializer."),
    models=("paddle.vision.models.", "paddle.text.", "paddlenlp.transformers.", "paddle.jit."),
    whole=("paddle.vision.models.", "paddlenlp.transformers."),
    flat=("paddle.vision.models.",),
    several_models=("inception", "Inception", "googlenet", "GoogLeNet"),
    several=frozenset(
        {
            "RNN", "LSTM", "GRU", "SimpleRNN", "BiRNN", "SimpleRNNCell", "LSTMCell", "GRUCell",
            "MultiHeadAttention",
        }
    ),
    recurrent={"paddle.nn.GRU": False, "paddle.nn.SimpleRNN": False, "paddle.nn.LSTM": True},
    parameterless=PARAMETERLESS,
    renewing=frozenset({"paddle.nn.utils.weight_norm", "paddle.nn.utils.remove_weight_norm"}),
    containers=frozenset({"Sequential", "LayerList", "LayerDict"}),
    rows=ROWS,
    operations={
        "Softmax": LayerOperation("softmax"),
        "LogSoftmax": LayerOperation("log_softmax"),
        "GLU": LayerOperation("glu"),
        "Maxout": LayerOperation("glu", order=("groups", "dim"), default=1),
        "Flatten": LayerOperation("flatten", default=1, order=("start_dim", "end_dim")),
        "Unflatten": LayerOperation("unflatten"),
        "CosineSimilarity": LayerOperation("cosine_similarity", order=("dim", "eps"), default=1),
    },
    time_first=dict.fromkeys(SEQUENCES, TimeFirst("time_major", True, False)),
    samples_first=frozenset(SPATIAL) | ATTENDING,
    contracting=frozenset({"Linear", "Bilinear", "SimpleRNNCell", "LSTMCell", "GRUCell"}),
    axes={**SPATIAL, **dict.fromkeys((*SEQUENCES, *ATTENDING), 3)},
)  # fmt: skip
VOCABULARY = Vocabulary(
    tensors=("paddle.",),
    packages=("paddle.", "numpy.", "math.", "copy.", "scipy.special."),
    operations=OPERATIONS,
    parameters=PARAMETERS,
    losses={
        f"paddle.nn.functional.{package}{word}": loss
        for package in ("", "loss.")
        for word, loss in FUNCTIONS.items()
    },
    loss_classes={
        f"paddle.nn.{package}{word}": loss
        for package in ("", "layer.loss.", "layer.")
        for word, loss in CLASSES.items()
    },
    batching=BATCHING,
    layers=LAYERS,
    gradients=frozenset({"paddle.grad", "paddle.autograd.grad"}),
    sums=frozenset({"paddle.distributed.all_reduce"}),
    collectives="paddle.distributed",
    distributions=("paddle.distribution.",),
    agreed=("paddle.metric.Metric", "time.", "os.", "datetime."),
    searching=(".LBFGS",),
    numbers_wait=False,
    samples=frozenset({"paddle.static.data"}),
    means=frozenset({"paddle.metric.accuracy", "paddle.static.accuracy"}),
    layer_functions=("paddle.static.nn.",),
    layer_words=STATIC_LAYERS,
    flattening=frozenset({"cumsum", "cumprod", "logcumsumexp"}),
)
