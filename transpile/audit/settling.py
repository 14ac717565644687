"""What operators give where the position of a process decides it."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import libcst as cst

from transpile.audit.vocabulary import Position, Vocabulary
from transpile.facts.interpreter import Interpreter
from transpile.facts.state import truth
from transpile.facts.values import (
    Constant,
    External,
    Opaque,
    Sequence,
    Settled,
    Value,
    Values,
    join,
    only_constant,
)

#: By their exact kinds: asking for subclasses costs a third of a run.
OPERATORS: frozenset[type[cst.CSTNode]] = frozenset(
    {cst.Comparison, cst.BooleanOperation, cst.BinaryOperation, cst.UnaryOperation}
)
ADDITIONS = frozenset({"Add", "AddAssign"})
PRODUCTS = frozenset({"Multiply", "MultiplyAssign"})
COMPARISONS: dict[type[cst.CSTNode], Callable[[Any, Any], bool]] = {
    cst.Equal: operator.eq,
    cst.NotEqual: operator.ne,
    cst.LessThan: operator.lt,
    cst.LessThanEqual: operator.le,
    cst.GreaterThan: operator.gt,
    cst.GreaterThanEqual: operator.ge,
}


class Settling(Interpreter):
    """The part of a process's run that knows its operators."""

    vocabulary: Vocabulary
    position: Position | None

    revised: frozenset[type[cst.CSTNode]] = OPERATORS | {cst.IfExp}

    def revise(self, node: cst.CSTNode, values: Values) -> Values:
        """The values of an operator: what follows from the position is settled, too."""
        if type(node) is not cst.IfExp:
            settled = self.settled(node, values[0]) if len(values) == 1 else None
            if settled is not None:
                self.values[id(node)] = join(
                    (v for v in self.values[id(node)] if v is not values[0]), settled
                )
                return settled
        elif len(values) == 1 and type(values[0]) is Constant:
            assert isinstance(node, cst.IfExp)
            test = only_constant(self.values.get(id(node.test), ()))
            if isinstance(test, Settled):
                return (Settled(values[0].value),)
        return values

    def settled(self, node: cst.CSTNode, value: Value) -> Values | None:
        """What an operator gives, where settled operands decide it; None where they do not."""
        if type(value) is Constant:
            if any(
                isinstance(one, Settled)
                for part in parts(node)
                for one in self.values.get(id(part), ())
            ):
                return (Settled(value.value),)
            return None
        if isinstance(value, Settled):
            # As what ``os.environ.get("RANK") or 0`` gives, which is more than that it is true.
            return None
        if isinstance(node, cst.BooleanOperation):
            sides = tuple(self.values.get(id(part), ()) for part in parts(node))
            return self.connected(isinstance(node.operator, cst.Or), sides)
        if not isinstance(value, Opaque) or value.kind != "operation":
            return None
        if isinstance(node, cst.Comparison) and len(node.comparisons) == 1:
            compared = COMPARISONS.get(type(node.comparisons[0].operator))
            sides = tuple(self.values.get(id(part), ()) for part in parts(node))
            if compared is not None and all(map(are_numbers, sides)):
                if not any(isinstance(one, Settled) for side in sides for one in side):
                    return None
                answers = {compared(a.value, b.value) for a in sides[0] for b in sides[1]}  # type: ignore[union-attr]
                return (Settled(answers.pop()),) if len(answers) == 1 else None
        if value.name in ("In", "NotIn") and len(value.operands) == 2:
            sought = only_constant(value.operands[0])
            found = self.contains(value.operands[1], sought)
            if found is not None:
                # What is written is taken as it stands, as where two of them are compared.
                plain = type(sought) is Constant and isinstance(value.operands[1][0], Sequence)
                return ((Constant if plain else Settled)(found is (value.name == "In")),)
        if value.name == "Modulo":
            number = on_machine(*value.operands)
            return (number,) if number is not None else None
        if value.name == "Not" and truth(value.operands[0]) is not None:
            return (Settled(not truth(value.operands[0])),)
        return None

    def connected(self, is_or: bool, operands: tuple[Values, ...]) -> Values | None:
        """What ``and`` or ``or`` gives where one side is settled; None where that is open.

        A setting beside the test of a process, as in ``not args.distributed or rank == 0``, is
        taken as that of a distributed run.
        """
        sides = [only_constant(operand) for operand in operands]
        known = [bool(side.value) for side in sides if isinstance(side, Settled)]
        if is_or in known or any(truth(operand) is is_or for operand in operands):
            return (Settled(is_or),) if known else None
        if is_or and known and self.position is not None:
            return (Settled(False),)
        return None

    def contains(self, container: Values, sought: Constant | None) -> bool | None:
        """Whether a container holds a constant; None where it is not known."""
        if sought is None or len(container) != 1:
            return None
        held = container[0]
        if held == External("os.environ"):
            return True if self.vocabulary.variables.get(str(sought.value)) else None
        if not isinstance(held, Sequence) or held.rest:
            return None
        constants = [only_constant(values) for values in held.elements]
        if None in constants:
            return None
        return any(c is not None and c.value == sought.value for c in constants)


def on_machine(numbers: Values, count: Values) -> Settled | None:
    """A process's number on its machine, out of ``(node * count + number) % count``.

    Beside what stands for the job, what a number was before the processes were started is nothing.
    """
    found = {
        own
        for number in numbers
        if isinstance(number, Opaque) and number.name in ADDITIONS and len(number.operands) == 2
        for own, rest in (number.operands, number.operands[::-1])
        if len(own) == 1 and isinstance(own[0], Settled) and are_numbers(own)
        if any(is_multiple(one, count) for one in rest)
    }
    return found.pop()[0] if len(found) == 1 else None  # type: ignore[return-value]


def is_multiple(value: Value, count: Values) -> bool:
    """Whether a value is something times a number that is not known."""
    return (
        isinstance(value, Opaque)
        and value.name in PRODUCTS
        and len(count) == 1
        and any(len(side) == 1 and side[0] is count[0] for side in value.operands)
    )


def are_numbers(values: Values) -> bool:
    """Whether values are whole numbers, whichever of them it is."""
    return bool(values) and all(
        isinstance(value, Constant) and isinstance(value.value, int) for value in values
    )


def parts(node: cst.CSTNode) -> list[cst.CSTNode]:
    """The operands of an operator as they are written."""
    if isinstance(node, (cst.BooleanOperation, cst.BinaryOperation)):
        return [node.left, node.right]
    if isinstance(node, cst.Comparison):
        return [node.left, *(target.comparator for target in node.comparisons)]
    return [node.expression] if isinstance(node, cst.UnaryOperation) else []
