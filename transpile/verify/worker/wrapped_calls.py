"""Sees what share of a wrapped model's input the model itself computes."""

from __future__ import annotations

import importlib
from typing import Any

from transpile.verify.worker.journal import Journal

_MOST = 500
"""Wrapped calls that are looked at, unless one computes a part before."""


class WrappedCallObserver:
    """Compares what DistributedDataParallel is called with to what the model in it is."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._torch: Any = importlib.import_module("torch")
        self._seen = 0

    def install(self) -> None:
        """Start watching, in a process that may be one of several."""
        wrap: Any = self._torch.nn.parallel.DistributedDataParallel
        plain_call = wrap.__call__

        def call(wrapper: Any, *args: Any, **kwargs: Any) -> Any:
            # Modules of TorchScript take no such hook.
            is_scripted = isinstance(wrapper.module, self._torch.jit.ScriptModule)
            if self._seen >= _MOST or is_scripted:
                return plain_call(wrapper, *args, **kwargs)
            given = self._size(args, kwargs)

            def hook(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
                self._record(given, self._size(args, kwargs))

            handle = wrapper.module.register_forward_pre_hook(hook, with_kwargs=True)
            try:
                return plain_call(wrapper, *args, **kwargs)
            finally:
                handle.remove()

        wrap.__call__ = call

    def _record(self, given: int, computed: int) -> None:
        self._seen += 1
        if computed < given:
            self._journal.write("wrapped call", given=given, computed=computed)
            self._seen = _MOST

    def _size(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
        values = (*args, *kwargs.values())
        return sum(value.numel() for value in values if isinstance(value, self._torch.Tensor))
