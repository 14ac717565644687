"""Names of SINGA that several rules know, and what its operations do to the samples of a batch.

An operation is listed only where sample i of what it gives depends on sample i alone.
"""

from __future__ import annotations

OPTIMIZERS = ("singa.opt.SGD", "singa.opt.RMSProp", "singa.opt.AdaGrad", "singa.opt.Adam")
#: What models derive from; the second one in SINGA 3.0.
MODELS = frozenset({"singa.model.Model", "singa.module.Module"})
LAYER = "singa.layer.Layer"
TENSOR = "singa.tensor.Tensor"
FROM_NUMPY = "singa.tensor.from_numpy"
TO_NUMPY = "singa.tensor.to_numpy"
BACKWARD = "singa.autograd.backward"

#: Losses that are the mean over the samples of a batch.
MEAN_LOSSES = frozenset(
    {
        "singa.autograd.softmax_cross_entropy", "singa.autograd.cross_entropy",
        "singa.autograd.mse_loss", "singa.autograd.binary_cross_entropy",
        "singa.autograd.ranking_loss",
        "singa.layer.SoftMaxCrossEntropy", "singa.layer.MeanSquareError",
        "singa.layer.CrossEntropy", "singa.layer.BinaryCrossEntropy",
    }
)  # fmt: skip
#: Functions of one or several tensors, each element or each row by itself.
BY_ROW = frozenset(
    f"singa.autograd.{name}"
    for name in (
        "relu", "less", "clip", "identity", "matmul", "greater", "add_bias", "prelu", "add", "elu",
        "equal", "selu", "softmax", "tanh", "cos", "cosh", "acos", "acosh", "sin", "sinh", "asin",
        "asinh", "tan", "atan", "atanh", "sigmoid", "mul", "abs", "exp", "leakyrelu", "sign", "pow",
        "softsign", "sqrt", "softplus", "sub", "log", "hardsigmoid", "div", "_and", "_or", "_not",
        "_xor", "negative", "reciprocal", "globalaveragepool", "ceil", "floor", "round", "rounde",
        "erf", "add_all", "conv2d", "pooling_2d", "dropout", "embedding", "cossim",
        "upsample", "depth_to_space", "space_to_depth", "where", "cast", "onehot", "batchnorm_2d",
    )
)  # fmt: skip
#: Functions along an axis, to the name and place of it and to what it is by itself. They keep
#: samples apart unless that is the first axis.
ALONG = {
    "singa.autograd.cat": ("axis", 1, 0),
    "singa.autograd.flatten": ("axis", 1, 1),
    "singa.autograd.gather": ("axis", 1, None),
}
#: Functions along a list of axes, likewise.
ALONG_SEVERAL = {
    "singa.autograd.reduce_sum": ("axes", 1),
    "singa.autograd.reduce_mean": ("axes", 1),
    "singa.autograd.squeeze": ("axis", 1),
    "singa.autograd.unsqueeze": ("axis", 1),
}
#: Layers whose samples are the first axis and stay apart, or are coupled by statistics alone.
LAYERS = frozenset(
    f"singa.layer.{name}"
    for name in (
        "Linear", "Gemm", "Embedding", "Conv2d", "SeparableConv2d", "BatchNorm2d", "Pooling2d",
        "MaxPool2d", "AvgPool2d", "MaxPool1d", "AvgPool1d", "ReLU", "Sigmoid", "Add", "SoftMax",
        "Dropout", "Tanh",
    )
)  # fmt: skip
LAYERS_ALONG = {"singa.layer.Flatten": ("axis", 0, 1), "singa.layer.Cat": ("axis", 0, 0)}
BATCH_NORMS = frozenset({"singa.layer.BatchNorm2d", "singa.autograd.batchnorm_2d"})
DROPOUTS = frozenset({"singa.layer.Dropout", "singa.autograd.dropout"})
#: Operators that take each element by itself, those that keep a mean a mean first.
LINEAR = frozenset({"Add", "Subtract", "Multiply", "Divide", "Minus"})
ELEMENTWISE = LINEAR | {"Power", "LessThan", "GreaterThan", "LessThanEqual", "GreaterThanEqual"}
#: Methods that give the same numbers elsewhere or as another type.
SAME_NUMBERS = frozenset(
    {"to_device", "to_host", "as_type", "to_type", "clone", "copy", "deepcopy"}
)

#: Methods of models that give their parameters and statistics, and of what holds these.
STATES = frozenset({"get_params", "get_states"})
OF_MAPPINGS = frozenset({"items", "values", "keys", "get"})

#: What may be called on an optimizer that all processes share.
SHARED_METHODS = frozenset(
    {
        "backward_and_update", "backward_and_update_half", "backward_and_partial_update",
        "backward_and_sparse_update", "all_reduce", "fused_all_reduce", "wait", "communicator",
        "global_rank", "local_rank", "world_size", "opt",
    }
)  # fmt: skip
#: Methods that update parameters with gradients that they are given.
BY_GRADIENT = frozenset({"update", "apply"})
#: Methods that update them with those of a loss.
BY_LOSS = frozenset(
    {
        "backward_and_update", "backward_and_update_half", "backward_and_partial_update",
        "backward_and_sparse_update", "call",
    }
)  # fmt: skip

GPU_ON = "singa.device.create_cuda_gpu_on"
GPU = "singa.device.create_cuda_gpu"
CPU = frozenset({"singa.device.get_default_device", "singa.device.create_cpu_device"})
SEVERAL_GPUS = frozenset({"singa.device.create_cuda_gpus", "singa.device.create_cuda_gpus_on"})
