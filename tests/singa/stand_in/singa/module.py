"""What models derived from in SINGA 3.0, where layers stood in ``autograd``."""

from __future__ import annotations

from typing import Any

from . import autograd, layer
from .device import Device

for _name in ("Linear", "Conv2d", "MaxPool2d", "BatchNorm2d"):
    setattr(autograd, _name, getattr(layer, _name))


class Module(layer.Layer):
    """What is called to compute, and says by methods of its own what its loss is and updates."""

    def __init__(self) -> None:
        super().__init__()
        self.made = True
        self.training = True

    def on_device(self, device: Device) -> None:
        """Parameters are made where the first batch is."""

    def graph(self, mode: bool = True, sequential: bool = False) -> None:
        """Graphs change no number."""

    def train(self, mode: bool = True) -> None:
        self.training = autograd.training = mode

    def eval(self) -> None:
        self.train(False)

    def __call__(self, *inputs: Any, **kwargs: Any) -> Any:
        return self.forward(*inputs, **kwargs)
