"""Find means that are summed over the processes and never divided.

What:
    A mean over this process's batch is all-reduced with a sum, and the result is printed, logged or
    tracked, or decides something, without having been divided by anything since.

Why:
    The sum of N means is N times the mean: the loss that is reported grows with the number of
    processes, and thresholds that it is compared with mean something else on every cluster.

Before:
    dist.all_reduce(loss)
    print(loss.item())

After:
    dist.all_reduce(loss)
    print(loss.item() / dist.get_world_size())

Refuses when:
    never: it is a warning.

Source:
    https://pytorch.org/docs/stable/distributed.html#torch.distributed.ReduceOp
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import libcst as cst

from transpile.audit.model import Audit
from transpile.facts.events import Event
from transpile.facts.values import (
    Constant,
    External,
    Instance,
    Opaque,
    Settled,
    Value,
    Values,
    only_constant,
)
from transpile.plan.graph import behind, called_names, method_calls, walk_back
from transpile.quantity.asking import Kind as QuantityKind
from transpile.quantity.asking import quantity
from transpile.rule import Remark
from transpile.rules.pytorch.agreement._together import agreed_values, conditions_of
from transpile.rules.pytorch.audit._data import Sharing, engines, loaders_of
from transpile.rules.pytorch.audit._fixes import division
from transpile.rules.pytorch.audit._losses import (
    ADDITIONS,
    DIVISIONS,
    PRODUCTS,
    counts,
    is_mean_loss,
    near,
)
from transpile.rules.pytorch.audit._reported import contents, parts_of, reports, with_contents

if TYPE_CHECKING:
    from typing import TypeGuard

CODES = {"AU603": "a mean is summed over the processes and not divided"}
ONLY_WARNS = True
REDUCES = ("torch.distributed.all_reduce", "torch.distributed.reduce")
ADDING = tuple(External(f"torch.distributed.{word}.SUM") for word in ("ReduceOp", "reduce_op"))
QUOTIENTS = DIVISIONS | {"FloorDivide", "FloorDivideAssign"}
SUMS = DIVISIONS | ADDITIONS | PRODUCTS
#: Operators and methods through which a number is reported as it is.
KEEPING = frozenset(
    {
        "format",
        "concatenate",
        "Compare",
        "LessThan",
        "GreaterThan",
        "LessThanEqual",
        "GreaterThanEqual",
        "zip",
        "enumerate",
        "iterate",
    }
)
KEEPING_METHODS = frozenset(
    {
        "item", "data", "detach", "cpu", "cuda", "clone", "float", "double", "tolist", "numpy",
        "to", "mean", "sum",
    }
)  # fmt: skip
KEEPING_CALLS = frozenset(
    {
        "builtins.float",
        "builtins.round",
        "builtins.str",
        "builtins.sum",
        "builtins.zip",
        "torch.tensor",
        "torch.as_tensor",
        "torch.stack",
        "torch.cat",
    }
)


#: Functions that give a number of those that they are given.
NUMBERS = frozenset(f"builtins.{word}" for word in ("max", "min", "int", "float", "abs"))


def decide(audit: Audit) -> Iterator[Remark]:
    """One remark for each sum of means that is shown or decides."""
    if engines(audit):
        return
    sums = summed_numbers(audit)
    if not sums:
        return
    said: set[int] = set()
    keeps = Keeping(audit)
    for values in shown(audit):
        made_of = list(with_contents(values, keeps.stored, keeps.enters))
        divided = any(is_divided(value) for value in made_of)
        averaged = {
            id(one)
            for value in with_contents(values, keeps.stored, lambda one: True)
            if is_divided(value) and keeps.counts_processes(value.operands[1])
            if not keeps.falls(value)
            for one in value.operands[0]
        }
        for value in made_of:
            event = sums.get(id(value))
            if event is None or id(event.node) in said or id(value) in averaged:
                continue
            if is_mean_of_part(audit, keeps, value, divided):
                said.add(id(event.node))
                yield Remark.warn(
                    "AU603",
                    event,
                    "this adds up the means of all processes, and the sum is reported as it is: it "
                    "is as many times too large as there are processes",
                    "divide it by dist.get_world_size() behind the all-reduce",
                    division(event),
                )


def summed_numbers(audit: Audit) -> dict[int, Event]:
    """The all-reduces that add something up, by the identity of what they leave."""
    found: dict[int, Event] = {}
    for event in audit.facts.calls_to(*REDUCES):
        to_all = any(getattr(callee, "name", "") == REDUCES[0] for callee in event.callee)
        operation = event.arguments.get("op", 1 if to_all else 2)
        if operation is not None and not all(value in ADDING for value in operation.values):
            continue
        tensor = event.arguments.get("tensor", 0)
        for value in tensor.values if tensor is not None else ():
            found[id(value)] = event
    return found


def is_mean_of_part(audit: Audit, keeps: Keeping, reduced: Value, divided: bool) -> bool:
    """Whether what is summed over processes is a mean on each of them.

    A sum of means over batches is one as well where it is `divided` once it has been summed, or
    each of its terms is.
    """
    made_of = list(behind_criteria((reduced,), keeps.sums))
    if any(is_mean(audit, value) or keeps.is_share(value) for value in made_of):
        return True
    added = any(adds_up(value) for value in made_of)
    divided = divided or not added or any(is_divided(value) for value in made_of)
    return divided and any(is_mean_loss(value) for value in made_of)


def adds_up(value: Value) -> bool:
    """Whether a value is what rounds of a loop have added up."""
    if not isinstance(value, Opaque) or value.name not in ADDITIONS:
        return False
    if any(getattr(one, "name", "") == "Subtract" for one in near((value,))):
        # A running mean moves towards each new number.
        return False
    return any(one is value for group in value.operands for one in walk_back(group))


def behind_criteria(values: Values, enters: Callable[[Value], bool]) -> Iterator[Value]:
    """What values came from, also through the calls of losses of the script's own."""
    pending, seen = [values], set[int]()
    while pending:
        for value in walk_back(pending.pop(), enters):
            if id(value) not in seen:
                seen.add(id(value))
                yield value
                if isinstance(value, Opaque) and value.inner:
                    if value.kind == "item" or any(map(is_object, value.callee)):
                        pending.append(value.inner)


def is_object(value: Value) -> bool:
    """Whether a value is an object of the project."""
    return isinstance(value, Instance)


def is_mean(audit: Audit, value: Value) -> bool:
    """Whether a value is a mean over this process's batch."""
    known = quantity(audit.plan, (value,))
    return known.kind is QuantityKind.PART and {term.degree for term in known.terms} == {0}


def is_divided(value: Value) -> TypeGuard[Opaque]:
    """Whether a value is a quotient."""
    return isinstance(value, Opaque) and value.kind == "operation" and value.name in DIVISIONS


class Keeping:
    """Answers through what a number is still what it was, or its sum or part.

    Args:
        audit: the script.
    """

    def __init__(self, audit: Audit) -> None:
        self.sizes = {name for name, word in audit.vocabulary.calls.items() if word == "world_size"}
        self.audit = audit
        self.stored = contents(audit)
        self.agreed = agreed_values(audit.plan)
        loaders = loaders_of(audit)
        self.shared = {
            id(loader.value)
            for loader in audit.plan.loaders
            if loaders.sharing(loader) is Sharing.SHARE
        }

    def enters(self, value: Value) -> bool:
        """Whether what a value is made of is looked at."""
        if not isinstance(value, Opaque):
            return not isinstance(value, External)
        if value.kind == "operation" and value.name in (*ADDITIONS, "Subtract"):
            return True
        if value.kind == "operation" and value.name in SUMS:
            if self.falls(value):
                return True
            if any(self.counts_processes(operand) for operand in value.operands[1:]):
                return False
            return value.name not in DIVISIONS or is_of_data(value.operands[1])
        if value.kind == "attribute" and any(id(one) in self.stored for one in value.operands[0]):
            return True
        return id(value) in self.stored or keeps(value)

    def falls(self, value: Opaque) -> bool:
        """Whether a value is divided by a number that falls as that of the processes grows."""
        node = value.node
        by = node.value if isinstance(node, cst.AugAssign) else getattr(node, "right", None)
        if value.name not in QUOTIENTS or not isinstance(by, cst.BaseExpression):
            return False
        few = only_constant(self.audit.facts.values_of(by))
        many = only_constant(self.audit.first.facts.values_of(by))
        if not isinstance(few, Settled) or many is None:
            return False
        less, more = many.value, few.value
        if not isinstance(less, (int, float)) or not isinstance(more, (int, float)):
            return False
        return less < more

    def sums(self, value: Value) -> bool:
        """Whether a value is its parts, or their sum: with weights it is one over samples."""
        if isinstance(value, Opaque) and value.kind == "operation":
            if value.name in PRODUCTS:
                return is_scaled(value) and self.enters(value)
        return self.enters(value)

    def is_share(self, value: Value) -> bool:
        """Whether a value is a quotient by how much data this process has."""
        by = divisor(value)
        if not by or self.counts_processes(by):
            return False
        return any(
            id(one) in self.shared or (isinstance(one, Opaque) and one.kind == "element")
            for one in with_contents(by, self.stored, lambda one: True)
        )

    def counts_processes(self, values: Values) -> bool:
        """Whether values are the number of processes, or of what all of them have."""
        return any(
            isinstance(value, Settled)
            or id(value) in self.agreed
            or not self.sizes.isdisjoint(called_names(value))
            for value in numerators(values)
        )


def is_of_data(values: Values) -> bool:
    """Whether a number is written, or says how much data or how many rounds there are.

    A setting may be the number of the processes.
    """
    seen: set[int] = set()
    pending = list(values)
    while pending:
        value = pending.pop()
        if id(value) in seen or type(value) is Constant:
            continue
        seen.add(id(value))
        if not isinstance(value, Opaque):
            return False
        if value.kind == "element" or counts(value):
            continue
        if value.kind == "operation" or value.kind == "item":
            pending.extend(one for group in value.operands for one in group)
        elif NUMBERS.isdisjoint(called_names(value)):
            return False
        else:
            pending.extend(one for item in value.arguments.items for one in item.values)
    return True


def divisor(value: Value) -> Values:
    """What a value is divided by: by an operator, ``div_()``, or as in ``x.mul_(100 / n)``."""
    if is_divided(value):
        return value.operands[1]
    if isinstance(value, Opaque) and value.kind == "call" and value.arguments.items:
        given = value.arguments.items[0].values
        for name, _ in method_calls(value):
            if name.rstrip("_") in ("div", "true_divide"):
                return given
            if name.rstrip("_") == "mul":
                return tuple(v for one in filter(is_divided, given) for v in one.operands[1])
    return ()


def numerators(values: Values) -> Iterator[Value]:
    """What values were computed from, but for what they were divided by.

    What is drawn from data has parts that say nothing of how many there are.
    """
    seen: set[int] = set()
    pending = list(values)
    while pending:
        value = pending.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        yield value
        if not isinstance(value, Opaque) or value.kind != "element":
            if isinstance(value, Opaque) and value.name in QUOTIENTS:
                pending.extend(value.operands[0])
            else:
                pending.extend(behind(value))


def is_scaled(value: Opaque) -> bool:
    """Whether a product is a number times one that is written in the script."""
    return any(all(type(one) is Constant for one in group) for group in value.operands if group)


def shown(audit: Audit) -> Iterator[Values]:
    """What is reported, and what conditions that all processes meet at ask for."""
    for effect in reports(audit):
        for event in effect.events:
            yield from parts_of(event)
    for condition in conditions_of(audit.plan):
        if condition.decides:
            yield audit.facts.values_of(condition.test)


def keeps(value: Value) -> bool:
    """Whether a number is still the same number in what a value is made of."""
    if not isinstance(value, Opaque):
        return not isinstance(value, External)
    if value.kind == "operation":
        return value.name in KEEPING
    if value.kind == "call":
        return any(
            (isinstance(callee, Opaque) and callee.name in KEEPING_METHODS)
            or (isinstance(callee, External) and callee.name in KEEPING_CALLS)
            for callee in value.callee
        )
    if value.kind == "element":
        # Each number of a tensor is still the one that it was there.
        return True
    return value.kind in ("attribute", "item") and value.name in ("", *KEEPING_METHODS)
