"""What the helper functions import, with the names that they give it."""

from __future__ import annotations

DIST = ("dist", "paddle.distributed")
FLEET = ("fleet", "paddle.distributed.fleet")
OS = ("os", "os")
IO = ("io", "io")
SYS = ("sys", "sys")
REDIRECT_STDOUT = ("redirect_stdout", "contextlib.redirect_stdout")
PADDLE = ("paddle", "paddle")
NUMPY = ("np", "numpy")
RANDOM = ("random", "random")
CONTEXTMANAGER = ("contextmanager", "contextlib.contextmanager")
DATA_LOADER = ("DataLoader", "paddle.io.DataLoader")
BATCH_SAMPLER = ("BatchSampler", "paddle.io.BatchSampler")
DISTRIBUTED_SAMPLER = ("DistributedBatchSampler", "paddle.io.DistributedBatchSampler")
ITERABLE = ("IterableDataset", "paddle.io.IterableDataset")
