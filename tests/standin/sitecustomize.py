"""Lets torchvision scripts run on a machine without its native library and without a network.

Put this folder first on ``PYTHONPATH``. Nothing is imported until a script imports torchvision:
then the operators that a missing native library would define are declared, and the data sets'
downloads write small stand-in files instead, in the formats of the real ones.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

_kept: list[Any] = []


def _declare_operators(spec: ModuleSpec) -> None:
    torch: Any = importlib.import_module("torch")
    for folder in spec.submodule_search_locations or ():
        try:
            torch.ops.load_library(str(Path(folder) / "_C.so"))
        except OSError:
            continue
        return
    operators = torch.library.Library("torchvision", "DEF")
    operators.define("nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    operators.define("qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    # The declarations last as long as this object.
    _kept.append(operators)


def _replace_mnist(module: ModuleType) -> None:
    def download(dataset: Any) -> None:
        if not dataset._check_exists():
            importlib.import_module("make_data").write_mnist(Path(dataset.raw_folder))

    module.__dict__["MNIST"].download = download


def _replace_cifar(module: ModuleType) -> None:
    def download(dataset: Any) -> None:
        if not dataset._check_integrity():
            make_data: Any = importlib.import_module("make_data")
            write = make_data.write_cifar100 if fine(dataset) else make_data.write_cifar10
            write(Path(dataset.root) / dataset.base_folder)

    def fine(dataset: Any) -> bool:
        return isinstance(dataset, module.__dict__["CIFAR100"])

    for name in ("CIFAR10", "CIFAR100"):
        kind = module.__dict__[name]
        kind.train_list = [[file, None] for file, _ in kind.train_list]
        kind.test_list = [[file, None] for file, _ in kind.test_list]
        kind.meta = {**kind.meta, "md5": None}
    module.__dict__["CIFAR10"].download = download


_BEFORE: dict[str, Callable[[ModuleSpec], None]] = {"torchvision": _declare_operators}
_AFTER: dict[str, Callable[[ModuleType], None]] = {
    "torchvision.datasets.mnist": _replace_mnist,
    "torchvision.datasets.cifar": _replace_cifar,
}


class _Watching(Loader):
    """Runs a function before or after a module's own code."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        spec = module.__spec__
        assert spec is not None
        spec.loader = self._loader
        module.__loader__ = self._loader
        if module.__name__ in _BEFORE:
            _BEFORE[module.__name__](spec)
        self._loader.exec_module(module)
        if module.__name__ in _AFTER:
            _AFTER[module.__name__](module)


class _Finder(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in _BEFORE and fullname not in _AFTER:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _Watching(spec.loader)
        return spec


sys.meta_path.insert(0, _Finder())
