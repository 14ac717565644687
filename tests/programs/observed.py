"""What is seen of a run from inside its process."""

from __future__ import annotations

import os
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any


def observe(disturbance: float) -> Callable[[], dict[str, Any]]:
    """Count steps and remember optimizers; gives a function that tells what came of them.

    Args:
        disturbance: by which part of themselves parameters grow after the first step.
    """
    from torch.optim.optimizer import register_optimizer_step_post_hook

    optimizers: list[Any] = []
    steps = [0]

    def stepped(optimizer: Any, arguments: Any, options: Any) -> None:
        steps[0] += 1
        if not any(optimizer is known for known in optimizers):
            optimizers.append(optimizer)
            if disturbance:
                disturb(optimizer, disturbance)

    watched = register_optimizer_step_post_hook(stepped)

    def left() -> dict[str, Any]:
        watched.remove()
        parameters = [
            parameter.detach().flatten().tolist()
            for optimizer in optimizers
            for group in optimizer.param_groups
            for parameter in group["params"]
        ]
        return {"steps": steps[0], "parameters": parameters}

    return left


def beginning() -> Callable[[], None]:
    """What brings the random numbers and the defaults of this process back to what they are now."""
    import random

    import numpy
    import torch

    state, kind, several = (
        torch.get_rng_state(),
        torch.get_default_dtype(),
        numpy.random.get_state(),
    )
    plain = random.getstate()
    environment = dict(os.environ)

    def begin() -> None:
        torch.set_rng_state(state)
        torch.set_default_dtype(kind)
        torch.set_grad_enabled(True)
        numpy.random.set_state(several)
        random.setstate(plain)
        os.environ.clear()
        os.environ.update(environment)

    return begin


def meet_at(path: Path) -> None:
    """Make processes meet over a file.

    A server looks up the names of those that ask it, and waits for seconds where nobody knows them.
    """
    import torch.distributed

    def rendezvous(url: str, **options: Any) -> Iterator[tuple[Any, int, int]]:
        size = int(os.environ["WORLD_SIZE"])
        store = torch.distributed.FileStore(str(path), size)
        store.set_timeout(options["timeout"])
        yield store, int(os.environ["RANK"]), size

    sys.modules["torch.distributed.rendezvous"]._rendezvous_handlers["env"] = rendezvous


def disturb(optimizer: Any, part: float) -> None:
    """Change the parameters of an optimizer a little."""
    import torch

    with torch.no_grad():
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                parameter.mul_(1 + part)


def agree_on_orders() -> None:
    """Make one process shuffle as several do.

    A DistributedSampler draws another order than a RandomSampler, which is no mistake. Here both
    take the order of the n-th pass; of a DistributedSampler the n-th epoch that it is told of, so
    that one that is never told repeats the first.
    """
    import torch
    from torch.utils.data import DistributedSampler, RandomSampler

    plain: Any = RandomSampler.__iter__
    shared: Any = DistributedSampler.__iter__

    def order(count: int, turn: int) -> list[int]:
        generator = torch.Generator()
        generator.manual_seed(1000 + turn)
        return torch.randperm(count, generator=generator, device="cpu").tolist()  # type: ignore[no-any-return]

    def iterate(self: Any) -> Iterator[int]:
        count = len(self.data_source)
        if self.replacement or self.num_samples != count:
            return iter(plain(self))
        # Nothing is drawn for the order, as a DistributedSampler draws nothing: what the script
        # draws afterwards is the same.
        turn = self.__dict__.setdefault("turns_seen", 0)
        self.__dict__["turns_seen"] = turn + 1
        return iter(order(count, turn))

    def iterate_shared(self: Any) -> Iterator[int]:
        if not self.shuffle:
            return iter(shared(self))
        epochs = self.__dict__.setdefault("epochs_seen", [])
        if self.epoch not in epochs:
            epochs.append(self.epoch)
        indices = order(len(self.dataset), epochs.index(self.epoch))
        if self.drop_last:
            indices = indices[: self.total_size]
        else:
            missing = self.total_size - len(indices)
            indices += (indices * (missing // len(indices) + 1))[:missing]
        return iter(indices[self.rank : self.total_size : self.num_replicas])

    RandomSampler.__iter__ = iterate
    DistributedSampler.__iter__ = iterate_shared


def offer_progress_bars() -> None:
    """Let scripts import tqdm, installed or not; its bars show nothing."""

    class Bar:
        def __init__(self, things: Any = (), **options: Any) -> None:
            self.things = things

        def __iter__(self) -> Iterator[Any]:
            return iter(self.things)

        def __enter__(self) -> Bar:
            return self

        def __exit__(self, *reason: object) -> None:
            pass

        def __getattr__(self, name: str) -> Callable[..., None]:
            return lambda *arguments, **options: None

    module: Any = types.ModuleType("tqdm")
    module.tqdm = Bar
    sys.modules["tqdm"] = module
