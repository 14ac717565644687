"""What each backward pass needs so that averaged gradients are those of the global batch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum

import libcst as cst

from transpile.facts.events import Call, Event
from transpile.facts.module import Module
from transpile.facts.values import Constant, External, Instance, Opaque, Sequence, Value, Values
from transpile.facts.walk import children
from transpile.plan.graph import method_calls
from transpile.plan.model import Plan
from transpile.plan.query import query
from transpile.quantity.algebra import multiply, total
from transpile.quantity.asking import (
    Analysis,
    Kind,
    Pending,
    Quantity,
    analysis,
)
from transpile.records import dataclass, field


class Need(Enum):
    """What a backward pass needs."""

    NOTHING = "nothing"
    SCALE = "scale"
    UNTOLD = "untold"
    TANGLED = "tangled"
    UNREACHED = "unreached"


@dataclass(frozen=True, eq=False)
class Place:
    """An expression of the script."""

    module: Module
    node: cst.BaseExpression


@dataclass(eq=False)
class Scaling:
    """One backward pass in the text, over all contexts.

    Args:
        module: where it is.
        node: the call.
        need: what it needs.
        quantity: how its loss depends on the batch.
        degree: the power of the number of processes that the loss is multiplied by.
        losses: the expressions to multiply.
        terms: summands to multiply instead, each by its own power.
        pending: what must be rewritten elsewhere for it.
        reason: why nothing can be told, or why its terms cannot be told apart.
    """

    module: Module
    node: cst.Call
    need: Need
    quantity: Quantity
    degree: int = 0
    losses: tuple[Place, ...] = ()
    terms: tuple[tuple[Place, int], ...] = ()
    pending: tuple[Pending, ...] = ()
    reason: str = ""


@query
def scalings(plan: Plan) -> list[Scaling]:
    """The backward passes of a script, each with what it needs; found once for all rules."""
    return list(find_scalings(plan))


def scaled_terms(plan: Plan) -> dict[int, int]:
    """The summands that are multiplied, by the identity of their node, with the power."""
    return {id(place.node): degree for scaling in scalings(plan) for place, degree in scaling.terms}


def rewritten(plan: Plan) -> frozenset[Pending]:
    """What is rewritten for the sake of a backward pass."""
    return frozenset(pending for scaling in scalings(plan) for pending in scaling.pending)


def find_scalings(plan: Plan) -> Iterator[Scaling]:
    """One answer for each call that runs backward."""
    by_node: dict[int, list[Event]] = {}
    for backward in plan.backwards:
        by_node.setdefault(id(backward.event.node), []).append(backward.event)
    for events in by_node.values():
        reached = [event for event in events if not event.detached]
        first = (reached or events)[0]
        if isinstance(first.node, cst.Call):
            yield scaling_of(plan, first.module, first.node, reached)


def scaling_of(plan: Plan, module: Module, node: cst.Call, events: list[Event]) -> Scaling:
    """What one backward pass needs."""
    found = analysis(plan)
    if not events or all(in_autograd_function(event) for event in events):
        return Scaling(module, node, Need.UNREACHED, found.of(()))
    values = tuple(value for event in events for value in losses_of(event))
    expressions = loss_expressions(node)
    if len(expressions) > 1:
        return scaling_of_several(plan, module, node, expressions)
    loss = found.of(values)
    losses = tuple(Place(module, expression) for expression in expressions)
    scaling = Scaling(module, node, Need.NOTHING, loss, losses=losses)
    given = given_gradients(events)
    if given and loss.kind is Kind.SAMPLE and found.of(given).kind is Kind.SAMPLE:
        # With a gradient for each sample, running backward adds up the products.
        scaling.quantity = loss = total(multiply(loss, found.of(given)))
    elif given and loss.kind is Kind.PART:
        scaling.quantity = loss = multiply(loss, found.of(given))
    if loss.kind in (Kind.UNKNOWN, Kind.SAMPLE, Kind.SHAPE):
        scaling.need = Need.UNTOLD
        scaling.reason = (
            told(loss)
            if loss.kind is Kind.UNKNOWN
            else "it is not seen how the samples of a batch become one number"
        )
        return scaling
    scaling.pending = tuple(sorted(loss.pending, key=order_of))
    degrees = {term.degree for term in loss.terms if term.gradient} or {0}
    if len(degrees) == 1:
        scaling.degree = degrees.pop()
        if scaling.degree and not losses:
            scaling.need, scaling.reason = Need.TANGLED, "the loss has no place in the text"
        elif scaling.degree or scaling.pending:
            scaling.need = Need.SCALE
        return scaling
    terms = Terms(plan, found)
    terms.separate(values)
    if terms.reason or not terms.places:
        scaling.need = Need.TANGLED
        scaling.reason = terms.reason or "its terms are not added up in the script"
    else:
        scaling.need = Need.SCALE
        scaling.terms = tuple(terms.places.values())
    return scaling


def told(loss: Quantity) -> str:
    """Why nothing is known of a loss, and what is nevertheless."""
    reason: str = loss.reason
    if not loss.shared:
        return reason
    return (
        f"{reason}; besides, it is divided by the number of samples of this process's share, "
        "which makes the gradients of a mean N times too large with N processes"
    )


def scaling_of_several(
    plan: Plan, module: Module, node: cst.Call, expressions: list[cst.BaseExpression]
) -> Scaling:
    """What a backward pass from several losses needs: each is a term of its own."""
    found = analysis(plan)
    scaling = Scaling(module, node, Need.NOTHING, found.of(()))
    terms: list[tuple[Place, int]] = []
    pending: set[Pending] = set()
    for expression in expressions:
        loss = found.of(plan.facts.values_of(expression))
        degrees = {term.degree for term in loss.terms if term.gradient} or {0}
        scaling.quantity = loss
        if loss.kind not in (Kind.PART, Kind.EQUAL, Kind.NOTHING) or len(degrees) > 1:
            scaling.need = Need.UNTOLD
            scaling.reason = told(loss) or "one of its losses is more than a sum or a mean"
            return scaling
        pending |= loss.pending
        degree = degrees.pop()
        if degree:
            terms.append((Place(module, expression), degree))
    scaling.terms, scaling.pending = tuple(terms), tuple(sorted(pending, key=order_of))
    if terms or pending:
        scaling.need = Need.SCALE
    return scaling


def order_of(pending: Pending) -> tuple[str, int]:
    """Where something to rewrite stands."""
    return pending.module.name, pending.module.source.span(pending.node).start


def in_autograd_function(event: Event) -> bool:
    """Whether a place runs inside a function that defines its own gradient."""
    for frame in event.stack:
        owner = frame.function.owner if isinstance(frame, Call) else None
        if owner is not None and "torch.autograd.Function" in owner.external_bases():
            return True
    return False


def losses_of(event: Event) -> Values:
    """The values that an event runs backward from."""
    found: list[Value] = []
    for callee in event.callee:
        if isinstance(callee, Opaque) and callee.kind == "attribute":
            found.extend(callee.operands[0])
        elif isinstance(callee, External):
            first = event.arguments.get("tensors", 0)
            for value in first.values if first is not None else ():
                found.extend(value.every() if isinstance(value, Sequence) else (value,))
    return tuple(found)


def loss_expressions(node: cst.Call) -> list[cst.BaseExpression]:
    """The expressions that a call runs backward from."""
    function = node.func
    if isinstance(function, cst.Attribute) and not is_functional(node):
        receiver = function.value
        if (
            isinstance(receiver, cst.Call)
            and isinstance(receiver.func, cst.Attribute)
            and receiver.func.attr.value == "scale"
            and len(receiver.args) == 1
            and not receiver.args[0].star
        ):
            return [receiver.args[0].value]
        return [receiver]
    for position, argument in enumerate(node.args):
        name = argument.keyword.value if argument.keyword is not None else None
        if name == "tensors" or (name is None and position == 0 and not argument.star):
            if isinstance(argument.value, (cst.List, cst.Tuple)):
                return [element.value for element in argument.value.elements]
            return [argument.value]
    return []


def is_functional(node: cst.Call) -> bool:
    """Whether a call is ``torch.autograd.backward(...)`` rather than a method of the loss."""
    function = node.func
    return (
        isinstance(function, cst.Attribute)
        and isinstance(function.value, (cst.Name, cst.Attribute))
        and ends_in(function.value, "autograd")
    )


def ends_in(node: cst.BaseExpression, word: str) -> bool:
    """Whether a dotted name ends in a word."""
    if isinstance(node, cst.Attribute):
        return node.attr.value == word
    return isinstance(node, cst.Name) and node.value == word


def given_gradients(events: Iterable[Event]) -> Values:
    """What the gradients of a backward pass start from, where the script says it."""
    found: list[Value] = []
    for event in events:
        functional = any(isinstance(callee, External) for callee in event.callee)
        given = (
            event.arguments.get("grad_tensors", 1)
            if functional
            else event.arguments.get("gradient", 0)
        )
        for value in given.values if given is not None else ():
            found.extend(value.every() if isinstance(value, Sequence) else (value,))
    return tuple(found)


@dataclass(eq=False)
class Terms:
    """Takes a loss that mixes sums and means apart, down to the summands in the text.

    Args:
        plan: the plan.
        analysis: the quantities.
        places: the summands to multiply, by the identity of their node, each with its power.
        reason: why that cannot be done.
    """

    plan: Plan
    analysis: Analysis
    places: dict[int, tuple[Place, int]] = field(default_factory=dict)
    reason: str = ""
    seen: set[int] = field(default_factory=set)

    def separate(self, values: Values) -> None:
        """Find the summands of all alternatives."""
        for value in values:
            self.separate_one(value)

    def separate_one(self, value: Value) -> None:
        """Find the summands of one value."""
        if id(value) in self.seen or self.reason:
            return
        self.seen.add(id(value))
        found = self.analysis.of((value,))
        degrees = {term.degree for term in found.terms if term.gradient}
        if degrees <= {0}:
            return
        if not isinstance(value, Opaque):
            self.reason = "its terms are collected in a list"
            return
        if value.kind == "operation" and value.name in ("Add", "Subtract"):
            self.operands(value)
        elif len(degrees) == 1:
            self.reason = "on one path it has other terms than on another"
        elif value.kind == "operation" and value.name in ("Multiply", "Divide"):
            for operand in value.operands:
                self.separate(operand)
        elif value.kind == "operation" and value.name in ("Minus", "Plus"):
            self.separate(value.operands[0])
        elif value.inner and any(isinstance(callee, Instance) for callee in value.callee):
            self.separate(value.inner)
        elif value.kind == "call":
            received = method_calls(value)
            inner = received[0][1] if received else ()
            mixed = self.analysis.of(inner)
            if len(mixed.degrees) > 1:
                self.separate(inner)
            for argument in value.arguments.items:
                if len(self.analysis.of(argument.values).degrees) > 1:
                    self.separate(argument.values)
        else:
            self.reason = "its terms cannot be told apart in the text"

    def operands(self, value: Opaque) -> None:
        """The two sides of a sum or difference."""
        node = value.node
        if isinstance(node, cst.BinaryOperation):
            sides: list[cst.BaseExpression | None] = [node.left, node.right]
        elif isinstance(node, cst.AugAssign):
            sides = [None, node.value]
        else:
            self.reason = "its terms are not added up by an operator"
            return
        for side, values in zip(sides, value.operands, strict=True):
            found = self.analysis.of(values)
            degrees = {term.degree for term in found.terms if term.gradient}
            if degrees <= {0}:
                continue
            if len(degrees) > 1 or side is None:
                self.separate(values)
                continue
            if not self.belongs_to_training(side, values):
                self.reason = (
                    "the summed term is added in code that evaluates, too, where it must stay"
                )
                return
            self.places[id(side)] = (Place(value.module, side), degrees.pop())

    def belongs_to_training(self, node: cst.BaseExpression, values: Values) -> bool:
        """Whether an expression is only ever a sum over a training batch."""
        if any(self.analysis.of((value,)).kind is not Kind.PART for value in values):
            return False
        return not evaluates_too(self.plan, self.analysis, node)


def evaluates_too(plan: Plan, found: Analysis, node: cst.CSTNode) -> bool:
    """Whether an expression is reached with batches of training and with others."""
    kinds = {
        found.of((value,)).kind
        for value in plan.facts.values_of(node)
        if not isinstance(value, Constant)
    }
    if kinds & {Kind.PART, Kind.SAMPLE} and kinds & {Kind.EQUAL, Kind.NOTHING}:
        return True
    return any(evaluates_too(plan, found, child) for child in children(node))
