"""Models: layers that say how to train one batch."""

from __future__ import annotations

import io
import os
import zipfile
from typing import Any

import numpy as np

from . import autograd
from .layer import Layer
from .tensor import Tensor, from_numpy, to_numpy


class Model(Layer):
    """What is compiled, called to train or to evaluate, and saved."""

    def __init__(self) -> None:
        super().__init__()
        self.training, self.graph_mode, self.sequential = True, True, False
        self.made = True
        self.recorded: tuple[int, ...] = ()

    def compile(
        self, inputs: Any, is_train: bool = True, use_graph: bool = False, sequential: bool = False
    ) -> None:
        """Make all parameters by one forward pass; nothing is sent to other processes."""
        assert len(inputs) > 0 and isinstance(inputs[0], Tensor)
        autograd.training = False
        self.forward(*inputs)
        self.train(is_train)
        self.graph_mode, self.sequential = use_graph, sequential

    def train_one_batch(self, *inputs: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    def train(self, mode: bool = True) -> None:
        self.training = mode
        autograd.training = mode

    def eval(self) -> None:
        self.train(False)

    def __call__(self, *inputs: Any, **kwargs: Any) -> Any:
        if not self.training:
            return self.forward(*inputs, **kwargs)
        if self.graph_mode:
            # A graph reads the memory that it was recorded with, whatever it is given later.
            tensors = tuple(id(one.data) for one in inputs if isinstance(one, Tensor))
            self.recorded = self.recorded or tensors
            if tensors != self.recorded:
                raise RuntimeError("the graph was recorded with other tensors")
        return self.train_one_batch(*inputs, **kwargs)

    def save_states(self, fpath: str, aux_states: Any = None) -> None:
        assert not os.path.isfile(fpath), f"Failed to save states, {fpath} is already existed."
        packed = io.BytesIO()
        np.savez(packed, **{name: to_numpy(one) for name, one in self.get_states().items()})
        with zipfile.ZipFile(fpath, "w") as archive:
            archive.writestr("tensor_dict.npz", packed.getvalue())

    def load_states(self, fpath: str) -> dict[str, Tensor]:
        with zipfile.ZipFile(fpath) as archive:
            arrays = np.load(io.BytesIO(archive.read("tensor_dict.npz")))
        self.set_states({name: from_numpy(arrays[name]) for name in arrays.files})
        return {}
