"""Where effects are guarded, so that they happen once and not once in every process.

Statements that do nothing but have effects and read are put together in runs, each of which goes
under one test of the rank. What does more than that stays outside of every run: it is looked into,
its effects are guarded where they stand, or the effect's arguments are bound to names first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

import libcst as cst

from transpile.facts.events import Call, Event
from transpile.facts.module import Module
from transpile.facts.values import BoundMethod, Function
from transpile.plan.effects import Effect, Kind, Vocabulary, find_effects
from transpile.plan.model import Plan
from transpile.plan.ranks import Ranks
from transpile.plan.reads import Reads

Statement = cst.BaseSmallStatement | cst.BaseCompoundStatement


class Grade(IntEnum):
    """What a statement does, as far as guarding it goes."""

    OTHER = 0
    READ = 1
    LOOSE = 2
    ATTACHED = 3
    NEED = 4


#: Effects that must be guarded with their statement.
NEEDING = frozenset(
    {Kind.WRITE, Kind.CONSOLE, Kind.TRACK, Kind.CONTAINER, Kind.PROCESS, Kind.OPEN, Kind.SHOW,
     Kind.CALL}
)  # fmt: skip
#: Effects that go under a guard with their neighbours, and need none of their own.
ATTACHING = frozenset({Kind.HANDLE, Kind.PLOT, Kind.FLUSH})
#: Effects that may stand between two that are guarded.
LOOSE = frozenset({Kind.PRINT, Kind.LOG, Kind.SWITCHED_TRACK})
#: Statements without an effect that one guard may reach over.
MOST_CONNECTING = 3


@dataclass(frozen=True, eq=False)
class Run:
    """Sibling statements that go under one guard.

    Args:
        module: where they are.
        statements: the statements, in order.
        effects: the effects in them that the guard is for.
        bound: arguments that are more than reads and get names before the guard.
    """

    module: Module
    statements: tuple[Statement, ...]
    effects: tuple[Effect, ...]
    bound: tuple[cst.BaseExpression, ...] = ()

    @property
    def condition(self) -> cst.If | None:
        """The only statement, where it is an ``if`` whose test can be extended."""
        only = self.statements[0]
        if len(self.statements) == 1 and isinstance(only, cst.If) and only.orelse is None:
            return only
        return None


@dataclass(eq=False)
class Once:
    """What is known and decided about the effects of a script.

    Args:
        plan: the plan.
        effects: every effect, by the identity of its call.
        done: those that some rank alone has already.
        runs: what is guarded.
        inside: the calls of effects that stand in a run.
        loose: effects that need a guard, but have no place for one, with the reason.
    """

    plan: Plan
    ranks: Ranks
    reads: Reads
    effects: dict[int, Effect] = field(default_factory=dict)
    done: set[int] = field(default_factory=set)
    runs: list[Run] = field(default_factory=list)
    inside: set[int] = field(default_factory=set)
    loose: list[tuple[Effect, str]] = field(default_factory=list)
    foreign: list[Effect] = field(default_factory=list)
    grades: dict[int, Grade] = field(default_factory=dict)
    holders: set[int] = field(default_factory=set)
    names: dict[int, dict[str, list[cst.Name]]] = field(default_factory=dict)

    def pending(self, *kinds: Kind) -> Iterator[Effect]:
        """The effects of some kinds in the entry that no guard takes care of yet."""
        for effect in self.effects.values():
            if effect.kind in kinds and effect.module.is_entry:
                if id(effect.node) not in self.done and id(effect.node) not in self.inside:
                    yield effect

    def finished(self, *kinds: Kind) -> Iterator[Effect]:
        """The effects of some kinds in the entry that happen on one rank alone already."""
        for effect in self.effects.values():
            if effect.kind in kinds and effect.module.is_entry and id(effect.node) in self.done:
                yield effect


def find_once(plan: Plan, vocabulary: Vocabulary, barriers: frozenset[str]) -> Once:
    """Decide where the effects of a script are guarded."""
    once = Once(plan, Ranks(plan, barriers), Reads(plan, vocabulary))
    for effect in find_effects(plan, vocabulary):
        once.effects[id(effect.node)] = effect
        if all(once.ranks.some_ranks(event) for event in effect.events):
            once.done.add(id(effect.node))
    find_foreign(once)
    source = plan.entry.source
    for effect in once.effects.values():
        if effect.module.is_entry:
            once.holders.add(id(effect.node))
            once.holders.update(id(node) for node in source.parents(effect.node))
    Guards(once).block(source.tree)
    return once


# Effects in other modules of the project.


def find_foreign(once: Once) -> None:
    """Calls in the entry of functions elsewhere that do nothing but have effects."""
    quiet = (Kind.LOG, Kind.SWITCHED_TRACK, *ATTACHING)
    entry = once.plan.entry
    for effect in list(once.effects.values()):
        if effect.module is entry or effect.kind in quiet or id(effect.node) in once.done:
            continue
        if not any(may_happen(event) for event in effect.events):
            continue
        sites: dict[int, cst.Call] = {}
        placed = effect.kind is not Kind.DOWNLOAD
        for event in effect.events:
            site = site_in_entry(event, entry)
            if site is None or not calls_effects_only(once, site):
                placed = False
            else:
                sites[id(site)] = site
        if not placed:
            once.foreign.append(effect)
            continue
        for key, site in sites.items():
            if key not in once.effects:
                events = once.reads.calls[key]
                once.effects[key] = Effect(
                    Kind.CALL, f"{entry.source.code(site.func)}()", entry, site, list(events)
                )
                if all(once.ranks.some_ranks(event) for event in events):
                    once.done.add(key)


def may_happen(event: Event) -> bool:
    """Whether something elsewhere happens in a run of the script.

    A function that nothing calls does not run; a method may be called by a library.
    """
    if not event.detached:
        return True
    outermost = next(event.calls(), None)
    return outermost is not None and outermost.function.owner is not None


def site_in_entry(event: Event, entry: Module) -> cst.Call | None:
    """The call in the entry through which an event elsewhere is reached."""
    for frame in reversed(event.stack):
        if isinstance(frame, Call) and frame.module is entry and isinstance(frame.node, cst.Call):
            return frame.node
    return None


def calls_effects_only(once: Once, site: cst.Call) -> bool:
    """Whether a call of a project function has effects, reads, and does nothing else."""
    events = once.reads.calls.get(id(site), [])
    if not events:
        return False
    for event in events:
        if not all(isinstance(callee, (Function, BoundMethod)) for callee in event.callee):
            return False
        for callee in event.callee:
            function = callee.function if isinstance(callee, BoundMethod) else callee
            if not isinstance(function, Function) or not keeps_to_itself(function):
                return False
    for inner in once.reads.within.get(id(site), ()):
        if inner.kind == "call" and id(inner.node) in once.effects:
            if once.effects[id(inner.node)].kind not in (*NEEDING, *ATTACHING, *LOOSE):
                return False
            continue
        if inner.kind == "call" and any(
            isinstance(callee, (Function, BoundMethod)) for callee in inner.callee
        ):
            continue
        if not once.reads.step_reads(inner):
            return False
    return True


def keeps_to_itself(function: Function) -> bool:
    """Whether the globals that a function binds are read by no other function of its module."""
    node = function.node
    if not isinstance(node, cst.FunctionDef):
        return False
    declared = {
        item.name.value
        for statement in descendants(node.body, (cst.Global, cst.Nonlocal))
        for item in statement.names  # type: ignore[attr-defined]
    }
    if not declared:
        return True
    stack: list[cst.CSTNode] = [function.module.source.tree]
    while stack:
        current = stack.pop()
        if current is node:
            continue
        if isinstance(current, (cst.FunctionDef, cst.Lambda)):
            if any(
                isinstance(name, cst.Name) and name.value in declared
                for name in descendants(current, (cst.Name,))
            ):
                return False
            continue
        stack.extend(current.children)
    return True


def descendants(node: cst.CSTNode, kinds: tuple[type[cst.CSTNode], ...]) -> Iterator[cst.CSTNode]:
    """The nodes of some types in a node, itself included."""
    stack = [node]
    while stack:
        current = stack.pop()
        if isinstance(current, kinds):
            yield current
        stack.extend(current.children)


# Runs.


class Guards:
    """Finds the runs of one script."""

    def __init__(self, once: Once) -> None:
        self.once = once
        self.module = once.plan.entry
        self.source = self.module.source

    def block(self, owner: cst.CSTNode) -> None:
        """Find the runs in a block and in the blocks inside it."""
        statements = statements_of(owner)
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

    def inner(self, statement: cst.CSTNode) -> None:
        """Look into a compound statement that is not guarded whole."""
        for child in statement.children:
            if id(child) not in self.once.holders:
                continue
            if isinstance(child, (cst.IndentedBlock, cst.SimpleStatementSuite)):
                self.block(child)
            elif isinstance(
                child, (cst.Else, cst.Finally, cst.ExceptHandler, cst.ExceptStarHandler, cst.If,
                        cst.MatchCase)
            ):
                self.inner(child)
            else:
                self.header(child)

    def header(self, node: cst.CSTNode) -> None:
        """An expression in the head of a compound statement."""
        for effect in self.effects_in(node):
            if effect.kind in NEEDING and effect.kind is not Kind.OPEN:
                self.once.loose.append((effect, "its result decides how the script goes on"))

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
        for effect in effects:
            self.once.loose.append((effect, "its statement does more than that"))

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
        for call in descendants(node, (cst.Call,)):
            effect = self.once.effects.get(id(call))
            if effect is not None and id(call) not in self.once.done:
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
        while part and self.only_handles(part[0]):
            part = part[1:]
        if not any(isinstance(statement, cst.Assign) for statement in part):
            while part and self.only_handles(part[-1]):
                part = part[:-1]
        if any(self.grade(statement) is Grade.NEED for statement in part):
            yield part

    def only_handles(self, statement: cst.CSTNode) -> bool:
        """Whether a statement uses open files and has no other effect."""
        kinds = {effect.kind for effect in self.effects_in(statement)}
        return bool(kinds) and kinds <= {Kind.HANDLE, Kind.FLUSH}

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
            if not all(binds_names(target.target) for target in statement.targets):
                return Grade.OTHER
            return self.expression_grade(statement.value)
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
            blocks: list[cst.CSTNode] = [statement.body]
            blocks.extend(handler.body for handler in statement.handlers)
            blocks.extend(
                part.body for part in (statement.orelse, statement.finalbody) if part is not None
            )
            return self.together([], blocks)
        return Grade.OTHER

    def together(
        self, expressions: Sequence[cst.BaseExpression], blocks: Sequence[cst.CSTNode]
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
        own = {id(name) for statement in run for name in descendants(statement, (cst.Name,))}
        start, end = self.source.span(run[0]).start, self.source.span(run[-1]).end
        occurrences = self.names_around(run[0])
        for statement in run:
            bound = bound_names(statement)
            if any(
                id(name) not in own and not self.bound_anew(name, start, end)
                for word in bound
                for name in occurrences.get(word, ())
            ):
                yield statement

    def names_around(self, statement: cst.CSTNode) -> dict[str, list[cst.Name]]:
        """Every occurrence of every name in the function (or module) around a statement."""
        scope: cst.CSTNode = self.source.tree
        for parent in self.source.parents(statement):
            if isinstance(parent, (cst.FunctionDef, cst.Module)):
                scope = parent
                if not self.declares(parent, statement):
                    break
        known = self.once.names.get(id(scope))
        if known is None:
            known = {}
            for name in descendants(scope, (cst.Name,)):
                assert isinstance(name, cst.Name)
                known.setdefault(name.value, []).append(name)
            self.once.names[id(scope)] = known
        return known

    def declares(self, scope: cst.CSTNode, statement: cst.CSTNode) -> bool:
        """Whether a function shares some name that a statement binds with the outside."""
        if not isinstance(scope, cst.FunctionDef):
            return False
        shared = {
            item.name.value
            for declaration in descendants(scope.body, (cst.Global, cst.Nonlocal))
            for item in declaration.names  # type: ignore[attr-defined]
        }
        return bool(shared & set(bound_names(statement)))

    def bound_anew(self, name: cst.Name, start: int, end: int) -> bool:
        """Whether an occurrence outside a run has another binding than the run's."""
        inner: cst.CSTNode = name
        word = name.value
        for outer in self.source.parents(name):
            if isinstance(outer, cst.Attribute) and outer.attr is inner:
                return True
            if isinstance(outer, cst.Arg) and outer.keyword is inner:
                return True
            if isinstance(outer, (cst.AssignTarget, cst.AsName)) or (
                isinstance(outer, (cst.AnnAssign, cst.For, cst.CompFor)) and outer.target is inner
            ):
                return True
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


def statements_of(owner: cst.CSTNode) -> list[Statement]:
    """The statements of a block, those that share a line one by one."""
    found: list[Statement] = []
    for statement in owner.body:  # type: ignore[attr-defined]
        if isinstance(statement, cst.SimpleStatementLine):
            found.extend(statement.body)
        else:
            found.append(statement)
    return found


def branches(statement: cst.If) -> list[cst.CSTNode]:
    """The blocks of an ``if`` with all its ``elif``; tests of the latter must be read apart."""
    found: list[cst.CSTNode] = [statement.body]
    orelse = statement.orelse
    if isinstance(orelse, cst.If):
        found.append(Block((orelse,)))
    elif orelse is not None:
        found.append(orelse.body)
    return found


@dataclass(frozen=True)
class Block:
    """Statements that are looked at as a block."""

    body: tuple[Statement, ...]


def binds_names(target: cst.CSTNode) -> bool:
    """Whether a target binds names and nothing else."""
    if isinstance(target, cst.Name):
        return True
    if isinstance(target, (cst.Tuple, cst.List)):
        return all(binds_names(element.value) for element in target.elements)
    return isinstance(target, cst.StarredElement) and binds_names(target.value)


def target_names(target: cst.CSTNode) -> list[str]:
    """The names that a target binds."""
    return [name.value for name in descendants(target, (cst.Name,)) if isinstance(name, cst.Name)]


def header_names(statement: cst.With | cst.For) -> list[str]:
    """The names that the head of a ``with`` or ``for`` binds."""
    if isinstance(statement, cst.For):
        return target_names(statement.target)
    return [
        word
        for item in statement.items
        if item.asname is not None
        for word in target_names(item.asname.name)
    ]


def bound_names(statement: cst.CSTNode) -> list[str]:
    """The names that a statement binds, whatever is inside it."""
    found: list[str] = []
    for node in descendants(
        statement, (cst.AssignTarget, cst.AnnAssign, cst.AugAssign, cst.With, cst.For, cst.NamedExpr)
    ):
        if isinstance(node, (cst.With, cst.For)):
            found.extend(header_names(node))
        elif isinstance(node, (cst.AssignTarget, cst.AnnAssign, cst.AugAssign, cst.NamedExpr)):
            if binds_names(node.target):
                found.extend(target_names(node.target))
    return found


def parameters_of(function: cst.FunctionDef | cst.Lambda) -> Iterator[cst.Param]:
    """The parameters of a function."""
    parameters = function.params
    yield from (*parameters.posonly_params, *parameters.params, *parameters.kwonly_params)
    for star in (parameters.star_arg, parameters.star_kwarg):
        if isinstance(star, cst.Param):
            yield star
