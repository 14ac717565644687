"""What statements do: whether a guard must hold them, may hold them, or may not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from transpile.facts.module import Module
from transpile.facts.walk import children
from transpile.plan.effects.effect_names import CONTAINERS
from transpile.plan.effects.effects import Effect
from transpile.plan.effects.file_effects import makers_of
from transpile.plan.effects.treatment import (
    ATTACHING,
    LOOSE,
    NEEDING,
    Block,
    Grade,
    Once,
    binds_names,
    branches,
    statements_of,
)


class Grades:
    """Grades the statements of one module.

    Args:
        once: the effects.
        module: the module.
    """

    def __init__(self, once: Once, module: Module) -> None:
        self.once = once
        self.module = module
        self.source = module.source

    def reads(self, node: cst.CSTNode) -> bool:
        """Whether an expression reads and has only effects that a guard may hold."""
        return self.once.reads.only_reads(node, self.may_be_guarded)

    def may_be_guarded(self, call: cst.Call) -> bool:
        """Whether a call is an effect that a guard may hold."""
        effect = self.once.effects.get(id(call))
        return effect is not None and effect.kind in (*NEEDING, *ATTACHING, *LOOSE)

    def effects_in(self, node: cst.CSTNode) -> list[Effect]:
        """The effects in a node that are not taken care of, in the order of the text."""
        if id(node) not in self.once.holders:
            return []
        found = []
        for call in calls_at_once(node):
            effect = self.once.effects.get(id(call))
            if effect is not None and not self.once.settled(effect):
                found.append(effect)
        return sorted(found, key=lambda effect: self.source.span(effect.node))

    def grade(self, statement: cst.CSTNode) -> Grade:
        """What a statement does."""
        known = self.once.grades.get(id(statement))
        if known is None:
            known = self.find_grade(statement)
            self.once.grades[id(statement)] = known
        return known

    def find_grade(self, statement: cst.CSTNode) -> Grade:
        """See :meth:`grade`."""
        if isinstance(statement, cst.Pass):
            return Grade.READ
        if isinstance(statement, cst.Expr):
            return self.expression_grade(statement.value)
        if isinstance(statement, cst.Assign):
            if all(binds_names(target.target) for target in statement.targets):
                return self.expression_grade(statement.value)
            if all(self.fills_container(target.target) for target in statement.targets):
                return Grade.ATTACHED if self.reads(statement.value) else Grade.OTHER
            return Grade.OTHER
        if isinstance(statement, cst.AnnAssign) and isinstance(statement.target, cst.Name):
            return self.expression_grade(statement.value) if statement.value else Grade.READ
        if isinstance(statement, cst.AugAssign) and isinstance(statement.target, cst.Name):
            return self.expression_grade(statement.value)
        if isinstance(statement, cst.If):
            return self.together([statement.test], branches(statement))
        if isinstance(statement, cst.With) and statement.asynchronous is None:
            if not all(
                item.asname is None or binds_names(item.asname.name) for item in statement.items
            ):
                return Grade.OTHER
            return self.together([item.item for item in statement.items], [statement.body])
        if isinstance(statement, cst.For) and statement.asynchronous is None:
            if statement.orelse is not None or not binds_names(statement.target):
                return Grade.OTHER
            if not self.once.reads.iterates_quietly(statement.iter):
                return Grade.OTHER
            return self.together([statement.iter], [statement.body])
        if isinstance(statement, cst.Try):
            blocks: list[cst.CSTNode | Block] = [statement.body]
            blocks.extend(handler.body for handler in statement.handlers)
            blocks.extend(
                part.body for part in (statement.orelse, statement.finalbody) if part is not None
            )
            return self.together([], blocks)
        return Grade.OTHER

    def fills_container(self, target: cst.CSTNode) -> bool:
        """Whether an assignment writes into a container file: ``file["x"] = values``."""
        if not isinstance(target, cst.Subscript) or not self.reads(target):
            return False
        values = self.once.plan.facts.values_of(target.value)
        makers = {maker for value in values for maker in makers_of(value)}
        return bool(makers) and makers <= set(CONTAINERS)

    def together(
        self, expressions: Sequence[cst.BaseExpression], blocks: Sequence[cst.CSTNode | Block]
    ) -> Grade:
        """The grade of a compound statement: the gravest inside, unless something does more."""
        grades = [self.expression_grade(expression) for expression in expressions]
        grades.extend(self.grade(inner) for block in blocks for inner in statements_of(block))
        return Grade.OTHER if Grade.OTHER in grades else max(grades)

    def expression_grade(self, node: cst.BaseExpression) -> Grade:
        """The grade of evaluating an expression."""
        if not self.reads(node):
            return Grade.OTHER
        found = Grade.READ
        for effect in self.effects_in(node):
            if effect.kind in NEEDING:
                return Grade.NEED
            found = max(found, Grade.ATTACHED if effect.kind in ATTACHING else Grade.LOOSE)
        return found


def calls_at_once(node: cst.CSTNode) -> Iterator[cst.Call]:
    """The calls in a node that happen when it is evaluated, not when a lambda in it is called."""
    stack = [node]
    while stack:
        current = stack.pop()
        if isinstance(current, cst.Call):
            yield current
        if not isinstance(current, cst.Lambda):
            stack.extend(children(current))
