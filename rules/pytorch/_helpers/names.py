"""What helper functions import, by the names that they have for it."""

from __future__ import annotations

ITERTOOLS = ("itertools", "itertools")
DIST = ("dist", "torch.distributed")
CONTEXTMANAGER = ("contextmanager", "contextlib.contextmanager")
OS = ("os", "os")
NUMPY = ("numpy", "numpy")
RANDOM = ("random", "random")
TORCH = ("torch", "torch")
DATA = ("data", "torch.utils.data")
DDP = ("DistributedDataParallel", "torch.nn.parallel.DistributedDataParallel")
SAMPLER = ("DistributedSampler", "torch.utils.data.distributed.DistributedSampler")
