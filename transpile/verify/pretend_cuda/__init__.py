"""A stand-in for GPUs and NCCL on a machine without: real numbers under CUDA's device rules.

Tensors stay tensors of the CPU and carry the device that they pretend to be on. Operations that mix
devices raise as on CUDA, generators of random numbers are those of each GPU, files know which GPU a
tensor was on, and a group of ``nccl`` runs over Gloo and refuses what NCCL refuses: tensors of the
CPU, two processes on one GPU, types that it does not have.

It does not know streams and timing, memory, kernels of one's own, or NCCL's timeouts; compiled
models run uncompiled, and ``DataParallel`` computes on its first GPU. With noise, sums differ from
process to process in the last digits, as on GPUs whose kernels add in an order of their own.
"""

from __future__ import annotations

import importlib

#: In this order: later parts replace what earlier ones have replaced.
PARTS = (
    "tensors", "randomness", "operations", "device_module", "autocast", "files", "legacy",
    "batch_norm", "collectives", "wraps",
)  # fmt: skip


def install(count: int, noise: bool = False) -> None:
    """Pretend in this process, for good, that it sees so many GPUs.

    Args:
        count: how many.
        noise: whether results differ from process to process in the last digits.
    """
    from transpile.verify.pretend_cuda.machine import machine

    machine.count = count
    machine.noise = noise
    for part in PARTS:
        importlib.import_module(f"transpile.verify.pretend_cuda.{part}").install()
