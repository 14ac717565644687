"""Sees what models are trained on in scripts that use no data loader."""

from __future__ import annotations

import hashlib
import importlib
from typing import Any

from transpile.verify.worker.journal import Journal
from transpile.verify.worker.tensors import tensor_bytes


class InputObserver:
    """Watches the first module call after each differentiation: that of the outermost module.

    Once a data loader is seen to train there is no need for it any more, and it stops: hooks on
    all modules slow every call down.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._torch: Any = importlib.import_module("torch")
        self._waiting = True
        self._handle: Any = None

    def install(self) -> None:
        """Start watching."""
        modules: Any = importlib.import_module("torch.nn.modules.module")
        compiler = getattr(self._torch, "compiler", None)
        is_compiling = getattr(compiler, "is_compiling", lambda: False)

        def hook(module: Any, inputs: tuple[Any, ...]) -> None:
            # The compiler may inline this, but must not trace what follows.
            if is_compiling() or not self._waiting:
                return
            if module.training and self._torch.is_grad_enabled():
                self._record(inputs)

        self._handle = modules.register_module_forward_pre_hook(hook)

    def differentiated(self, *, from_loader: bool) -> None:
        """Gradients are about to be computed, of a loss on a loader's batch or of another one."""
        self._waiting = True
        if from_loader and self._handle is not None:
            self._handle.remove()
            self._handle = None

    def _record(self, inputs: tuple[Any, ...]) -> None:
        tensors = [value for value in inputs if isinstance(value, self._torch.Tensor)]
        if not tensors or not self._journal.own_process:
            return
        self._waiting = False
        digest = hashlib.blake2b(digest_size=8)
        for tensor in tensors:
            digest.update(tensor_bytes(tensor))
        size = sum(tensor.numel() for tensor in tensors)
        self._journal.write("input", digest=digest.hexdigest(), size=size)
