"""The numbers of samples that reported numbers are made of."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.module import Module
from transpile.facts.values import BoundMethod, Function, Opaque, Sequence, Value, Values
from transpile.facts.walk import children
from transpile.plan.graph import called_names, method_calls, parents
from transpile.quantity.asking import Duty, Kind, Quantity

from .inquiry import Inquiry
from .model import Change, Leaf, Part

#: Methods that numbers go through on their way.
ARITHMETIC = frozenset(
    {
        "item", "float", "cpu", "detach", "numpy", "mul", "mul_", "div", "div_", "add", "add_",
        "sub", "double", "mean", "sum", "to", "clone", "exp", "sqrt", "tolist",
    }
)  # fmt: skip
#: Functions of tensors that do the same.
FUNCTIONS = frozenset(
    f"torch.{word}"
    for word in (
        "div", "divide", "true_divide", "mul", "multiply", "add", "sub", "subtract", "neg", "sqrt",
        "exp", "log",
    )
)  # fmt: skip


class Counts:
    """Finds the numbers of samples in what is reported.

    Args:
        inquiry: what is known already.
    """

    def __init__(self, inquiry: Inquiry) -> None:
        self.inquiry = inquiry
        self.plan = inquiry.plan
        self.analysis = inquiry.analysis

    def of(self, part: Part | None, values: Values, event: Event | None = None) -> Iterator[Leaf]:
        """The numbers of samples that values are made of, where they can be multiplied.

        Args:
            part: what they are reported as; None to only look.
            values: the values.
            event: what reports them, where there is no part.
        """
        seen: set[int] = set()
        stack: list[tuple[Value, Opaque | None]] = [(value, None) for value in values]
        asked = part or Part(values, None, self.plan.entry, event or self.plan.facts.events[0])
        while stack:
            value, user = stack.pop()
            if id(value) in seen or not isinstance(value, (Opaque, Sequence)):
                continue
            quantity = self.analysis.of((value,))
            if quantity.kind in (Kind.SAMPLE, Kind.SHAPE) or id(value) in self.inquiry.trained:
                continue
            if asked.decides and self.counts_unknown(value):
                continue
            counts = quantity.degree == 1 and not (value_is_item(value) and quantity.pending)
            if isinstance(value, Opaque) and counts and is_count(value):
                yield from self.count_leaf(asked, value, user, quiet=part is None)
                continue
            seen.add(id(value))
            if isinstance(value, Opaque) and not computes(value, quantity):
                continue
            if part is not None and isinstance(value, Opaque) and leaves_tensors(value, quantity):
                continue
            inner = value if isinstance(value, Opaque) else user
            for group in parents(value):
                stack.extend((one, inner) for one in group)

    def count_leaf(
        self, part: Part, count: Opaque, user: Opaque | None, quiet: bool = False
    ) -> Iterator[Leaf]:
        """Where to multiply one number of samples; nothing is noted of others if `quiet`."""
        node = count.node if isinstance(count.node, cst.BaseExpression) else None
        module = count.module
        if node is None or is_bound(module, node):
            used = self.use_of(count, user) or self.part_itself(part, count)
            if used is None:
                if not quiet:
                    self.inquiry.doubt(part, "it counts the samples of one process")
                return
            module, node = used
        known = [
            self.analysis.of((value,)) for value in self.plan.facts.values_of(node) or (count,)
        ]
        if any(one.kind is not Kind.EQUAL for one in known):
            if not quiet:
                self.inquiry.doubt(part, "it counts the samples of one process")
            return
        evaluates = any(one.degree != 1 for one in known)
        yield Leaf(module, node, 1, Change.COUNT, part.event, evaluates=evaluates)

    def counts_unknown(self, value: Value) -> bool:
        """Whether it is the length of something that is not known to hold samples."""
        return (
            isinstance(value, Opaque)
            and value.kind == "operation"
            and value.name == "len"
            and self.analysis.of(value.operands[0]).kind is Kind.UNKNOWN
        )

    def part_itself(self, part: Part, count: Opaque) -> tuple[Module, cst.BaseExpression] | None:
        """The reported expression, where it is the count itself."""
        if part.node is not None and any(value is count for value in part.values):
            return part.module, part.node
        return None

    def use_of(
        self, count: Opaque, user: Opaque | None
    ) -> tuple[Module, cst.BaseExpression] | None:
        """The operand of an operation, or the argument, that is a number of samples."""
        if user is None:
            return None
        for node in children(user.node):
            if isinstance(node, cst.BaseExpression):
                values = self.plan.facts.values_of(node)
                if any(value is count for value in values):
                    if all(self.analysis.of((value,)).degree == 1 for value in values):
                        return user.module, node
        for event in self.plan.facts.reached_calls:
            if not any(contains(callee, user) for callee in event.callee):
                continue
            for argument in event.arguments.items:
                if isinstance(argument.node, cst.BaseExpression) and any(
                    value is count for value in argument.values
                ):
                    return event.module, argument.node
        return None


def is_count(value: Opaque) -> bool:
    """Whether a value is the number of samples itself."""
    if value.kind == "operation":
        return value.name == "len"
    if value.kind == "attribute":
        return value.name in ("batch_size", "num_graphs")
    if value.kind == "item":
        return True
    return any(
        isinstance(callee, Opaque) and callee.name in ("size", "numel", "nelement")
        for callee in value.callee
    ) or any(name in ("torch.numel", "numpy.size") for name in called_names(value))


def value_is_item(value: Value) -> bool:
    """Whether a value is taken out of something by an index."""
    return isinstance(value, Opaque) and value.kind == "item"


def computes(value: Opaque, quantity: Quantity | None = None) -> bool:
    """Whether a number is made of others by arithmetic."""
    if (
        quantity is not None
        and quantity.degrees - {0}
        and (
            value.kind == "element"
            or any(name.startswith("torch.") for name in called_names(value))
        )
    ):
        return True
    if value.kind == "operation":
        return value.name not in ("iterate", "enumerate", "zip", "index", "isinstance")
    if value.kind == "call":
        if quantity is not None and quantity.kind is Kind.UNKNOWN:
            # Whatever a library makes of numbers, it is given those of all processes.
            return True
        return any(
            name.startswith(("builtins.", "math.", "numpy.")) or name in FUNCTIONS
            for name in called_names(value)
        ) or any(name in ARITHMETIC for name, _ in method_calls(value))
    return value.kind in ("item", "attribute")


def leaves_tensors(value: Opaque, quantity: Quantity) -> bool:
    """Whether a value is a number that leaves the tensors right there."""
    return any(
        pending.duty is Duty.NUMBER and pending.node is value.node for pending in quantity.pending
    )


def is_bound(module: Module, node: cst.BaseExpression) -> bool:
    """Whether an expression is bound to a name rather than used right there."""
    parent = module.source.parent(node)
    binding = (cst.Assign, cst.AssignTarget, cst.AnnAssign, cst.NamedExpr, cst.Tuple, cst.Element)
    if isinstance(parent, (cst.For, cst.CompFor)):
        return node is parent.target
    return isinstance(parent, binding)


def contains(callee: Value, user: Opaque) -> bool:
    """Whether an operation stands in the code of a function of the project."""
    function = callee.function if isinstance(callee, BoundMethod) else callee
    if not isinstance(function, Function) or function.module is not user.module:
        return False
    source = function.module.source
    span, inner = source.span(function.node), source.span(user.node)
    return span.contains(inner)
