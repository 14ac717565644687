"""Where reported numbers leave the training batch."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.module import Module
from transpile.facts.values import BoundMethod, Constant, Instance, Opaque, Value, Values
from transpile.plan.graph import called_names, is_instance_of, method_calls, walk_back
from transpile.quantity.asking import Duty, Kind, Pending, Quantity
from transpile.rules.pytorch.losses._multiples import tensor_behind
from transpile.rules.pytorch.losses._reductions import obstacle
from transpile.rules.pytorch.losses._uneven_rounds import UNEVEN, is_uneven

from .chance import Chance
from .counts import Counts
from .entered import Entry
from .inquiry import Inquiry
from .model import Change, Leaf, Part

#: Methods that give a tensor of another type.
CONVERTS = frozenset({"double", "float", "cpu", "to", "detach", "long", "int"})
#: Methods that put something into a list, set or dict.
FILLING = frozenset({"append", "appendleft", "add", "insert", "extend", "setdefault", "update"})

CHANCE = "a number of the batch is multiplied by one that each process draws for itself"


#: Methods that give one number of all, or one for each place along an axis that they are told.
ALONG_AXES = frozenset({"mean", "sum"})


#: Functions of NumPy that give an array of several numbers.
ARRAYS = frozenset(
    {
        "zeros", "ones", "empty", "full", "array", "asarray", "zeros_like", "ones_like",
        "empty_like", "full_like", "concatenate", "stack", "vstack", "hstack", "append",
    }
)  # fmt: skip


def is_array(value: Value) -> bool:
    """Whether a value has a number for each place that is left beside an axis: ``x.mean(0)``.

    So has what NumPy makes an array of.
    """
    if not isinstance(value, Opaque) or value.kind != "call":
        return False
    for name in called_names(value):
        package, _, word = name.rpartition(".")
        if package == "numpy" and word in ARRAYS:
            return True
    axis = value.arguments.get("axis", 0)
    return any(word in ALONG_AXES for word, _ in method_calls(value)) and (
        axis is not None and axis.values != (Constant(None),)
    )


class Leaves:
    """Finds where the numbers of a reported part leave the batch.

    Args:
        inquiry: what is known already.
    """

    def __init__(self, inquiry: Inquiry) -> None:
        self.inquiry = inquiry
        self.plan = inquiry.plan
        self.analysis = inquiry.analysis
        self.counts = Counts(inquiry)
        self.chance = Chance(inquiry)
        #: The tensors that are reduced behind a product with a number of chance alone.
        self.held: set[int] = set()
        #: The numbers whose tensors are being looked for.
        self.followed: set[Pending] = set()

    def of(self, part: Part, quantity: Quantity) -> Iterator[Leaf]:
        """The places where the numbers of a part leave the batch."""
        for pending in sorted(self.pendings(part.values), key=place_of):
            yield from self.pending_leaf(part, pending)
        if quantity.kind is Kind.PART:
            yield from self.tensor_leaf(part)
        else:
            yield from self.counts.of(part, part.values)

    def pendings(self, values: Values) -> set[Pending]:
        """What must be rewritten for values, also where it is forgotten what they are made of."""
        found: set[Pending] = set()
        for value in walk_back(values, self.chance.is_unknown):
            found |= self.analysis.of((value,)).pending
        return found

    def pending_leaf(self, part: Part, pending: Pending) -> Iterator[Leaf]:
        """A number that leaves the tensors, or a denominator of a number."""
        if pending in self.inquiry.settled and pending.duty is not Duty.NUMBER:
            return
        why = obstacle(self.plan, pending)
        if self.inquiry.in_model(pending.module, pending.node):
            why = "it is made inside a model"
        if why:
            self.inquiry.doubt(part, why)
            return
        if pending.duty is not Duty.NUMBER:
            assert isinstance(pending.node, cst.BaseExpression)
            change = Change.DENOMINATOR
            yield Leaf(pending.module, pending.node, 0, change, part.event, pending=pending)
            return
        tensor = tensor_behind(pending.node)
        assert tensor is not None
        products = list(self.chance.products(part.values, pending))
        if products:
            self.held.add(id(tensor))
            yield from self.product_leaves(part, products, pending, tensor)
            return
        if pending in self.followed:
            self.inquiry.doubt(part, "it is made of numbers that it was made into before")
            return
        self.followed.add(pending)
        for leaf in list(self.leaf_at(part, pending.module, tensor)):
            function = pending.node.func if isinstance(pending.node, cst.Call) else None
            if leaf.node is tensor and isinstance(function, cst.Name) and function.value == "int":
                leaf.cuts = function
            yield leaf
        self.followed.discard(pending)

    def product_leaves(
        self,
        part: Part,
        products: list[tuple[Module, Opaque]],
        pending: Pending,
        tensor: cst.BaseExpression,
    ) -> Iterator[Leaf]:
        """The products of a number and of chance, each reduced as a plain number."""
        degrees = {
            degree
            for value in self.plan.facts.values_of(tensor)
            for degree in self.analysis.of((value,)).degrees
        }
        for module, product in products:
            node = product.node
            linear = len(degrees) == 1 and self.chance.is_linear(product, pending)
            if not linear or not isinstance(node, cst.BinaryOperation):
                self.inquiry.doubt(part, CHANCE)
                return
            (degree,) = degrees
            yield Leaf(
                module, node, degree, Change.MEAN, part.event, whole_degree=degree, plain=True
            )

    def leaf_at(self, part: Part, module: Module, tensor: cst.BaseExpression) -> Iterator[Leaf]:
        """A tensor in the text that is to be reduced."""
        if is_uneven(self.plan, module, tensor):
            self.inquiry.doubt(part, UNEVEN)
            return
        values = self.plan.facts.values_of(tensor) or part.values
        known = [self.analysis.of((value,)) for value in values if not isinstance(value, Constant)]
        known = [one for one in known if one.kind is not Kind.NOTHING]
        own = [one for one in known if one.kind is Kind.PART]
        selected = {each for one in own for each in one.pending if each.duty is Duty.MEAN}
        if any(each.node is tensor for each in selected - self.inquiry.settled):
            self.inquiry.doubt(
                part, "it is a mean over some of the samples, and how many differs by process"
            )
            return
        counted = any(one.kind is Kind.EQUAL and one.degrees - {0} for one in known)
        if own and ((counted and own[0].tensor) or self.is_number_at_times(values)):
            self.inquiry.doubt(part, "it is a plain number at times, and a tensor at others")
            return
        if own and not any(one.tensor for one in own) and any(map(is_array, values)):
            self.inquiry.doubt(part, "it is an array of numbers")
            return
        degrees = {degree for one in own for degree in one.degrees}
        if len(degrees) != 1 or any(one.kind not in (Kind.PART, Kind.EQUAL) for one in known):
            reasons = [one.reason for one in known if one.kind is Kind.UNKNOWN]
            if not reasons and isinstance(tensor, cst.BinaryOperation) and is_sum(tensor):
                for operand in (tensor.left, tensor.right):
                    if any(
                        self.analysis.of((value,)).kind is Kind.PART
                        for value in self.plan.facts.values_of(operand)
                    ):
                        yield from self.leaf_at(part, module, operand)
                return
            self.inquiry.doubt(
                part, reasons[0] if reasons else "it adds sums to means over the batch"
            )
            return
        for one in own:
            for pending in sorted(one.pending, key=place_of):
                yield from self.pending_leaf(part, pending)
        own_values = [value for value in values if self.analysis.of((value,)).kind is Kind.PART]
        degree = degrees.pop()
        whole = degree
        inner: frozenset[int] = frozenset()
        if not any(id(value) in self.inquiry.trained for value in own_values):
            found = self.inquiry.whole.of(tuple(own_values))
            if found.kind is Kind.PART and found.degree is not None:
                whole = found.degree
                inner = frozenset(
                    id(leaf.node) for leaf in self.counts.of(None, tuple(own_values), part.event)
                )
        yield Leaf(
            module,
            tensor,
            degree,
            Change.MEAN,
            part.event,
            whole_degree=whole,
            inner=inner,
            evaluates=any(one.kind is Kind.EQUAL for one in known),
            plain=not any(one.tensor for one in own),
        )

    def is_number_at_times(self, values: Values) -> bool:
        """Whether a tensor is also a number of the script's own, or adds up what is."""
        plain = any(isinstance(one, Constant) and one.value is not None for one in values)
        for value in values:
            if not isinstance(value, Opaque) or self.analysis.of((value,)).kind is not Kind.PART:
                continue
            if value.kind == "operation" and isinstance(value.node, cst.AugAssign):
                if len(value.operands) == 2 and self.is_number_at_times(value.operands[1]):
                    return True
            elif plain and not adds_to(value, values) and self.analysis.of((value,)).tensor:
                return True
        return False

    def tensor_leaf(self, part: Part) -> Iterator[Leaf]:
        """A tensor, or a number that was never one, that is reported as it is."""
        if part.node is not None and self.is_reducible(part.node):
            values = self.plan.facts.values_of(part.node)
            evaluates = any(self.analysis.of((v,)).kind is Kind.EQUAL for v in values)
            steps = self.accumulated(part.values) if evaluates else []
            for module, node in steps or [(part.module, part.node)]:
                yield from self.leaf_at(part, module, node)
            return
        sources = {id(value) for value in self.sources(part.values)}
        places = list(self.entries(sources))
        covered = {id(one) for place in places for one in self.sources(place.values)}
        if not places or sources - covered:
            self.inquiry.doubt(part, "it has no place in the text at which it could be reduced")
            return
        for place in places:
            self.inquiry.entered.add(place)
            for leaf in self.leaf_at(part, place.module, place.node):
                leaf.enters = True
                yield leaf

    def accumulated(self, values: Values) -> list[tuple[Module, cst.BaseExpression]]:
        """What is added batch by batch to make the values; nothing where that is not all.

        Where training and evaluation share a loop, only there it is known which of them it is.
        """
        found: dict[int, tuple[Module, cst.BaseExpression]] = {}
        seen: set[int] = set()
        stack = list(values)
        while stack:
            value = stack.pop()
            if id(value) in seen or self.analysis.of((value,)).kind is not Kind.PART:
                continue
            seen.add(id(value))
            if not isinstance(value, Opaque):
                return []
            if isinstance(value.node, cst.AugAssign) and value.kind == "operation":
                found[id(value.node)] = (value.module, value.node.value)
                stack.extend(value.operands[0])
                continue
            received = [receiver for name, receiver in method_calls(value) if name in CONVERTS]
            groups = value.operands if value.kind == "operation" else received
            if not groups:
                return []
            for group in groups:
                stack.extend(group)
        return list(found.values())

    def is_reducible(self, node: cst.BaseExpression) -> bool:
        """Whether an expression is a tensor, or else a number, whenever it is reached."""
        values = [
            value
            for value in self.plan.facts.values_of(node)
            if value not in (Constant(0), Constant(0.0))
        ]
        known = [self.analysis.of((value,)) for value in values]
        return bool(values) and (
            all(isinstance(value, Opaque) for value in values)
            and len({one.tensor for one in known}) == 1
        )

    def entries(self, sources: set[int]) -> Iterator[Entry]:
        """The arguments by which a tensor gets into the object or list that is reported."""
        seen: set[int] = set()
        for event in self.plan.facts.reached_calls:
            if not self.takes_in(event):
                continue
            for argument in event.arguments.items:
                node = argument.node
                if not isinstance(node, cst.BaseExpression) or id(node) in seen:
                    continue
                if any(id(value) in sources for value in self.sources(argument.values)):
                    if self.is_reducible(node):
                        seen.add(id(node))
                        yield Entry(event.module, node, argument.values, event)

    def sources(self, values: Values) -> Iterator[Value]:
        """The tensors that arithmetic has made the values of."""
        seen: set[int] = set()
        stack = list(values)
        while stack:
            value = stack.pop()
            if id(value) in seen:
                continue
            seen.add(id(value))
            if self.analysis.of((value,)).kind is not Kind.PART:
                continue
            if isinstance(value, Opaque) and value.kind == "operation" and value.name != "len":
                for operand in value.operands:
                    stack.extend(operand)
                continue
            yield value

    def takes_in(self, event: Event) -> bool:
        """Whether a call puts what it is given into a container or an object of the script."""
        for callee in event.callee:
            if isinstance(callee, BoundMethod):
                return isinstance(callee.receiver, Instance) and not is_instance_of(
                    callee.receiver, self.plan.table.module_bases
                )
            if isinstance(callee, Opaque) and callee.kind == "attribute":
                return callee.name in FILLING
        return False


def adds_to(value: Opaque, values: Values) -> bool:
    """Whether a total is added up from what it is at first: ``total = total + loss``."""
    first = [one for one in values if isinstance(one, Constant)]
    operands = value.operands if value.kind == "operation" else ()
    return any(one in first for operand in operands for one in operand)


def place_of(pending: Pending) -> tuple[str, int]:
    """Where something pending stands."""
    return pending.module.name, pending.module.source.span(pending.node).start


def is_sum(node: cst.BinaryOperation) -> bool:
    """Whether an operation adds or subtracts."""
    return isinstance(node.operator, (cst.Add, cst.Subtract))
