"""How a loss reduces, by its arguments."""

from __future__ import annotations

from transpile.facts.values import Arguments, Constant, Values
from transpile.plan.vocabulary import Loss
from transpile.records import dataclass


@dataclass(frozen=True)
class Settings:
    """How a loss reduces.

    Args:
        reduction: ``mean``, ``sum``, ``none``, ``batchmean``; None where it is not known.
        weight: whether classes have weights; None where that differs by path.
        ignore_index: whether an index is left out explicitly.
        ignored: what it may be.
        soft: whether the targets may be said to be probabilities; None where that is not known.
    """

    reduction: str | None
    weight: bool | None
    ignore_index: bool
    ignored: Values = ()
    soft: bool | None = False


def settings_of(
    signature: Loss,
    arguments: Arguments,
    as_function: bool,
    attributes: dict[str, Values] | None = None,
) -> Settings:
    """How a loss reduces, from the arguments of its call or of its class.

    Args:
        signature: the loss.
        arguments: of the call that sets it up.
        as_function: whether the tensors are among the arguments.
        attributes: what the script sets on the object afterwards.
    """
    names = signature.parameters if as_function else signature.settings
    offset = signature.inputs if as_function else 0
    later = attributes or {}

    def given(name: str) -> Values:
        if name in later:
            return later[name]
        position = names.index(name) + offset if name in names else None
        found = arguments.get(name, position)
        if found is None:
            return ()
        return (*found.values, Constant(None)) if found.maybe else found.values

    reduction: str | None = signature.reduction
    values = given("reduction")
    if arguments.unknown_because or given("batch_axis") not in ((), (Constant(0),)):
        reduction = None
    elif values:
        word = values[0].value if len(values) == 1 and isinstance(values[0], Constant) else None
        reduction = word if isinstance(word, str) else None
        if reduction == "elementwise_mean":
            reduction = "mean"
    for name, replaced in (("size_average", "sum"), ("reduce", "none")):
        old = given(name)
        if old and all(isinstance(value, Constant) for value in old):
            if any(value == Constant(False) for value in old):
                reduction = replaced if len(old) == 1 else None
        elif old:
            reduction = None
    weights = given("weight")
    none = [value == Constant(None) for value in weights]
    weight: bool | None = bool(weights) and not all(none)
    if weight and any(none):
        weight = None
    soft = given("soft_label")
    said = {value.value for value in soft if isinstance(value, Constant)}
    is_soft = bool(soft) if said <= {True} and len(soft) == len(said) else None
    return Settings(
        reduction,
        weight,
        bool(given("ignore_index")),
        given("ignore_index"),
        False if said == {False} and len(soft) == 1 else is_soft,
    )
