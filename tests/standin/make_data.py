"""Writes small files in the formats that torchvision's data sets read.

``python make_data.py mnist|fashion-mnist|cifar10|cifar100|image-folder ROOT`` writes one below the
folder that a script gives as ``root``. ``STANDIN_TRAIN`` and ``STANDIN_TEST`` tell how many samples
there are, 96 and 48 if they are not set. The same call writes the same bytes; a sample's class can
be seen in its pixels, so that training on them makes progress.
"""

from __future__ import annotations

import os
import pickle
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np


def write_mnist(raw_folder: Path) -> None:
    """The four uncompressed IDX files of MNIST and of what shares its format."""
    for part, count in (("train", train_size()), ("t10k", test_size())):
        labels = _labels(count, 10)
        images = _images(labels, 10, (28, 28))
        _write(
            raw_folder / f"{part}-images-idx3-ubyte",
            struct.pack(">iiii", 2051, count, 28, 28) + images.tobytes(),
        )
        _write(
            raw_folder / f"{part}-labels-idx1-ubyte",
            struct.pack(">ii", 2049, count) + labels.astype(np.uint8).tobytes(),
        )


def write_cifar10(folder: Path) -> None:
    """The pickled batches of CIFAR-10, five for training and one for testing."""
    labels = _labels(train_size(), 10)
    for number, part in enumerate(np.array_split(labels, 5), start=1):
        _write_cifar_batch(folder / f"data_batch_{number}", {"labels": part.tolist()}, part, 10)
    labels = _labels(test_size(), 10)
    _write_cifar_batch(folder / "test_batch", {"labels": labels.tolist()}, labels, 10)
    names = [f"class {number}" for number in range(10)]
    _write(folder / "batches.meta", pickle.dumps({"label_names": names}))


def write_cifar100(folder: Path) -> None:
    """The two pickled files of CIFAR-100."""
    for name, count in (("train", train_size()), ("test", test_size())):
        labels = _labels(count, 100)
        fields = {"fine_labels": labels.tolist(), "coarse_labels": (labels // 5).tolist()}
        _write_cifar_batch(folder / name, fields, labels, 100)
    names = [f"class {number}" for number in range(100)]
    _write(folder / "meta", pickle.dumps({"fine_label_names": names}))


def write_image_folder(
    root: Path, *, classes: int = 2, count: int | None = None, size: int = 64
) -> None:
    """PNG files in one folder per class, `count` (that of a training set) in all."""
    from PIL import Image

    labels = _labels(train_size() if count is None else count, classes)
    for position, image in enumerate(_images(labels, classes, (size, size, 3))):
        path = root / f"class_{labels[position]}" / f"{position:04}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(path)


def train_size() -> int:
    """Number of training samples."""
    return int(os.environ.get("STANDIN_TRAIN", "96"))


def test_size() -> int:
    """Number of test samples."""
    return int(os.environ.get("STANDIN_TEST", "48"))


def _labels(count: int, classes: int) -> Any:
    return np.arange(count) * 7 % classes


def _images(labels: Any, classes: int, shape: tuple[int, ...]) -> Any:
    random = np.random.default_rng(0)
    images = random.integers(0, 96, (len(labels), *shape), dtype=np.uint8)
    for image, label in zip(images, labels, strict=True):
        start = int(label) * (shape[0] - 1) // classes
        image[start : start + max(1, shape[0] // classes)] += 128
    return images


def _write_cifar_batch(path: Path, fields: dict[str, Any], labels: Any, classes: int) -> None:
    images = _images(labels, classes, (32, 32, 3)).transpose(0, 3, 1, 2)
    _write(path, pickle.dumps({**fields, "data": images.reshape(len(labels), -1)}))


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


WRITERS: dict[str, Callable[[Path], None]] = {
    "mnist": lambda root: write_mnist(root / "MNIST" / "raw"),
    "fashion-mnist": lambda root: write_mnist(root / "FashionMNIST" / "raw"),
    "cifar10": lambda root: write_cifar10(root / "cifar-10-batches-py"),
    "cifar100": lambda root: write_cifar100(root / "cifar-100-python"),
    "image-folder": write_image_folder,
}


if __name__ == "__main__":
    WRITERS[sys.argv[1]](Path(sys.argv[2]))
