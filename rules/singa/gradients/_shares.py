"""What a tensor of a device holds: rows of samples, a mean over them, or the same everywhere.

Each process has its samples of a batch on its device. What is computed from them row by row are
rows again, a loss is the mean over them, and parameters are the same in every process. Anything
else cannot be put together again, and says why.
"""

from __future__ import annotations

from collections.abc import Iterable

from transpile.facts.values import BoundMethod, Instance, Opaque, Sequence, Value, Values, join
from transpile.plan.graph import called_names, walk_back
from transpile.plan.model import Plan
from transpile.plan.query import query
from transpile.quantity import domain
from transpile.quantity.asking import Analysis, Kind, Quantity, describe
from transpile.records import dataclass, replace
from transpile.rules.singa._quantities import keeps_gradients
from transpile.rules.singa._roles import is_evaluation, model_calls
from transpile.rules.singa._vocabulary import BACKWARD, FROM_NUMPY, TENSOR, TO_NUMPY

ROWS, MEAN, SAME = "rows", "mean", "same"
#: Where functions stand that make tensors.
FUNCTIONS = ("singa.tensor.", "singa.autograd.")
MOVED = "its first axis may not be that of the samples"


@dataclass(frozen=True)
class Held:
    """What a tensor holds; `why` says why that cannot be told."""

    word: str
    why: str = ""


class Shares(Analysis):
    """The quantities of one plan's tensors, where nothing is supposed of what models do.

    Args:
        plan: the plan.
    """

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        self.outputs = evaluated(plan)

    def forward_of(self, value: Value) -> Values:
        """What a value is where the model is called for its outputs; empty for any other."""
        given = self.outputs.get(id(value), ())
        if not given and isinstance(value, Opaque) and value.kind == "call":
            given = self.outputs.get(id(value.node), ())
        return tensors_among(given)

    def dependencies(self, value: Value) -> Iterable[Values]:
        """The groups of values that the quantity of a value is made of."""
        yield from super().dependencies(value)
        yield self.forward_of(value)

    def transfer_one(self, value: Value) -> Quantity:
        """The quantity of a value before it is seen in its surroundings."""
        given = self.forward_of(value)
        return self.look(given) if given else super().transfer_one(value)

    def in_model_code(self, value: Opaque, found: Quantity) -> Quantity:
        """What a value in the code of a model is, of which nothing is known."""
        return replace(found, certain=True)

    def external(self, value: Opaque, name: str) -> Quantity:
        """A call of something outside the project by its name."""
        if name == BACKWARD:
            # Every backward pass of a script gives the gradients that all processes average.
            return domain.equal()
        found = super().external(value, name)
        unheard = name.startswith(FUNCTIONS) and not self.vocabulary.operation(
            name.rpartition(".")[2]
        )
        made = unheard and name not in (TO_NUMPY, *self.vocabulary.losses)
        if made and found.independent:
            # What a script copies into it may be a batch.
            return domain.unknown(f"nothing is known of {name}", certain=True)
        return found

    def instance(self, value: Opaque, callee: Instance) -> Quantity:
        """A call of an object of a project class."""
        if not value.inner:
            return self.nothing_known(value, f"what `{callee.cls.name}` does when it is called")
        return super().instance(value, callee)

    def from_model(self, inside: Quantity, value: Opaque) -> Quantity:
        """What a model or a layer gives, of samples whose axis is known."""
        moved = [one for one in self.given(value) if one.kind is Kind.SAMPLE and one.dim != 0]
        return domain.unknown(MOVED) if moved else super().from_model(inside, value)


@query
def shares(plan: Plan) -> Shares:
    """The quantities of a plan's tensors; made once for all rules."""
    return Shares(plan)


def held(plan: Plan, values: Values) -> Held:
    """What an expression holds, whatever the way to it."""
    values = tensors_among(values)
    if not values:
        return Held("", "where it comes from cannot be followed")
    found = shares(plan).of(values)
    if found.independent:
        return Held(SAME)
    if found.is_mean and not found.pending:
        return Held(MEAN)
    if found.kind is Kind.SAMPLE and found.dim == 0 and not (found.selection or found.coupled):
        return Held(ROWS)
    return Held("", in_words(found))


def in_words(found: Quantity) -> str:
    """Why what a tensor holds cannot be put together again."""
    if found.kind is Kind.UNKNOWN:
        return found.reason
    if found.is_sum:
        return "it adds the samples of a batch up"
    if found.kind is Kind.SAMPLE and found.coupled:
        return "it is made of samples and of a mean or sum over them"
    if found.kind is Kind.SAMPLE:
        return MOVED
    return f"it is of the kind: {describe(found)}"


def leaves_behind(plan: Plan, values: Values) -> dict[int, Opaque]:
    """The tensors that take in the samples that values are made of."""
    found: dict[int, Opaque] = {}
    outputs = evaluated(plan)
    ahead, seen = [values], set()
    while ahead:
        for value in walk_back(ahead.pop(), lambda each: not is_leaf(each)):
            if id(value) in seen:
                continue
            seen.add(id(value))
            if is_leaf(value):
                assert isinstance(value, Opaque)
                found[id(value)] = value
            ahead.append(outputs.get(id(value), ()))
            if isinstance(value, Opaque) and value.kind == "call":
                ahead.append(outputs.get(id(value.node), ()))
    return found


def is_leaf(value: Value) -> bool:
    """Whether a value is a tensor that takes in what is no parameter."""
    makes = any(name in (TENSOR, FROM_NUMPY) for name in called_names(value))
    return makes and isinstance(value, Opaque) and not keeps_gradients(value)


@query
def evaluated(plan: Plan) -> dict[int, Values]:
    """What ``forward`` gives where the call of a model gives too little to train.

    By the call, and by what it would have been if the model trained.
    """
    found: dict[int, Values] = {}
    events = [event for event in model_calls(plan) if is_evaluation(event)]
    trained = {
        id(value)
        for event in model_calls(plan)
        if not is_evaluation(event)
        for value in event.result
    }
    sites = {id(event.node) for event in events}
    for event in plan.facts.reached_calls:
        inside = [id(frame.node) for frame in event.calls() if id(frame.node) in sites]
        if inside and any(
            isinstance(callee, BoundMethod) and callee.function.name == "forward"
            for callee in event.callee
        ):
            found[inside[-1]] = join(found.get(inside[-1], ()), event.result)
    for event in events:
        for value in event.result if id(event.node) in found else ():
            if id(value) not in trained:
                found[id(value)] = found[id(event.node)]
    return found


def tensors_among(values: Values) -> Values:
    """The alternatives that may be tensors: not what several outputs would be, unpacked."""
    kept = tuple(value for value in values if not isinstance(value, Sequence))
    return kept or values
