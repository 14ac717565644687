"""Mixed precision of GPUs, computed on the CPU."""

from __future__ import annotations

import functools
from typing import Any

from transpile.verify.pretend_cuda.machine import torch


def install() -> None:
    """Let the contexts for CUDA be those for the CPU, with CUDA's type."""
    owner = torch.amp.autocast_mode.autocast
    plain = owner.__init__

    @functools.wraps(plain)
    def begin(self: Any, device_type: str, dtype: Any = None, *args: Any, **kwargs: Any) -> None:
        if device_type == "cuda":
            device_type, dtype = "cpu", dtype or torch.float16
        plain(self, device_type, dtype, *args, **kwargs)

    owner.__init__ = begin
