"""Runs on the GPUs of the machine: the same numbers each time, and more processes than GPUs."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any


def compute_alike() -> None:
    """Let GPUs compute the same in every run, as far as their libraries can."""
    torch: Any = importlib.import_module("torch")
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.backends.cudnn.benchmark = False


def share(processes: int) -> None:
    """Let groups of NCCL be groups of Gloo where processes are more than the GPUs.

    NCCL refuses two processes on one GPU; Gloo takes tensors of GPUs as well.

    Args:
        processes: how many run on this machine.
    """
    torch: Any = importlib.import_module("torch")
    if not 0 < torch.cuda.device_count() < processes:
        return
    dist: Any = torch.distributed
    replaced = {
        "init_process_group": over_gloo(dist.init_process_group, 0),
        "new_group": over_gloo(dist.new_group, 2),
        "barrier": without(dist.barrier, "device_ids"),
    }
    for name, function in replaced.items():
        setattr(dist, name, function)
        setattr(dist.distributed_c10d, name, function)


def over_gloo(make: Callable[..., Any], place: int) -> Callable[..., Any]:
    """What makes groups, with Gloo in the place of NCCL.

    Args:
        make: the function.
        place: where its argument ``backend`` stands.
    """

    @functools.wraps(make)
    def made(*args: Any, **kwargs: Any) -> Any:
        given = list(args)
        kwargs.pop("device_id", None)
        if len(given) > place:
            given[place] = gloo_for(given[place])
        elif "backend" in kwargs or make.__name__ == "init_process_group":
            kwargs["backend"] = gloo_for(kwargs.get("backend") or "nccl")
        return make(*given, **kwargs)

    return made


def gloo_for(backend: Any) -> Any:
    """A backend, or Gloo for one that is NCCL for GPUs."""
    return "gloo" if "nccl" in str(backend).lower() else backend


def without(act: Callable[..., Any], name: str) -> Callable[..., Any]:
    """A function that is not given an argument."""

    @functools.wraps(act)
    def acting(*args: Any, **kwargs: Any) -> Any:
        kwargs.pop(name, None)
        return act(*args, **kwargs)

    return acting
