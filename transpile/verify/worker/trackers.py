"""Sees the numbers that a script gives to an experiment tracker."""

from __future__ import annotations

import functools
import importlib.abc
import importlib.machinery
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any

from transpile.verify.worker.journal import Journal

Numbers = Callable[..., Iterator[tuple[str, Any]]]


def _one(tag: Any, value: Any = None, *args: Any, **kwargs: Any) -> Iterator[tuple[str, Any]]:
    for name in ("scalar_value", "value"):
        value = kwargs.get(name, value)
    yield str(tag), value


def _several(values: Any = None, *args: Any, **kwargs: Any) -> Iterator[tuple[str, Any]]:
    for name in ("data", "metrics"):
        values = kwargs.get(name, values)
    if isinstance(values, Mapping):
        yield from ((str(key), value) for key, value in values.items())


#: What tracks, by module: the class that it is a method of, its name, and how its numbers are read.
TRACKING: dict[str, tuple[tuple[str, str, Numbers], ...]] = {
    "torch.utils.tensorboard": (("SummaryWriter", "add_scalar", _one),),
    "tensorboardX": (("SummaryWriter", "add_scalar", _one),),
    "wandb": (("", "log", _several),),
    "wandb.sdk.wandb_run": (("Run", "log", _several),),
    "mlflow": (("", "log_metric", _one), ("", "log_metrics", _several)),
}


class TrackerObserver(importlib.abc.MetaPathFinder):
    """Watches the functions of trackers, from when the script imports them."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def install(self) -> None:
        """Start watching."""
        for name in TRACKING:
            if name in sys.modules:
                self.watch(sys.modules[name])
        sys.meta_path.insert(0, self)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Have a tracker's module watched once it is loaded, whoever finds it."""
        if fullname not in TRACKING:
            return None
        for finder in sys.meta_path:
            if finder is self or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(fullname, path, target)
            if spec is not None:
                if spec.loader is not None:
                    spec.loader = _Watching(spec.loader, self)
                return spec
        return None

    def watch(self, module: ModuleType) -> None:
        """Replace what a module tracks with."""
        for owner, function, numbers in TRACKING[module.__name__]:
            holder: Any = getattr(module, owner, None) if owner else module
            plain = getattr(holder, function, None)
            if plain is not None:
                setattr(holder, function, self._noting(plain, numbers, bound=bool(owner)))

    def _noting(self, plain: Any, numbers: Numbers, *, bound: bool) -> Any:
        @functools.wraps(plain)
        def noting(*args: Any, **kwargs: Any) -> Any:
            for tag, value in numbers(*args[bound:], **kwargs):
                try:
                    number = float(value)
                except (TypeError, ValueError, RuntimeError):
                    continue
                self._journal.write("tracked", tag=tag, value=number)
            return plain(*args, **kwargs)

        return noting


class _Watching(importlib.abc.Loader):
    """Loads as another loader does, and has the module watched."""

    def __init__(self, loader: Any, observer: TrackerObserver) -> None:
        self._loader = loader
        self._observer = observer

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        """The other loader's module."""
        module: ModuleType | None = self._loader.create_module(spec)
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Run it as the other loader does."""
        self._loader.exec_module(module)
        self._observer.watch(module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)
