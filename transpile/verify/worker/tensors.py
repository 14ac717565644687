"""The bytes of a tensor."""

from __future__ import annotations

import ctypes
import importlib
from typing import Any


def tensor_bytes(tensor: Any) -> bytes:
    """A tensor's values as native float64 numbers; of a spread tensor, the part that is here."""
    torch: Any = importlib.import_module("torch")
    values = tensor.detach()
    if hasattr(values, "to_local"):
        values = values.to_local()
    if values.is_complex():
        values = torch.view_as_real(values)
    values = values.to(device="cpu", dtype=torch.float64).contiguous()
    # Not through numpy, which torch does without.
    return ctypes.string_at(values.data_ptr(), values.numel() * 8)
