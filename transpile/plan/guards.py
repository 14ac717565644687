"""Where effects are guarded.

Statements that do nothing but have effects and read are put together in runs, each of which goes
under one test of the rank. What does more than that stays outside of every run: it is looked into,
its effects are guarded where they stand, or the effect's arguments are bound to names first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from transpile.facts.module import Module
from transpile.facts.walk import children
from transpile.plan.effect_names import CONTAINERS
from transpile.plan.effects import Effect, Kind, makers_of
from transpile.plan.treatment import (
    ATTACHING,
    LOOSE,
    MOST_CONNECTING,
    NEEDING,
    Block,
    Grade,
    Once,
    Run,
    Statement,
    binds_names,
    bound_names,
    branches,
    descendants,
    header_names,
    parameters_of,
    statements_of,
    target_names,
)


class Guards:
    """Finds the runs of one module.

    Args:
        once: the effects.
        module: the module.
    """

    def __init__(self, once: Once, module: Module) -> None:
        self.once = once
        self.module = module
        self.source = self.module.source

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

    def reads(self, node: cst.CSTNode) -> bool:
        """Whether an expression reads and has only effects that a guard may hold."""
        return self.once.reads.only_reads(node, self.may_be_guarded)

    def may_be_guarded(self, call: cst.Call) -> bool:
        """Whether a call is an effect that a guard may hold."""
        effect = self.once.effects.get(id(call))
        return effect is not None and effect.kind in (*NEEDING, *ATTACHING, *LOOSE)

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

    def runs_in(self, statements: Sequence[Statement]) -> Iterator[list[Statement]]:
        """The runs of neighbouring statements in a block."""
        blocked: set[int] = set()
        while True:
            found = list(self.candidates(statements, blocked))
            leaking = [
                statement
                for run in found
                for statement in self.leaking(run)
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

    # Grades.

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

    # Names that a run binds.

    def leaking(self, run: Sequence[Statement]) -> Iterator[Statement]:
        """The statements of a run that bind a name which is read elsewhere."""
        if self.in_class_body(run[0]):
            # They are attributes.
            yield from (statement for statement in run if bound_names(statement))
            return
        if not any(bound_names(statement) for statement in run):
            return
        own = {id(name) for statement in run for name in descendants(statement, (cst.Name,))}
        start, end = self.source.span(run[0]).start, self.source.span(run[-1]).end
        occurrences = self.names_around(run[0])
        shared = self.shared_names(run[0])
        for statement in run:
            for word in bound_names(statement):
                names = occurrences.get(word, ())
                if (
                    word in shared
                    or any(
                        id(name) not in own and not self.bound_anew(name, start, end)
                        for name in names
                    )
                    or self.is_carried(word, run, names)
                ):
                    yield statement
                    break

    def in_class_body(self, statement: cst.CSTNode) -> bool:
        """Whether a statement belongs to the body of a class, not to a function."""
        for parent in self.source.parents(statement):
            if isinstance(parent, cst.FunctionDef):
                return False
            if isinstance(parent, cst.ClassDef):
                return True
        return False

    def names_around(self, statement: cst.CSTNode) -> dict[str, list[cst.Name]]:
        """Every occurrence of every name in the function (or module) around a statement."""
        scope = next(
            parent
            for parent in self.source.parents(statement)
            if isinstance(parent, (cst.FunctionDef, cst.Module))
        )
        known = self.once.names.get(id(scope))
        if known is None:
            known = {}
            for name in descendants(scope, (cst.Name,)):
                assert isinstance(name, cst.Name)
                known.setdefault(name.value, []).append(name)
            self.once.names[id(scope)] = known
        return known

    def shared_names(self, statement: cst.CSTNode) -> set[str]:
        """The names that the function around a statement shares with the outside."""
        for scope in self.source.parents(statement):
            if isinstance(scope, cst.FunctionDef):
                return {
                    item.name.value
                    for declaration in descendants(scope.body, (cst.Global, cst.Nonlocal))
                    for item in declaration.names  # type: ignore[attr-defined]
                }
        return set()

    def is_carried(self, word: str, run: Sequence[Statement], names: Sequence[cst.Name]) -> bool:
        """Whether a run hands a name on to its own next round: ``best = max(best, score)``."""
        around = next(
            (
                parent
                for parent in self.source.parents(run[0])
                if isinstance(parent, (cst.For, cst.While, cst.FunctionDef))
            ),
            None,
        )
        if not isinstance(around, (cst.For, cst.While)) or not self.read_first(word, run):
            return False
        start, end = self.source.span(run[0]).start, self.source.span(run[-1]).end
        loop = self.source.span(around)
        for name in names:
            place = self.source.span(name)
            if loop.contains(place) and not start <= place.start < end and self.is_bound(name):
                return False
        return True

    def read_first(self, word: str, run: Sequence[cst.CSTNode]) -> bool:
        """Whether a run reads a name before it binds it."""
        for statement in run:
            first = self.first_use(word, statement)
            if first is not None:
                return not self.is_bound(first)
        return False

    def first_use(self, word: str, node: cst.CSTNode) -> cst.Name | None:
        """The occurrence of a name in a node that comes first when it runs."""
        if isinstance(node, cst.Name):
            return node if node.value == word else None
        parts = list(children(node))
        if isinstance(node, (cst.Assign, cst.AnnAssign)) and node.value is not None:
            parts = [node.value, *parts]
        elif isinstance(node, cst.For):
            parts = [node.iter, *parts]
        elif isinstance(node, (cst.Attribute, cst.Arg)):
            parts = [node.value]
        for child in parts:
            found = self.first_use(word, child)
            if found is not None:
                return found
        return None

    def is_bound(self, name: cst.Name) -> bool:
        """Whether an occurrence of a name binds it."""
        inner: cst.CSTNode = name
        for outer in self.source.parents(name):
            if isinstance(outer, (cst.Tuple, cst.List, cst.Element, cst.StarredElement)):
                inner = outer
                continue
            return isinstance(outer, cst.AsName) or (
                isinstance(outer, (cst.AssignTarget, cst.AnnAssign, cst.For, cst.CompFor))
                and outer.target is inner
            )
        return False

    def bound_anew(self, name: cst.Name, start: int, end: int) -> bool:
        """Whether an occurrence outside a run has another binding than the run's."""
        inner: cst.CSTNode = name
        word = name.value
        for outer in self.source.parents(name):
            if isinstance(outer, cst.Attribute) and outer.attr is inner:
                return True
            if isinstance(outer, cst.Arg) and outer.keyword is inner:
                return True
            if isinstance(outer, cst.AsName) or (
                isinstance(outer, (cst.AssignTarget, cst.AnnAssign, cst.For, cst.CompFor))
                and outer.target is inner
                and binds_names(inner)
            ):
                return True
            # What is bound around the run as well is the same variable.
            if isinstance(outer, (cst.With, cst.For, cst.FunctionDef, cst.Lambda)):
                place = self.source.span(outer)
                if place.start <= start and end <= place.end:
                    inner = outer
                    continue
            if isinstance(outer, (cst.With, cst.For)) and word in header_names(outer):
                return True
            if isinstance(outer, (cst.ListComp, cst.SetComp, cst.DictComp, cst.GeneratorExp)):
                if any(
                    word in target_names(part.target)  # type: ignore[attr-defined]
                    for part in descendants(outer, (cst.CompFor,))
                ):
                    return True
            if isinstance(outer, (cst.FunctionDef, cst.Lambda)):
                if any(parameter.name.value == word for parameter in parameters_of(outer)):
                    return True
            if isinstance(outer, (cst.IndentedBlock, cst.Module)):
                for statement in outer.body:
                    if statement is inner:
                        break
                    place = self.source.span(statement)
                    if start <= place.start and place.end <= end:
                        continue
                    between = place.start < start and end <= self.source.span(name).start
                    if not between and isinstance(statement, cst.SimpleStatementLine):
                        if any(word in bound_names(small) for small in statement.body):
                            return True
            inner = outer
        return False


def calls_at_once(node: cst.CSTNode) -> Iterator[cst.Call]:
    """The calls in a node that happen when it is evaluated, not when a lambda in it is called."""
    stack = [node]
    while stack:
        current = stack.pop()
        if isinstance(current, cst.Call):
            yield current
        if not isinstance(current, cst.Lambda):
            stack.extend(children(current))
