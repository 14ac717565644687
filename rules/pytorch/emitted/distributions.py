"""Wraps that split calls of models whose outputs are distributions, or hold some."""

import dataclasses
from typing import Any, NamedTuple

import torch

from transpile.rules.pytorch.emitted.split_calls import (
    CheckedSplitCalls,
    CheckedSplitMethod,
    SplitCalls,
    SplitMethod,
    SplitRows,
    each_tensor,
)


class TakenApart(NamedTuple):
    """What a distribution is made of."""

    family: str
    given: Any


def take_apart(value: Any, axis: Any = None) -> Any:
    """Return the parameters of a distribution, and what is none as it is."""
    if not isinstance(value, torch.distributions.Distribution):
        return value
    family = type(value).__name__
    if isinstance(value, torch.distributions.Independent):
        base = take_apart(value.base_dist)
        return TakenApart(family, (base, value.reinterpreted_batch_ndims))
    names = list(value.arg_constraints)
    if "logits" in names:
        # Either is computed from the other where it is asked for.
        names = ["logits" if "logits" in vars(value) else "probs"]
    return TakenApart(family, {name: getattr(value, name) for name in names})


def put_together(value: Any) -> Any:
    """Make the distributions again whose parameters nested values hold."""
    if isinstance(value, TakenApart):
        made = getattr(torch.distributions, value.family)
        given = put_together(value.given)
        return made(**given) if isinstance(given, dict) else made(*given)
    if isinstance(value, dict):
        found = {key: put_together(one) for key, one in value.items()}
        return (
            type(value)(**found) if hasattr(value, "to_tuple") else type(value)(found)
        )
    if isinstance(value, (list, tuple)):
        items = [put_together(item) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [each.name for each in dataclasses.fields(value)]
        found = {name: put_together(getattr(value, name)) for name in names}
        return dataclasses.replace(value, **found)
    return value


class DistributionRows(SplitRows):
    """Split calls that give distributions: the rows of their parameters are put together."""

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return put_together(super().forward(*args, **kwargs))

    def compute(self, *args: Any, **kwargs: Any) -> Any:
        """Call the model, and take apart what it gives."""
        return each_tensor(take_apart, super().compute(*args, **kwargs), 0)

    def compute_whole(self, *args: Any, **kwargs: Any) -> Any:
        """Call the model itself, and take apart what it gives."""
        return each_tensor(take_apart, super().compute_whole(*args, **kwargs), 0)


class SplitDistributionCalls(DistributionRows, SplitCalls):
    """Split the calls of a model that gives distributions."""


class CheckedSplitDistributionCalls(DistributionRows, CheckedSplitCalls):
    """Split such calls if the rows of the first batch do not depend on each other."""


class SplitDistributionMethod(DistributionRows, SplitMethod):
    """Split the calls of a method that gives distributions."""


class CheckedSplitDistributionMethod(DistributionRows, CheckedSplitMethod):
    """Split such calls if the rows of the first batch do not depend on each other."""
