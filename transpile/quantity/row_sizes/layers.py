"""The sizes of what layers give."""

from __future__ import annotations

from transpile.facts.values import Opaque, Value
from transpile.plan.graph import called_names
from transpile.plan.vocabulary import Layers

from ..operations import words
from ..sample_axis.axes import LAYERS
from ..sample_axis.shapes import integer
from .arithmetic import Shape, flattened, pooled

#: Layers that keep the sizes of what they are given.
KEEPERS = LAYERS | {
    "BatchNorm2d", "BatchNorm3d", "BatchNorm2D", "BatchNorm3D", "Dropout1d", "Dropout2d",
    "Dropout3d", "GroupNorm", "InstanceNorm1d", "InstanceNorm2d", "Mish", "Hardswish", "Hardtanh",
    "LogSigmoid", "Sigmoid", "PReLU", "RReLU", "SELU", "CELU", "Softsign",
}  # fmt: skip
#: Layers and functions that look at what stands side by side, and keep samples and, if they pool,
#: channels.
CONVOLUTIONS = words("Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d")
POOLS = words("""
    MaxPool1d MaxPool2d MaxPool3d AvgPool1d AvgPool2d AvgPool3d AdaptiveAvgPool1d
    AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveMaxPool1d AdaptiveMaxPool2d AdaptiveMaxPool3d
    max_pool1d max_pool2d max_pool3d avg_pool1d avg_pool2d avg_pool3d adaptive_avg_pool1d
    adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool2d
    adaptive_max_pool3d Upsample interpolate
    """)


def through(layers: Layers, layer: Value, shape: Shape | None) -> Shape | None:
    """The sizes of what a layer gives."""
    if not isinstance(layer, Opaque):
        return None
    word = next((name.rpartition(".")[2] for name in called_names(layer)), "")
    given = layer.arguments
    if word in layers.containers:
        if not given.items or any(len(item.values) != 1 for item in given.items):
            return None
        for item in given.positional():
            shape = through(layers, item.values[0], shape)
        return shape
    if word == "Flatten":
        start, end = given.get("start_dim", 0), given.get("end_dim", 1)
        first = integer(start.values) if start is not None else 1
        return flattened(shape, first, integer(end.values) if end is not None else -1)
    if shape is None:
        return None
    if word in ("Linear", "Embedding"):
        size = given.get("out_features" if word == "Linear" else "embedding_dim", 1)
        known = integer(size.values) if size is not None else None
        return (*(shape[:-1] if word == "Linear" else shape), known)
    if word in CONVOLUTIONS and len(shape) == 2 + int(word[-2]):
        channels = given.get("out_channels", 1)
        known = integer(channels.values) if channels is not None else None
        return (shape[0], known, *(None,) * int(word[-2]))
    if word in POOLS:
        return pooled(shape)
    return shape if word in KEEPERS else None
