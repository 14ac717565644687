"""PyTorch's words for the quantity analysis: operations, losses, layers and data sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from transpile.plan.vocabulary import Batching, LayerOperation, Layers, Loss, Vocabulary
from transpile.quantity.operations import ALL, spoken
from transpile.rules.pytorch.operations.heads import head_of

if TYPE_CHECKING:
    from transpile.plan.model import Plan

_OLD = ("size_average", "reduce", "reduction")
_CLASSES = ("weight", "size_average", "ignore_index", "reduce", "reduction")
_BINARY = ("weight", *_OLD)
#: Class to loss; the functional forms are found through it.
CLASSES: dict[str, Loss] = {
    "CrossEntropyLoss": Loss(
        "cross_entropy",
        2,
        (*_CLASSES, "label_smoothing"),
        (*_CLASSES, "label_smoothing"),
        by_targets=True,
        sized=True,
    ),
    "NLLLoss": Loss("nll_loss", 2, _CLASSES, _CLASSES, by_targets=True, sized=True),
    "NLLLoss2d": Loss("nll_loss", 2, _CLASSES, _CLASSES, by_targets=True, sized=True),
    "BCELoss": Loss("binary_cross_entropy", 2, _BINARY, _BINARY, sized=True),
    "BCEWithLogitsLoss": Loss(
        "binary_cross_entropy_with_logits",
        2,
        (*_BINARY, "pos_weight"),
        (*_BINARY, "pos_weight"),
        sized=True,
    ),
    "MSELoss": Loss("mse_loss", 2, _OLD, _OLD, sized=True),
    "L1Loss": Loss("l1_loss", 2, _OLD, _OLD, sized=True),
    "SmoothL1Loss": Loss("smooth_l1_loss", 2, (*_OLD, "beta"), (*_OLD, "beta")),
    "HuberLoss": Loss("huber_loss", 2, ("reduction", "delta"), ("reduction", "delta")),
    "KLDivLoss": Loss("kl_div", 2, (*_OLD, "log_target"), (*_OLD, "log_target")),
    "PoissonNLLLoss": Loss(
        "poisson_nll_loss",
        2,
        ("log_input", "full", "size_average", "eps", "reduce", "reduction"),
        ("log_input", "full", "size_average", "eps", "reduce", "reduction"),
    ),
    "GaussianNLLLoss": Loss(
        "gaussian_nll_loss", 3, ("full", "eps", "reduction"), ("full", "eps", "reduction")
    ),
    "HingeEmbeddingLoss": Loss("hinge_embedding_loss", 2, ("margin", *_OLD), ("margin", *_OLD)),
    "MarginRankingLoss": Loss("margin_ranking_loss", 3, ("margin", *_OLD), ("margin", *_OLD)),
    "CosineEmbeddingLoss": Loss("cosine_embedding_loss", 3, ("margin", *_OLD), ("margin", *_OLD)),
    "TripletMarginLoss": Loss(
        "triplet_margin_loss",
        3,
        ("margin", "p", "eps", "swap", *_OLD),
        ("margin", "p", "eps", "swap", *_OLD),
    ),
    "TripletMarginWithDistanceLoss": Loss(
        "triplet_margin_with_distance_loss",
        3,
        (),
        ("distance_function", "margin", "swap", "reduction"),
    ),
    "SoftMarginLoss": Loss("soft_margin_loss", 2, _OLD, _OLD),
    "MultiMarginLoss": Loss(
        "multi_margin_loss", 2, ("p", "margin", "weight", *_OLD), ("p", "margin", "weight", *_OLD)
    ),
    "MultiLabelMarginLoss": Loss("multilabel_margin_loss", 2, _OLD, _OLD),
    "MultiLabelSoftMarginLoss": Loss("multilabel_soft_margin_loss", 2, _BINARY, _BINARY),
    "CTCLoss": Loss(
        "ctc_loss",
        4,
        ("blank", "reduction", "zero_infinity"),
        ("blank", "reduction", "zero_infinity"),
    ),
    "AdaptiveLogSoftmaxWithLoss": Loss("", 2, (), ()),
}
FUNCTIONS: dict[str, Loss] = {
    **{loss.function: loss for loss in CLASSES.values() if loss.function},
    "sigmoid_focal_loss": Loss(
        "sigmoid_focal_loss", 2, ("alpha", "gamma", "reduction"), (), reduction="none"
    ),
}
LOSS_PACKAGES = (
    "torch.nn.functional", "torch.nn", "torch", "torchvision.ops", "torchvision.ops.focal_loss",
    "torch._C._nn",
)  # fmt: skip
#: Losses of other libraries: means over the samples.
OTHER_CLASSES = {
    "timm.loss.LabelSmoothingCrossEntropy": Loss("cross_entropy", 2, (), ("smoothing",)),
    "timm.loss.SoftTargetCrossEntropy": Loss("soft_target_cross_entropy", 2, (), ()),
    "timm.loss.BinaryCrossEntropy": Loss(
        "binary_cross_entropy_with_logits",
        2,
        (),
        ("smoothing", "target_threshold", "weight", "reduction", "sum_classes", "pos_weight"),
    ),
}
CLASS_PACKAGES = ("torch.nn", "torch.nn.modules.loss", "torch.nn.modules")

PARAMETERLESS = """
    Identity Flatten Unflatten Dropout Dropout1d Dropout2d Dropout3d AlphaDropout
    FeatureAlphaDropout ReLU ReLU6 RReLU LeakyReLU ELU CELU SELU GELU SiLU Mish Sigmoid Tanh
    Softplus Softsign Softmin Softmax Softmax2d LogSoftmax LogSigmoid Hardtanh Hardswish
    Hardsigmoid Hardshrink Softshrink Tanhshrink Threshold GLU MaxPool1d MaxPool2d MaxPool3d
    AvgPool1d AvgPool2d AvgPool3d AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d
    AdaptiveMaxPool1d AdaptiveMaxPool2d AdaptiveMaxPool3d LPPool1d LPPool2d FractionalMaxPool2d
    MaxUnpool1d MaxUnpool2d MaxUnpool3d Upsample UpsamplingNearest2d UpsamplingBilinear2d
    PixelShuffle PixelUnshuffle ZeroPad2d ReflectionPad1d ReflectionPad2d ReplicationPad1d
    ReplicationPad2d ConstantPad1d ConstantPad2d CosineSimilarity PairwiseDistance Fold Unfold
    ChannelShuffle
    """

STACKS = frozenset({"torch.stack", "numpy.stack", "torch.utils.data.default_collate"})
BATCHING = Batching(
    default=frozenset({"torch.utils.data.default_collate"}),
    stacks=STACKS,
    joins=frozenset({"torch.cat", "torch.concat", "torch.concatenate", "numpy.concatenate"}),
    shaped=frozenset(
        {
            "torch.zeros", "torch.ones", "torch.empty", "torch.full", "torch.LongTensor",
            "torch.FloatTensor", "torch.Tensor", "numpy.zeros", "numpy.ones", "numpy.empty",
            "numpy.full",
        }
    ),
    listed=STACKS | {"torch.tensor", "torch.as_tensor", "torch.LongTensor", "torch.FloatTensor"},
    pads=frozenset({"torch.nn.utils.rnn.pad_sequence"}),
    tensors=frozenset({"torch.utils.data.TensorDataset"}),
    of_tensors=("torch.utils.data.TensorDataset", "torchvision.datasets."),
    wrappers=frozenset(
        f"torch.utils.data.{name}" for name in ("Subset", "ConcatDataset", "random_split")
    ),
    chains=frozenset({"torch.utils.data.ConcatDataset"}),
)  # fmt: skip


#: Layers that take samples along the first dimension alone, to how many axes there are at least.
SPATIAL = {
    f"{word}{rank}d": rank + 1
    for word in (
        "Conv", "ConvTranspose", "MaxPool", "AvgPool", "AdaptiveAvgPool", "AdaptiveMaxPool",
        "BatchNorm", "InstanceNorm",
    )
    for rank in (1, 2, 3)
}  # fmt: skip
#: Models and layers of timm; what it has for data mixes the samples of a batch.
TIMM = ("timm.create_model", "timm.models.", "timm.layers.")
LAYERS = Layers(
    packages=("torch.nn.",),
    functional=("torch.nn.functional.",),
    models=(
        "torchvision.models.", "torch.hub.", *TIMM, "transformers.", "torch.jit.",
        "torch.compile", "segmentation_models_pytorch.",
    ),
    whole=("torchvision.models.", "torch.hub.", *TIMM, "transformers."),
    flat=("torchvision.models.",),
    several_models=("inception", "Inception", "googlenet", "GoogLeNet"),
    several=frozenset(
        {"RNN", "LSTM", "GRU", "LSTMCell", "MultiheadAttention", "AdaptiveLogSoftmaxWithLoss"}
    ),
    recurrent={"torch.nn.GRU": False, "torch.nn.RNN": False, "torch.nn.LSTM": True},
    parameterless=frozenset(PARAMETERLESS.split()),
    containers=frozenset({"Sequential", "ModuleList", "ModuleDict", "DataParallel"}),
    along_first=frozenset(
        {
            "RNN", "LSTM", "GRU", "MultiheadAttention", "Transformer", "TransformerEncoderLayer",
            "TransformerDecoderLayer",
        }
    ),
    stacks=frozenset({"TransformerEncoder", "TransformerDecoder"}),
    lazy=("torch.nn.Lazy",),
    renewing=frozenset(
        f"torch.nn.utils.{name}"
        for name in (
            "weight_norm", "remove_weight_norm", "parametrizations.weight_norm",
            "parametrize.register_parametrization", "parametrize.remove_parametrizations",
        )
    ),
    samples_first=frozenset(SPATIAL),
    axes={**SPATIAL, "Upsample": 3, "UpsamplingNearest2d": 4, "UpsamplingBilinear2d": 4},
    operations={
        "Softmax": LayerOperation("softmax", order=("dim",)),
        "LogSoftmax": LayerOperation("log_softmax", order=("dim",)),
        "Softmin": LayerOperation("softmin", order=("dim",)),
    },
    heads=head_of,
)  # fmt: skip


def are_apart(plan: Plan) -> bool:
    """Whether the models of a plan are shown to keep the samples of a batch apart."""
    from transpile.rules.pytorch.models._split.rows import are_apart as shown

    # Who has distributed a script by hand has said that they are.
    return plan.by_hand or bool(shown(plan))


VOCABULARY = Vocabulary(
    tensors=("torch.",),
    packages=(
        "torch.", "numpy.", "math.", "copy.", "scipy.special.", "torchvision.transforms.",
        "torchvision.utils.",
    ),
    operations=spoken(ALL - {"scale", "add_all", "weighting", "elementwise", "pad_either"}),
    losses={
        f"{package}.{word}": loss for package in LOSS_PACKAGES for word, loss in FUNCTIONS.items()
    },
    loss_classes=OTHER_CLASSES
    | {
        f"{package}.{word}": loss for package in CLASS_PACKAGES for word, loss in CLASSES.items()
    },
    batching=BATCHING,
    layers=LAYERS,
    gradients=frozenset({"torch.autograd.grad"}),
    sums=frozenset({"torch.distributed.all_reduce"}),
    collectives="torch.distributed",
    distributions=("torch.distributions.",),
    agreed=("torchmetrics.",),
    scaling=("amp.scale_loss",),
    searching=(".LBFGS",),
    apart=are_apart,
)  # fmt: skip
