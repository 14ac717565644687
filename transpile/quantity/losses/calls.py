"""The quantities of losses."""

from __future__ import annotations

import libcst as cst

from transpile.facts.values import Constant, Opaque, Value
from transpile.plan.vocabulary import Loss
from transpile.records import replace

from .. import algebra, domain
from ..domain import Duty, Kind, Pending, Quantity, WeightedLoss
from ..further import Further, argued
from ..looking import Looking
from .settings import Settings, settings_of
from .targets import are_probabilities


def is_negative(value: Value) -> bool:
    """Whether a value is a negative number."""
    return isinstance(value, Constant) and isinstance(value.value, int) and value.value < 0


#: Arguments that :meth:`Losses.weights_of_batch` looks at.
WEIGHTS = frozenset({"weight", "pos_weight"})


def further_settings(signature: Loss, value: Opaque, source: Opaque) -> list[Further]:
    """What a loss is set up by, but for weights: the arguments, and what is set on its object.

    Args:
        signature: the loss.
        value: the call on tensors.
        source: the call that sets it up: the same, or the one that made the object.
    """
    as_function = source is value
    names = signature.parameters if as_function else signature.settings
    found: dict[str, Further] = {}
    position = -signature.inputs if as_function else 0
    for item in source.arguments.items:
        name = item.keyword
        if name is None:
            name = names[position] if 0 <= position < len(names) else f"argument {position + 1}"
            position += 1
            if position <= 0:
                continue
        elif as_function and name in signature.names:
            continue
        if name not in WEIGHTS:
            found[name] = Further(name, item.values)
    if not as_function:
        for name, values in source.attributes.items():
            found[name] = Further(name, values)
    return list(found.values())


class Losses(Looking):
    """The part of the analysis that knows losses."""

    def loss(self, value: Opaque, signature: Loss, source: Opaque) -> Quantity:
        """What a loss gives.

        Args:
            value: the call on tensors.
            signature: the loss.
            source: the call that sets it up: the same, or the one that made the object.
        """
        setup = settings_of(
            signature,
            source.arguments,
            source is value,
            source.attributes if source is not value else None,
        )
        names = signature.names if signature.inputs == 2 else ()
        tensors = []
        for position in range(signature.inputs):
            name = names[position] if position < len(names) else f"#{position}"
            found = value.arguments.get(name, position)
            if found is not None:
                tensors.append(self.look(found.values))
        if not tensors:
            tensors = self.given(value)
        if signature.function == "ctc_loss":
            # It takes probabilities of shape (time, samples, classes), and targets that may be
            # all in a row; its mean is one over the samples.
            tensors = [
                replace(one, dim=0, selection=one.selection and position == 0)
                for position, one in enumerate(tensors)
            ]
        weights = self.weights_of_batch(signature, source, source is value)
        each = algebra.nonlinear(f"the loss {signature.function}", *tensors, *weights)
        each = argued(self, signature.function, each, further_settings(signature, value, source))
        return self.reduced_loss(each, value, signature, source, setup)

    def loss_of_samples(self, signature: Loss, made: Opaque) -> Quantity:
        """What the object of a loss gives for the samples of a batch."""
        setup = settings_of(signature, made.arguments, False, made.attributes)
        return self.reduced_loss(domain.sample(gradient=True), made, signature, made, setup)

    def reduced_loss(
        self, each: Quantity, value: Opaque, signature: Loss, source: Opaque, setup: Settings
    ) -> Quantity:
        """A loss from what it is for each sample."""
        if signature.couples and each.kind is Kind.SAMPLE:
            return domain.unknown("the loss compares the samples of a batch with each other")
        if setup.reduction is None:
            return domain.unknown(f"the reduction of {signature.function} is not known", whole=True)
        if each.kind is Kind.UNKNOWN or setup.reduction == "none":
            return replace(each, whole=setup.reduction != "none" or each.whole)
        if each.kind is not Kind.SAMPLE:
            return each
        if setup.reduction == "sum":
            return algebra.total(each)
        target = value.arguments.get(signature.names[-1], 1)
        if signature.function == "cross_entropy" and target is not None:
            if are_probabilities(target.values, self.plan):
                # No target is left out, and weights do not count in what it is divided by.
                return algebra.average(each)
        if signature.by_targets and setup.soft is not False:
            if setup.weight is not False or setup.ignore_index:
                reason = "its mean is taken by 'weight' or 'ignore_index', over less or more than"
                return domain.unknown(f"{reason} the samples", whole=True)
            return algebra.average(each)
        if signature.unsure and self.marks_left_out and not setup.ignore_index:
            if setup.weight is False:
                return domain.unknown(signature.unsure, whole=True)
        if signature.negative and setup.ignore_index and setup.weight is False:
            if any(is_negative(value) for value in setup.ignored):
                return domain.unknown(signature.negative, whole=True)
        if signature.by_targets and (
            setup.weight is not False or setup.ignore_index or self.marks_left_out
        ):
            return self.weighted_loss(each, value, signature, source, setup)
        if each.selection and signature.sized and setup.weight is False:
            return self.weighted_loss(each, value, signature, source, setup)
        return algebra.average(each)

    def weights_of_batch(
        self, signature: Loss, source: Opaque, as_function: bool
    ) -> list[Quantity]:
        """The weights that a loss is given, where they come from the batch itself."""
        names = signature.parameters if as_function else signature.settings
        offset = signature.inputs if as_function else 0
        found = []
        for name in ("weight", "pos_weight"):
            if name in names:
                given = source.arguments.get(name, names.index(name) + offset)
                one = self.look(given.values) if given is not None else domain.NOTHING
                if one.kind is not Kind.NOTHING and not one.independent:
                    found.append(one)
        return found

    def weighted_loss(
        self, each: Quantity, value: Opaque, signature: Loss, source: Opaque, setup: Settings
    ) -> Quantity:
        """A mean by weights, or over a number of targets that differs between processes."""
        weight = setup.weight
        if weight is None:
            return domain.unknown(
                f"{signature.function} has weights on one path and none on another", whole=True
            )
        if not isinstance(value.node, cst.Call) or len(value.callee) > 1:
            return domain.unknown(
                f"one of several losses is called, and {signature.function} is among them",
                whole=True,
            )
        built = source.node if source is not value and isinstance(source.node, cst.Call) else None
        loss = WeightedLoss(
            self.vocabulary.layers.functional[0] + signature.function,
            value.node,
            built,
            weight and signature.by_targets,
            signature.by_targets and (setup.ignore_index or self.marks_left_out),
        )
        pending = each.pending | {Pending(Duty.LOSS, value.node, value.module, loss)}
        return replace(domain.part(0, gradient=True), pending=pending)
