"""Sees which samples every data loader broadcasts, and which of its passes train."""

from __future__ import annotations

import hashlib
import importlib
import weakref
from collections.abc import Iterator, Mapping
from typing import Any

from transpile.verify.worker.journal import Journal
from transpile.verify.worker.tensors import tensor_bytes

_NUMBER = "_audit_number"


class LoaderObserver:
    """Watches the passes over ``torch.utils.data.DataLoader`` objects.

    The classes' methods are replaced, not the names in modules: ``from torch.utils.data import
    DataLoader`` gives the script the same class.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._passes = 0
        self._loaders: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        # Data sets may be lists: neither hashable nor open to weak references.
        self._datasets: dict[int, tuple[int, Any]] = {}
        self._open: dict[int, bool] = {}
        self._references: dict[int, weakref.ref[Any]] = {}
        self._data: Any = importlib.import_module("torch.utils.data")
        self._dataloader: Any = importlib.import_module("torch.utils.data.dataloader")

    @property
    def current(self) -> list[int]:
        """Numbers of the passes that have given a batch and are not at their end."""
        return [number for number, started in self._open.items() if started]

    def install(self) -> None:
        """Start watching."""
        base = self._dataloader._BaseDataLoaderIter
        plain_init, plain_reset = base.__init__, base._reset
        plain_index, plain_next = base._next_index, base.__next__

        def init(iterator: Any, loader: Any, *args: Any, **kwargs: Any) -> None:
            self._begin(iterator, loader)
            plain_init(iterator, loader, *args, **kwargs)

        def reset(iterator: Any, loader: Any, first_iter: bool = False) -> None:
            # Persistent workers: the iterator object of the last pass serves the next one.
            if not first_iter:
                self._begin(iterator, loader)
            plain_reset(iterator, loader, first_iter)

        def next_index(iterator: Any) -> Any:
            index = plain_index(iterator)
            if not self._is_stream(iterator):
                samples = list(_samples(iterator._dataset, index))
                self._journal.write("batch", number=getattr(iterator, _NUMBER), samples=samples)
            return index

        def next_batch(iterator: Any) -> Any:
            number = getattr(iterator, _NUMBER)
            try:
                batch = plain_next(iterator)
            except StopIteration:
                self._journal.write("exhausted", number=number)
                self._open.pop(number, None)
                raise
            if self._journal.own_process:
                # Data sets may ignore the index that they are asked for, and streams have none.
                contents = list(_digests(batch, collated=iterator._auto_collation))
                if self._is_stream(iterator):
                    self._journal.write("batch", number=number, samples=contents)
                self._journal.write("taken", number=number, contents=contents)
                self._open[number] = True
            return batch

        base.__init__ = init
        base._reset = reset
        base._next_index = next_index
        base.__next__ = next_batch

    def _is_stream(self, iterator: Any) -> bool:
        return bool(iterator._dataset_kind == self._dataloader._DatasetKind.Iterable)

    def _begin(self, iterator: Any, loader: Any) -> None:
        self._open.pop(getattr(iterator, _NUMBER, -1), None)
        number = self._passes
        self._passes += 1
        setattr(iterator, _NUMBER, number)
        self._open[number] = False
        # A loop that is left by `break` drops its iterator: the pass is over then.
        self._references[number] = weakref.ref(iterator, lambda _: self._open.pop(number, None))
        dataset = loader.dataset
        batch_sampler = getattr(loader, "batch_sampler", None)
        self._journal.write(
            "iteration",
            number=number,
            loader=self._loaders.setdefault(loader, len(self._loaders)),
            dataset=self._datasets.setdefault(id(dataset), (len(self._datasets), dataset))[0],
            length=_length(dataset),
            own_batches=batch_sampler is not None
            and type(batch_sampler) is not self._data.BatchSampler,
        )


def _length(dataset: Any) -> int | None:
    try:
        return len(dataset)
    except (TypeError, NotImplementedError, AttributeError):
        return None


def _samples(dataset: Any, index: Any) -> Iterator[int | str]:
    """The samples that a sampler's answer stands for, whatever its form."""
    if isinstance(index, (list, tuple)):
        for entry in index:
            yield from _samples(dataset, entry)
        return
    try:
        position = int(index)
    except (TypeError, ValueError):
        yield repr(index)
        return
    # Through the parts of a split to the data set that was split: parts that differ between ranks
    # then show as shards that overlap.
    while hasattr(dataset, "indices") and hasattr(dataset, "dataset"):
        position = int(dataset.indices[position])
        dataset = dataset.dataset
    yield position


def _digests(batch: Any, *, collated: bool) -> Iterator[str]:
    """Digests of what the samples of a batch hold."""
    if not collated:
        yield _digest([batch])
        return
    leaves = list(_leaves(batch))
    sizes = [len(leaf) for leaf in leaves if _is_tensor(leaf) and leaf.dim() > 0]
    size = sizes[0] if sizes else max((len(x) for x in leaves if isinstance(x, list)), default=1)
    for position in range(size):
        yield _digest(
            [leaf[position] if _has_row(leaf, position, size) else leaf for leaf in leaves]
        )


def _has_row(leaf: Any, position: int, size: int) -> bool:
    if _is_tensor(leaf):
        return leaf.dim() > 0 and len(leaf) == size
    return isinstance(leaf, list) and len(leaf) == size


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, Mapping):
        for key in sorted(value, key=str):
            yield from _leaves(value[key])
    elif isinstance(value, (list, tuple)) and not all(isinstance(x, (str, int)) for x in value):
        for entry in value:
            yield from _leaves(entry)
    else:
        yield list(value) if isinstance(value, tuple) else value


def _is_tensor(value: Any) -> bool:
    return hasattr(value, "dim") and hasattr(value, "tolist")


def _digest(values: list[Any]) -> str:
    found = hashlib.blake2b(digest_size=8)
    for value in values:
        plain = value.tolist() if hasattr(value, "tolist") and not _is_tensor(value) else value
        found.update(tensor_bytes(value) if _is_tensor(value) else repr(plain).encode())
    return found.hexdigest()
