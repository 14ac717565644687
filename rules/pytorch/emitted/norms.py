"""Batch norms of models whose calls are split: they look at the rows of all ranks."""

import copyreg
from contextlib import contextmanager
from typing import Any, Iterator, List

import torch


def plain_norm(norm: Any) -> Any:
    """Take a synchronised norm apart, for copies and files, as the norm that it was."""
    state = {name: norm.__dict__[name] for name in norm.__dict__ if name != "plain"}
    return norm.__dict__.get("plain", type(norm)), (norm.num_features,), state


def synchronise_norms(model: Any) -> Any:
    """Let batch norms look at the rows of all ranks; copies, which get all, have plain ones."""
    plain = {}
    for name, each in model.named_modules(remove_duplicate=False):
        kinds = [
            kind for kind in type(each).__mro__ if kind.__module__.startswith("torch.")
        ]
        plain[name] = kinds[0]
    model = torch.nn.SyncBatchNorm.convert_sync_batchnorm(model)
    for name, each in model.named_modules(remove_duplicate=False):
        if isinstance(each, torch.nn.SyncBatchNorm):
            each.plain = plain[name]
    copyreg.pickle(torch.nn.SyncBatchNorm, plain_norm)
    return model


@contextmanager
def own_statistics(model: Any) -> Iterator[None]:
    """Let synchronised norms look at the rows of this rank alone, which has all."""
    norms: List[Any] = [
        each for each in model.modules() if isinstance(each, torch.nn.SyncBatchNorm)
    ]
    for norm in norms:
        norm.forward = torch.nn.modules.batchnorm._BatchNorm.forward.__get__(norm)
    try:
        yield
    finally:
        for norm in norms:
            del norm.forward
