"""The layers of ``torch.nn``: what each does with the axes of its input."""

from __future__ import annotations

SAME = """
Identity ReLU ReLU6 GELU ELU SELU CELU SiLU Mish Hardswish Hardsigmoid Hardtanh Hardshrink LeakyReLU
LogSigmoid PReLU Sigmoid Softplus Softshrink Softsign Tanh Tanhshrink Threshold
"""
NOISE = """
Dropout AlphaDropout FeatureAlphaDropout RReLU Dropout1d Dropout2d Dropout3d StochasticDepth
"""
#: Layers on images and signals of so many dimensions, to whether each channel is for itself.
IMAGES: dict[str, tuple[int, bool]] = {
    f"{word}{rank}d": (rank, alone)
    for rank in (1, 2, 3)
    for word, alone in (
        ("Conv", False), ("ConvTranspose", False), ("LazyConv", False),
        ("LazyConvTranspose", False), ("MaxPool", True), ("AvgPool", True), ("LPPool", True),
        ("AdaptiveMaxPool", True), ("AdaptiveAvgPool", True), ("FractionalMaxPool", True),
        ("MaxUnpool", True), ("InstanceNorm", True), ("ReflectionPad", True),
        ("ReplicationPad", True), ("ZeroPad", True), ("ConstantPad", True), ("CircularPad", True),
    )
}  # fmt: skip
BATCH_NORMS: dict[str, int | None] = {
    "BatchNorm1d": 1, "BatchNorm2d": 2, "BatchNorm3d": 3, "SyncBatchNorm": None,
    "LazyBatchNorm1d": 1, "LazyBatchNorm2d": 2, "LazyBatchNorm3d": 3,
}  # fmt: skip
FUNCTIONAL_IMAGES: dict[str, tuple[int, bool]] = {
    f"{word}{rank}d": (rank, alone)
    for rank in (1, 2, 3)
    for word, alone in (
        ("conv", False), ("conv_transpose", False), ("max_pool", True), ("avg_pool", True),
        ("lp_pool", True), ("adaptive_max_pool", True), ("adaptive_avg_pool", True),
        ("max_unpool", True),
    )
}  # fmt: skip
RECURRENT = {"RNN": False, "GRU": False, "LSTM": True}
CELLS = {"RNNCell": False, "GRUCell": False, "LSTMCell": True}
TRANSFORMERS = frozenset(
    {"Transformer", "TransformerEncoder", "TransformerDecoder", "TransformerEncoderLayer",
     "TransformerDecoderLayer"}
)  # fmt: skip
#: Where ``batch_first`` stands among the parameters.
BATCH_FIRST = {
    "RNN": 5, "GRU": 4, "LSTM": 4, "MultiheadAttention": 8, "TransformerEncoderLayer": 6,
    "TransformerDecoderLayer": 6, "Transformer": 10,
}  # fmt: skip
CONTAINERS = frozenset({"ModuleList", "ModuleDict", "ParameterList", "ParameterDict"})
#: What gives back the layer that it is given, or one like it.
WRAPPERS = frozenset(
    {
        "torch.nn.utils.weight_norm", "torch.nn.utils.spectral_norm",
        "torch.nn.utils.parametrizations.weight_norm",
        "torch.nn.utils.parametrizations.spectral_norm",
        "torch.nn.utils.parametrizations.orthogonal", "torch.compile", "torch.jit.script",
        "torch.nn.DataParallel", "torch.nn.parallel.DistributedDataParallel",
        "torch.nn.SyncBatchNorm.convert_sync_batchnorm", "torch.nn.utils.skip_init",
        "torch.nn.utils.remove_weight_norm", "copy.deepcopy", "copy.copy",
    }
)  # fmt: skip
LOSS_CLASSES: dict[str, str] = {
    "CrossEntropyLoss": "cross_entropy", "NLLLoss": "nll_loss", "MSELoss": "mse_loss",
    "L1Loss": "l1_loss", "SmoothL1Loss": "smooth_l1_loss", "HuberLoss": "huber_loss",
    "BCELoss": "binary_cross_entropy", "BCEWithLogitsLoss": "binary_cross_entropy_with_logits",
    "KLDivLoss": "kl_div", "PoissonNLLLoss": "poisson_nll_loss", "CTCLoss": "ctc_loss",
    "GaussianNLLLoss": "gaussian_nll_loss", "TripletMarginLoss": "triplet_margin_loss",
    "CosineEmbeddingLoss": "cosine_embedding_loss", "MarginRankingLoss": "margin_ranking_loss",
    "HingeEmbeddingLoss": "hinge_embedding_loss", "SoftMarginLoss": "soft_margin_loss",
    "MultiLabelSoftMarginLoss": "multilabel_soft_margin_loss",
    "MultiLabelMarginLoss": "multilabel_margin_loss", "MultiMarginLoss": "multi_margin_loss",
}  # fmt: skip
#: Whole models of libraries: by the name's beginning.
MODELS = ("torchvision.models.", "timm.create_model", "timm.models.", "torch.hub.load",
          "segmentation_models_pytorch.", "efficientnet_pytorch.", "transformers.")  # fmt: skip
OTHER_LAYERS = frozenset(
    {
        "Linear", "LazyLinear", "Bilinear", "Embedding", "EmbeddingBag", "LayerNorm", "RMSNorm",
        "GroupNorm", "LocalResponseNorm", "CrossMapLRN2d", "Softmax", "LogSoftmax", "Softmin",
        "Softmax2d", "GLU", "Flatten", "Unflatten", "PixelShuffle", "PixelUnshuffle",
        "ChannelShuffle", "Upsample", "UpsamplingNearest2d", "UpsamplingBilinear2d", "Fold",
        "Unfold", "CosineSimilarity", "PairwiseDistance", "MultiheadAttention", "Sequential",
        "AdaptiveLogSoftmaxWithLoss", "NonDynamicallyQuantizableLinear", "Module",
    }
)  # fmt: skip
SAME_LAYERS = frozenset(SAME.split())
NOISE_LAYERS = frozenset(NOISE.split())
LAYERS = (
    OTHER_LAYERS | SAME_LAYERS | NOISE_LAYERS | set(IMAGES) | set(BATCH_NORMS) | set(RECURRENT)
    | set(CELLS) | TRANSFORMERS | CONTAINERS | set(LOSS_CLASSES)
)  # fmt: skip
