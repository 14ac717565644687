"""Sees what share of a wrapped model's input the model itself computes."""

from __future__ import annotations

import importlib
from typing import Any

from transpile.verify.worker.journal import Journal

_MOST = 3
"""Calls that are looked at: hooks on all modules slow every call down."""


class WrappedCallObserver:
    """Compares what DistributedDataParallel is called with to what the model in it is."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._torch: Any = importlib.import_module("torch")
        self._given: dict[int, int] = {}
        self._seen = 0
        self._handle: Any = None

    def install(self) -> None:
        """Start watching, in a process that may be one of several."""
        modules: Any = importlib.import_module("torch.nn.modules.module")
        wrap: Any = self._torch.nn.parallel.DistributedDataParallel

        def hook(module: Any, inputs: tuple[Any, ...]) -> None:
            if isinstance(module, wrap):
                self._given[id(module.module)] = self._size(inputs)
            elif id(module) in self._given:
                self._record(self._given.pop(id(module)), self._size(inputs))

        self._handle = modules.register_module_forward_pre_hook(hook)

    def _record(self, given: int, computed: int) -> None:
        self._journal.write("wrapped call", given=given, computed=computed)
        self._seen += 1
        if self._seen == _MOST:
            self._handle.remove()

    def _size(self, inputs: tuple[Any, ...]) -> int:
        return sum(value.numel() for value in inputs if isinstance(value, self._torch.Tensor))
