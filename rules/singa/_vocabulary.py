"""Names of SINGA that several rules know."""

from __future__ import annotations

OPTIMIZERS = ("singa.opt.SGD", "singa.opt.RMSProp", "singa.opt.AdaGrad", "singa.opt.Adam")
#: What models derive from; the second one in SINGA 3.0.
MODELS = frozenset({"singa.model.Model", "singa.module.Module"})
LAYER = "singa.layer.Layer"
TENSOR = "singa.tensor.Tensor"
FROM_NUMPY = "singa.tensor.from_numpy"
TO_NUMPY = "singa.tensor.to_numpy"
BACKWARD = "singa.autograd.backward"

BATCH_NORMS = frozenset({"singa.layer.BatchNorm2d", "singa.autograd.batchnorm_2d"})
DROPOUTS = frozenset({"singa.layer.Dropout", "singa.autograd.dropout"})
#: Methods that give the same numbers elsewhere or as another type.
TENSORS_AS_THEY_ARE = (
    "to_device", "to_host", "as_type", "to_type", "clone", "copy", "deepcopy",
)  # fmt: skip

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
