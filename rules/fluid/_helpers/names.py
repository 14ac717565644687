"""What helper functions import, by the names that they have for it."""

from __future__ import annotations

OS = ("os", "os")

FLUID = ("fluid", "paddle.fluid")

NUMPY = ("numpy", "numpy")

RANDOM = ("random", "random")

SYS = ("sys", "sys")
