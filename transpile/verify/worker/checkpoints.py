"""Sees what is given to ``torch.save``."""

from __future__ import annotations

import functools
import importlib
import os
from collections.abc import Iterator, Mapping
from typing import Any

from transpile.verify.worker.files import FileObserver
from transpile.verify.worker.journal import Journal


class CheckpointObserver:
    """Watches ``torch.save``, which writes from C++ and so raises no audit event."""

    def __init__(self, journal: Journal, files: FileObserver) -> None:
        self._journal = journal
        self._files = files

    def install(self) -> None:
        """Start watching."""
        torch: Any = importlib.import_module("torch")
        plain_save = torch.save

        @functools.wraps(plain_save)
        def save(obj: Any, f: Any, *args: Any, **kwargs: Any) -> Any:
            path = f if isinstance(f, (str, bytes, os.PathLike)) else getattr(f, "name", None)
            label = self._files.saved(path)
            if label is not None:
                self._journal.write("save", path=label, leaves=dict(describe(obj)))
            return plain_save(obj, f, *args, **kwargs)

        torch.save = save
        torch.serialization.save = save


def describe(value: Any, prefix: str = "") -> Iterator[tuple[str, str]]:
    """The leaves of a nested structure: the keys that lead there and what is there."""
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        yield prefix, f"{value.dtype} {tuple(value.shape)}"
    elif hasattr(value, "state_dict") and hasattr(value, "named_parameters"):
        yield prefix + "<module>", type(value).__qualname__
        yield from describe(value.state_dict(), prefix)
    elif isinstance(value, Mapping):
        for key, entry in value.items():
            yield from describe(entry, f"{prefix}/{key}" if prefix else str(key))
    elif isinstance(value, (list, tuple)) and any(_is_structure(entry) for entry in value):
        for position, entry in enumerate(value):
            yield from describe(entry, f"{prefix}/{position}" if prefix else str(position))
    else:
        yield prefix, type(value).__qualname__


def _is_structure(value: Any) -> bool:
    return isinstance(value, (Mapping, list, tuple)) or hasattr(value, "shape")
