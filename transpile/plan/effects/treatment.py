"""What becomes of the effects of a script, so that they happen once and not in every process."""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum

import libcst as cst

from transpile.facts.module import Module
from transpile.facts.walk import children
from transpile.plan.effects.effects import Effect, Kind
from transpile.plan.effects.reads import Reads
from transpile.plan.flow.ranks import Ranks
from transpile.plan.model import Plan
from transpile.records import dataclass, field

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
     Kind.CALL, Kind.LOG_SET_UP}
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
class Preparation:
    """Sibling statements in which the processes take turns.

    Args:
        module: where they are.
        statements: the statements, in order.
        effects: the downloads and the files that are made.
        sites: where in the script each of them is reached.
        why_not: why the processes cannot take turns there; empty where they can.
        draws: whether random numbers are drawn there.
        forced: what makes every process prepare, whether or not something is missing.
    """

    module: Module
    statements: list[Statement]
    effects: list[Effect] = field(default_factory=list)
    sites: list[cst.CSTNode] = field(default_factory=list)
    why_not: str = ""
    draws: bool = False
    forced: cst.BaseExpression | None = None


@dataclass(eq=False)
class Once:
    """What is known and decided about the effects of a script.

    Args:
        plan: the plan.
        ranks, reads: what runs on some ranks only, and what only reads.
        effects: every effect, by the identity of its call.
        done: those that some rank alone has already.
        runs: what is guarded.
        inside: the calls of effects that stand in a run.
        loose: effects that need a guard, but have no place for one, with the reason.
        inline: effects whose expression becomes conditional.
        managers: effects that are managers of ``with`` blocks around something else.
        elsewhere: the calls of effects in other modules that are guarded where the script calls
            their function.
        idle: the calls of effects in other modules that this script does not come to.
        sampling: the effects of code that draws samples, which every process has.
        mixed: the files that code writes while samples are drawn and beside that.
        early: the effects between the imports, before what would guard them is defined.
        preparations: where the processes take turns.
        prepared: the calls of effects that happen there alone.
        private: the calls of effects in a temporary place of each process's own.
        grades, holders, names: what is known of statements, of what holds effects, and of scopes.
    """

    plan: Plan
    ranks: Ranks
    reads: Reads
    effects: dict[int, Effect] = field(default_factory=dict)
    done: set[int] = field(default_factory=set)
    runs: list[Run] = field(default_factory=list)
    inside: set[int] = field(default_factory=set)
    loose: list[tuple[Effect, str]] = field(default_factory=list)
    inline: list[Effect] = field(default_factory=list)
    managers: list[Effect] = field(default_factory=list)
    elsewhere: set[int] = field(default_factory=set)
    idle: set[int] = field(default_factory=set)
    sampling: list[Effect] = field(default_factory=list)
    mixed: list[Effect] = field(default_factory=list)
    early: list[Effect] = field(default_factory=list)
    preparations: list[Preparation] = field(default_factory=list)
    prepared: set[int] = field(default_factory=set)
    private: set[int] = field(default_factory=set)
    grades: dict[int, Grade] = field(default_factory=dict)
    holders: set[int] = field(default_factory=set)
    names: dict[int, dict[str, list[cst.Name]]] = field(default_factory=dict)

    def pending(self, *kinds: Kind) -> Iterator[Effect]:
        """The effects of some kinds that no guard takes care of yet."""
        for effect in self.effects.values():
            if effect.kind in kinds and id(effect.node) not in self.idle:
                if not self.settled(effect) and id(effect.node) not in self.inside:
                    yield effect

    def settled(self, effect: Effect) -> bool:
        """Whether an effect needs no guard."""
        key = id(effect.node)
        return any(
            key in settled for settled in (self.done, self.prepared, self.private, self.elsewhere)
        )

    def finished(self, *kinds: Kind) -> Iterator[tuple[Effect, str]]:
        """The effects of some kinds that need no guard, with the reason."""
        for effect in self.effects.values():
            if effect.kind in kinds and id(effect.node) not in self.idle:
                if id(effect.node) in self.done:
                    yield effect, "on one rank alone"
                elif id(effect.node) in self.private:
                    yield effect, "in a temporary place of each process's own"


def statements_of(owner: cst.CSTNode | Block) -> list[Statement]:
    """The statements of a block, those that share a line one by one."""
    found: list[Statement] = []
    for statement in owner.body:  # type: ignore[union-attr]
        if isinstance(statement, cst.SimpleStatementLine):
            found.extend(statement.body)
        else:
            found.append(statement)
    return found


def branches(statement: cst.If) -> list[cst.CSTNode | Block]:
    """The blocks of an ``if`` with all its ``elif``; tests of the latter must be read apart."""
    found: list[cst.CSTNode | Block] = [statement.body]
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
        statement,
        (cst.AssignTarget, cst.AnnAssign, cst.AugAssign, cst.With, cst.For, cst.NamedExpr),
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


def descendants(node: cst.CSTNode, kinds: tuple[type[cst.CSTNode], ...]) -> Iterator[cst.CSTNode]:
    """The nodes of some types in a node, itself included."""
    stack = [node]
    # To ask the classes of nodes anew for each node costs more than the walk.
    fits: dict[type[cst.CSTNode], bool] = {}
    while stack:
        current = stack.pop()
        kind = type(current)
        if kind not in fits:
            fits[kind] = issubclass(kind, kinds)
        if fits[kind]:
            yield current
        stack.extend(children(current))
