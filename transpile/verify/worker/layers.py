"""Sees how much the layers of models are given in the first training step."""

from __future__ import annotations

import importlib
from typing import Any

from transpile.verify.worker.journal import Journal

_MOST = 500
"""Calls of layers that are looked at."""


class LayerObserver:
    """Watches the calls of modules that hold parameters and no other modules.

    It stops with the first differentiation: hooks on all modules slow every call down.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._torch: Any = importlib.import_module("torch")
        self._sizes: list[int] = []
        self._handle: Any = None

    def install(self) -> None:
        """Start watching."""
        modules: Any = importlib.import_module("torch.nn.modules.module")
        compiler = getattr(self._torch, "compiler", None)
        is_compiling = getattr(compiler, "is_compiling", lambda: False)

        def hook(module: Any, inputs: tuple[Any, ...]) -> None:
            # The compiler may inline this, but must not trace what follows.
            if is_compiling() or len(self._sizes) >= _MOST:
                return
            # What parametrizes a layer computes its weights.
            parts = [name for name, _ in module.named_children() if name != "parametrizations"]
            if not self._torch.is_grad_enabled() or parts:
                return
            if next(module.parameters(), None) is not None:
                tensors = [value for value in inputs if isinstance(value, self._torch.Tensor)]
                self._sizes.append(sum(value.numel() for value in tensors))

        self._handle = modules.register_module_forward_pre_hook(hook)

    def differentiated(self, *, from_loader: bool) -> None:
        """Gradients are about to be computed."""
        if self._handle is None:
            return
        self._handle.remove()
        self._handle = None
        if self._sizes and self._journal.own_process:
            self._journal.write("layers", sizes=self._sizes)
