"""The quantities of a plan's values, as Paddle's rules rewrite what they depend on.

A sum beside a mean takes a factor where the two are added; a number keeps what its tensor was.
"""

from __future__ import annotations

from transpile.facts.values import Function, Opaque, Values
from transpile.plan.graph import called_names, walk_back
from transpile.plan.model import Plan
from transpile.plan.query import query
from transpile.quantity import domain
from transpile.quantity.asking import Analysis
from transpile.quantity.domain import Duty, Kind, Quantity
from transpile.records import replace
from transpile.rules.paddle.data._batch_sizes import holds_share
from transpile.rules.paddle.losses._summands import summand

#: Methods of metrics that put samples into them.
GATHERING = frozenset({"update", "add"})


class Shares(Analysis):
    """The quantities of one plan's values.

    Args:
        plan: the plan.
        reduced: the identities of expressions that are taken over all processes.
    """

    def __init__(self, plan: Plan, reduced: frozenset[int] = frozenset()) -> None:
        super().__init__(plan, reduced=reduced)
        self.adding_up = adding_up(plan)
        self.gathering = gathering(plan) if reduced else find_gathering(plan, self)

    def of_training(self, values: Values) -> bool:
        """Whether values were computed from batches of a training loader."""
        return any(
            id(value) in self.gathering or self.batch_of(value) is True
            for value in walk_back(values)
        )

    def added(self, value: Opaque, left: Quantity, right: Quantity) -> Quantity:
        """A sum over the batch with something added that is none: one side takes a factor."""
        for first, second in ((left, right), (right, left)):
            if first.is_sum and (second.is_mean or (second.is_same and second.kind is Kind.EQUAL)):
                pending = summand(value, first is left)
                if pending is not None:
                    return replace(
                        domain.part(1 if pending.factor == "/" else 0, gradient=True),
                        tensor=left.tensor or right.tensor,
                        pending=left.pending | right.pending | {pending},
                    )
                return domain.unknown(BESIDE, whole=True)
        return super().added(value, left, right)

    def operation(self, value: Opaque) -> Quantity:
        """An operator; the weight of a share makes a mean by targets that of the whole batch."""
        found = super().operation(value)
        if value.name == "Multiply" and any(map(self.communicates, value.operands)):
            kept = (one for one in found.pending if one.duty is not Duty.LOSS)
            return replace(found, pending=frozenset(kept))
        return found

    def communicates(self, values: Values) -> bool:
        """Whether values are results of a function in which the processes add something up."""
        return any(
            isinstance(callee, Function) and id(callee.node) in self.adding_up
            for value in values
            if isinstance(value, Opaque) and value.kind == "call"
            for callee in value.callee
        )

    def method(self, value: Opaque, callee: Opaque) -> Quantity:
        """A call of a method; of a metric that is given samples, what it makes of them."""
        if any(id(one) in self.gathering for one in callee.operands[0]):
            return domain.unknown("it is gathered from the batches of this process", whole=True)
        if callee.name == "run" and any(
            "paddle.static.Executor" in called_names(one) for one in callee.operands[0]
        ):
            # What a static graph gives back is looked at where the graph is.
            return domain.equal()
        if callee.name in ("train_batch", "eval_batch") and any(
            "paddle.Model" in called_names(one) for one in callee.operands[0]
        ):
            # Its losses are averaged where they are given back.
            return domain.equal()
        return super().method(value, callee)

    def made(self, word: str, tensor: Quantity, value: Opaque, name: str) -> Quantity:
        """A new tensor of a shape, which may be that of this process's share."""
        found = super().made(word, tensor, value, name)
        if found.kind is Kind.EQUAL and holds_share(self.plan, value):
            return domain.sample()
        return found


BESIDE = (
    "it adds a sum over the batch to something that is no such sum: with N processes the sum has "
    "1/N of its weight"
)


def adding_up(plan: Plan) -> set[int]:
    """The identities of the functions in which the processes add something up."""
    return {
        id(frame.function.node)
        for event in plan.facts.calls_to(*plan.table.quantities.sums)
        for frame in event.calls()
    }


@query
def gathering(plan: Plan) -> set[int]:
    """The objects from elsewhere, such as metrics, that training puts samples into."""
    return analysis(plan).gathering


def find_gathering(plan: Plan, found: Shares) -> set[int]:
    """See :func:`gathering`."""
    found.gathering = set()
    objects: set[int] = set()
    for event in plan.facts.reached_calls:
        if not plan.in_training(event.stack):
            continue
        for callee in event.callee:
            if not isinstance(callee, Opaque) or callee.kind != "attribute":
                continue
            if callee.name not in GATHERING:
                continue
            given = [found.of(argument.values) for argument in event.arguments.items]
            if any(one.kind in (Kind.SAMPLE, Kind.UNKNOWN) for one in given):
                objects.update(id(one) for one in callee.operands[0] if called_names(one))
    found.forget()
    return objects


@query
def analysis(plan: Plan) -> Shares:
    """The quantities of a plan; made once for all rules."""
    return Shares(plan)
