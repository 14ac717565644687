"""Where effects are guarded.

Statements that do nothing but have effects and read are put together in runs, each of which goes
under one test of the rank. What does more than that stays outside of every run: it is analysed,
its effects are guarded where they stand, or the effect's arguments are bound to names first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from transpile.facts.module import Module
from transpile.facts.walk import children
from transpile.plan.effects.effects import Effect, Kind
from transpile.plan.effects.grades import Grades, calls_at_once
from transpile.plan.effects.treatment import (
    MOST_CONNECTING,
    NEEDING,
    Grade,
    Once,
    Run,
    Statement,
    descendants,
    statements_of,
)
from transpile.plan.flow.run_names import RunNames


class Guards(Grades):
    """Finds the runs of one module.

    Args:
        once: the effects.
        module: the module.
    """

    def __init__(self, once: Once, module: Module) -> None:
        super().__init__(once, module)
        self.names = RunNames(once, module)

    def block(self, owner: cst.CSTNode) -> None:
        """Find the runs in a block and in the blocks inside it."""
        statements = statements_of(owner)
        self.lambdas(statements)
        taken: set[int] = set()
        for run in self.runs_in(statements):
            self.accept(run)
            taken.update(id(statement) for statement in run)
        for statement in statements:
            if id(statement) in taken or id(statement) not in self.once.holders:
                continue
            if isinstance(statement, cst.BaseSmallStatement):
                self.single(statement)
            else:
                self.inner(statement)

    def lambdas(self, statements: Sequence[Statement]) -> None:
        """Effects that are the body of a lambda: the expression itself becomes conditional."""
        for statement in statements:
            if not isinstance(statement, cst.BaseSmallStatement):
                continue
            if id(statement) not in self.once.holders:
                continue
            for function in descendants(statement, (cst.Lambda,)):
                assert isinstance(function, cst.Lambda)
                for call in calls_at_once(function.body):
                    effect = self.once.effects.get(id(call))
                    if effect is None or self.once.settled(effect):
                        continue
                    if effect.kind not in NEEDING or effect.kind is Kind.OPEN:
                        continue
                    if call is function.body and self.reads(call):
                        self.once.inline.append(effect)
                        self.once.inside.add(id(call))
                    else:
                        self.once.loose.append((effect, "it is part of an expression"))

    def inner(self, statement: cst.CSTNode) -> None:
        """Look into a compound statement that is not guarded whole."""
        for child in children(statement):
            if id(child) not in self.once.holders:
                continue
            if isinstance(child, (cst.IndentedBlock, cst.SimpleStatementSuite)):
                self.block(child)
            elif isinstance(
                child,
                (
                    cst.Else,
                    cst.Finally,
                    cst.ExceptHandler,
                    cst.ExceptStarHandler,
                    cst.If,
                    cst.MatchCase,
                ),
            ):
                self.inner(child)
            else:
                self.header(child)

    def header(self, node: cst.CSTNode) -> None:
        """An expression in the head of a compound statement."""
        if isinstance(node, cst.WithItem) and node.asname is None:
            manager = self.once.effects.get(id(node.item))
            if manager is not None and manager.kind is Kind.TRACK:
                self.once.managers.append(manager)
                self.once.inside.add(id(manager.node))
                return
        for effect in self.effects_in(node):
            if effect.kind in NEEDING and effect.kind is not Kind.OPEN:
                within = isinstance(node, cst.WithItem)
                self.once.loose.append(
                    (
                        effect,
                        (
                            "its block does more than write"
                            if within
                            else "its result decides how the script goes on"
                        ),
                    )
                )

    def single(self, statement: cst.BaseSmallStatement) -> None:
        """A statement that cannot be guarded as it is."""
        effects = [
            effect
            for effect in self.effects_in(statement)
            if effect.kind in NEEDING and effect.kind is not Kind.OPEN
        ]
        if not effects:
            return
        if isinstance(statement, cst.Expr) and isinstance(statement.value, cst.Call):
            own = self.once.effects.get(id(statement.value))
            bound = self.more_than_reads(statement.value)
            others = [
                effect
                for effect in effects
                if effect is not own and not any(self.holds(node, effect) for node in bound)
            ]
            if own is not None and own in effects and bound and not others:
                self.accept([statement], tuple(bound))
                return
        used = self.grade(statement) is Grade.NEED
        why = "what it gives is used elsewhere" if used else "its statement does more than that"
        self.once.loose.extend((effect, why) for effect in effects)

    def holds(self, node: cst.CSTNode, effect: Effect) -> bool:
        """Whether an effect's call is part of a node."""
        return node is effect.node or any(
            parent is node for parent in self.source.parents(effect.node)
        )

    def more_than_reads(self, call: cst.Call) -> list[cst.BaseExpression]:
        """The arguments and the receiver of a call that do more than read."""
        parts = [argument.value for argument in call.args]
        if isinstance(call.func, cst.Attribute):
            parts.insert(0, call.func.value)
        return [part for part in parts if not self.reads(part)]

    def accept(
        self, statements: Sequence[Statement], bound: tuple[cst.BaseExpression, ...] = ()
    ) -> None:
        """Make a run of some statements."""
        effects = [effect for statement in statements for effect in self.effects_in(statement)]
        kept = tuple(
            effect for effect in effects if not any(self.holds(node, effect) for node in bound)
        )
        self.once.runs.append(Run(self.module, tuple(statements), kept, bound))
        self.once.inside.update(id(effect.node) for effect in kept)

    def runs_in(self, statements: Sequence[Statement]) -> Iterator[list[Statement]]:
        """The runs of neighbouring statements in a block."""
        blocked: set[int] = set()
        while True:
            found = list(self.candidates(statements, blocked))
            leaking = [
                statement
                for run in found
                for statement in self.names.leaking(run)
                if id(statement) not in blocked
            ]
            if not leaking:
                yield from found
                return
            blocked.update(id(statement) for statement in leaking)

    def candidates(
        self, statements: Sequence[Statement], blocked: set[int]
    ) -> Iterator[list[Statement]]:
        """Maximal runs, as if every name they bind were their own."""
        current: list[Statement] = []
        for statement in statements:
            if id(statement) in blocked or self.grade(statement) is Grade.OTHER:
                yield from self.trimmed(current)
                current = []
            else:
                current.append(statement)
        yield from self.trimmed(current)

    def trimmed(self, statements: list[Statement]) -> Iterator[list[Statement]]:
        """The parts of neighbouring statements that begin and end with an effect to guard."""
        part: list[Statement] = []
        gap: list[Statement] = []
        for statement in statements:
            grade = self.grade(statement)
            if grade >= Grade.ATTACHED:
                if part:
                    part.extend(gap)
                gap = []
                part.append(statement)
            elif part:
                gap.append(statement)
                if sum(self.grade(each) is Grade.READ for each in gap) > MOST_CONNECTING:
                    yield from self.needed(part)
                    part, gap = [], []
        yield from self.needed(part)

    def needed(self, part: list[Statement]) -> Iterator[list[Statement]]:
        """A part, if something in it needs a guard, without handles that were opened before."""
        while part and self.needs_none(part[0]):
            part = part[1:]
        if not any(isinstance(statement, cst.Assign) for statement in part):
            while part and self.needs_none(part[-1]):
                part = part[:-1]
        if any(self.grade(statement) is Grade.NEED for statement in part):
            yield part

    def needs_none(self, statement: cst.CSTNode) -> bool:
        """Whether a statement needs no guard where it begins or ends a run."""
        if self.grade(statement) < Grade.ATTACHED:
            return True
        return {effect.kind for effect in self.effects_in(statement)} == {Kind.HANDLE}
