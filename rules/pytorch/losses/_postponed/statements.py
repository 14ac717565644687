"""Numbers that are reduced in a statement of their own, several in one call.

What stands in the arguments of a print or of a tracker would wait for the other processes there:
nobody who moves or removes a print thinks of that.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.module import Module
from transpile.facts.values import External, Opaque
from transpile.facts.walk import descendants
from transpile.plan.effects.effect_search import find_effects
from transpile.plan.effects.effects import Kind
from transpile.plan.flow.places import ancestors
from transpile.plan.model import Plan
from transpile.records import dataclass
from transpile.rules.pytorch.effects._once import once_of
from transpile.rules.pytorch.effects._vocabulary import VOCABULARY
from transpile.rules.pytorch.losses._reported import Change, Leaf

#: Effects whose arguments all processes evaluate, and one shows.
SHOWN = frozenset({Kind.PRINT, Kind.TRACK, Kind.PROGRESS})
#: Methods that only compute.
COMPUTING = frozenset({"mean", "sum", "detach", "data", "float", "squeeze", "abs", "argmax", "eq"})
#: What may not be evaluated, or not once, where the statement is.
AT_TIMES = (
    cst.IfExp, cst.BooleanOperation, cst.Lambda, cst.BaseComp, cst.NamedExpr, cst.Await, cst.Yield,
)  # fmt: skip
Line = cst.SimpleStatementLine


@dataclass(frozen=True, eq=False)
class Number:
    """One tensor that is reduced ahead of the statements that use it.

    Args:
        text: its expression.
        base: a word for it.
        change: mean or sum.
        leaves: the places where its reduction is used.
    """

    text: str
    base: str
    change: Change
    leaves: tuple[Leaf, ...]


@dataclass(frozen=True, eq=False)
class Ahead:
    """Tensors that are reduced in front of a statement.

    Args:
        module: where it is.
        line: the statement.
        numbers: the tensors.
    """

    module: Module
    line: Line
    numbers: tuple[Number, ...]


class Statements:
    """Finds the numbers that get a statement of their own.

    Args:
        plan: the plan.
        leaves: the numbers that are reduced where they leave the tensors.
    """

    def __init__(self, plan: Plan, leaves: list[Leaf]) -> None:
        self.plan = plan
        self.leaves = leaves
        self.shown = {
            id(effect.node) for effect in find_effects(plan, VOCABULARY) if effect.kind in SHOWN
        }
        #: What stands in a statement of its own anyway, in front of a guard.
        self.bound = {id(node) for run in once_of(plan).runs for node in run.bound}
        self.models = {id(model.value) for model in plan.models}
        self.changed = {id(leaf.node) for leaf in leaves}

    def find(self) -> Iterator[Ahead]:
        """All of them."""
        lines: dict[int, tuple[Module, Line, list[Leaf]]] = {}
        for leaf in self.leaves:
            line = self.line_of(leaf)
            if line is not None:
                lines.setdefault(id(line), (leaf.module, line, []))[2].append(leaf)
        taken: set[int] = set()
        for module, line, _ in list(lines.values()):
            if id(line) in taken:
                continue
            run = self.run_from(module, line, lines)
            taken.update(id(each) for each, _ in run)
            numbers = tuple(self.numbers(run))
            if numbers:
                yield Ahead(module, run[0][0], numbers)

    def line_of(self, leaf: Leaf) -> Line | None:
        """The statement of a leaf that can be reduced in front of it."""
        if leaf.change not in (Change.MEAN, Change.SUM) or leaf.pending is not None or leaf.plain:
            return None
        if not self.computes(leaf.module, leaf.node) or self.holds_changed(leaf):
            return None
        for around in ancestors(leaf.module, leaf.node):
            if isinstance(around, AT_TIMES):
                return None
            if isinstance(around, cst.SimpleStatementSuite):
                return None
            if isinstance(around, cst.BaseCompoundStatement):
                return None
            if isinstance(around, Line):
                single = len(around.body) == 1 and self.is_plain(around)
                return around if single else None
        return None

    def holds_changed(self, leaf: Leaf) -> bool:
        """Whether something within a tensor is rewritten, too, such as what it is divided by."""
        return any(
            id(node) in self.changed and node is not leaf.node for node in descendants(leaf.node)
        )

    def computes(self, module: Module, node: cst.BaseExpression) -> bool:
        """Whether an expression is made of variables by what only computes."""
        if isinstance(node, (cst.Integer, cst.Float)):
            return True
        if any(id(value) in self.models for value in self.plan.facts.values_of(node)):
            return False
        if isinstance(node, cst.Name):
            return True
        if isinstance(node, cst.Attribute):
            return self.computes(module, node.value)
        if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
            values = self.plan.facts.values_of(node.func)
            if node.func.attr.value not in COMPUTING or not values:
                return False
            if not all(
                isinstance(value, Opaque)
                or (isinstance(value, External) and value.name.startswith("torch."))
                for value in values
            ):
                return False
            arguments = [argument.value for argument in node.args if not argument.star]
            return (
                len(arguments) == len(node.args)
                and self.computes(module, node.func.value)
                and all(self.computes(module, each) for each in arguments)
            )
        if isinstance(node, cst.BinaryOperation):
            return self.computes(module, node.left) and self.computes(module, node.right)
        if isinstance(node, cst.Comparison):
            sides = [node.left, *(target.comparator for target in node.comparisons)]
            return all(self.computes(module, side) for side in sides)
        return False

    def is_plain(self, line: Line) -> bool:
        """Whether nothing in a statement runs code of the project before it has all its parts."""
        small = line.body[0]
        if not isinstance(small, (cst.Expr, cst.Assign, cst.AugAssign, cst.AnnAssign)):
            return False
        for node in descendants(small):
            if not isinstance(node, cst.Call) or node is getattr(small, "value", None):
                continue
            for value in self.plan.facts.values_of(node.func) or (None,):
                if isinstance(value, External):
                    continue
                if isinstance(value, Opaque) and not value.name.endswith("_"):
                    continue
                return False
        return True

    def run_from(
        self, module: Module, line: Line, lines: dict[int, tuple[Module, Line, list[Leaf]]]
    ) -> list[tuple[Line, list[Leaf]]]:
        """The statements from one on that stand together, each with numbers to reduce."""
        block = module.source.parent(line)
        found: list[tuple[Line, list[Leaf]]] = []
        assigned: set[str] = set()
        following = False
        for statement in getattr(block, "body", ()):
            following = following or statement is line
            if not following:
                continue
            if id(statement) not in lines:
                break
            _, each, leaves = lines[id(statement)]
            used = {
                part.value
                for leaf in leaves
                for part in descendants(leaf.node)
                if isinstance(part, cst.Name)
            }
            if used & assigned:
                break
            found.append((each, leaves))
            assigned |= names_assigned(each)
        return found

    def numbers(self, run: list[tuple[Line, list[Leaf]]]) -> Iterator[Number]:
        """The tensors of some statements that are worth a statement of their own."""
        groups: dict[tuple[str, Change], list[Leaf]] = {}
        for _, leaves in run:
            for leaf in sorted(leaves, key=lambda one: one.module.source.span(one.node).start):
                text = leaf.module.source.code(leaf.node)
                groups.setdefault((text, leaf.change), []).append(leaf)
        means = [key for key in groups if key[1] is Change.MEAN]
        for (text, change), leaves in groups.items():
            several = change is Change.MEAN and len(means) > 1
            if several or len(leaves) > 1 or any(self.is_shown(leaf) for leaf in leaves):
                yield Number(text, word_for(leaves[0].node), change, tuple(leaves))

    def is_shown(self, leaf: Leaf) -> bool:
        """Whether a number stands in the arguments of a print or of a tracker."""
        around = {id(node) for node in ancestors(leaf.module, leaf.node)}
        return not around.isdisjoint(self.shown) and around.isdisjoint(self.bound)


def names_assigned(line: Line) -> set[str]:
    """The variables that a statement sets."""
    small = line.body[0]
    targets: list[cst.CSTNode] = []
    if isinstance(small, cst.Assign):
        targets = [target.target for target in small.targets]
    elif isinstance(small, (cst.AugAssign, cst.AnnAssign)):
        targets = [small.target]
    return {
        part.value
        for target in targets
        for part in descendants(target)
        if isinstance(part, cst.Name)
    }


def word_for(node: cst.BaseExpression) -> str:
    """A word for a tensor: the first variable or attribute that it is made of."""
    if isinstance(node, cst.Name):
        return node.value
    if isinstance(node, cst.Attribute):
        return word_for(node.value) if node.attr.value in COMPUTING else node.attr.value
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
        of_library = isinstance(node.func.value, cst.Name) and node.func.value.value == "torch"
        return word_for(node.args[0].value if of_library and node.args else node.func.value)
    if isinstance(node, (cst.BinaryOperation, cst.Comparison)):
        return word_for(node.left)
    return "number"
