"""What a rule is: it decides on facts alone, and asks for changes once all have decided."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol

import libcst as cst

from transpile.facts.module import Module
from transpile.finding import Finding, Fix, Level
from transpile.plan.model import Plan, Way
from transpile.records import dataclass
from transpile.result import Verdict
from transpile.text.changes import Edit


class Placed(Protocol):
    """What stands at a node of a module: an event, an effect, a finding of an analysis."""

    @property
    def module(self) -> Module:
        """Where the node is."""

    @property
    def node(self) -> cst.CSTNode:
        """The node."""


#: Where an answer belongs: what stands there, or a module and a node of it.
Place = Placed | tuple[Module, cst.CSTNode]


def spot(place: Place) -> tuple[Module, cst.CSTNode]:
    """The module and the node of a place."""
    return place if isinstance(place, tuple) else (place.module, place.node)


@dataclass(frozen=True, eq=False)
class Ruling:
    """A rule's answer about one place.

    Args:
        code: the code of the finding that a refusal becomes.
        verdict: apply, already done or refuse.
        module: where the place is.
        node: the place.
        reason: why, in one sentence.
        advice: what to do by hand, for a refusal.
        data: what the rule wants to remember for its edits.
        claims: nodes of training sites that this answer takes care of.
        decisive: of a refusal: the script is not of a kind that can be converted, so that what else
            stands in the way would only distract.
    """

    code: str
    verdict: Verdict
    module: Module
    node: cst.CSTNode
    reason: str
    advice: str = ""
    data: Any = None
    claims: tuple[cst.CSTNode, ...] = ()
    decisive: bool = False

    @classmethod
    def apply(
        cls,
        code: str,
        place: Place,
        reason: str,
        data: Any = None,
        claims: tuple[cst.CSTNode, ...] = (),
        done: bool = False,
    ) -> Ruling:
        """A place to change; with `done` one that is as it would be changed."""
        verdict = Verdict.ALREADY_DONE if done else Verdict.APPLY
        return cls(code, verdict, *spot(place), reason, data=data, claims=claims)

    @classmethod
    def done(
        cls,
        code: str,
        place: Place,
        reason: str,
        data: Any = None,
        claims: tuple[cst.CSTNode, ...] = (),
    ) -> Ruling:
        """A place that is as the rule would make it."""
        return cls(code, Verdict.ALREADY_DONE, *spot(place), reason, data=data, claims=claims)

    @classmethod
    def refuse(
        cls,
        code: str,
        place: Place,
        reason: str,
        advice: str = "",
        data: Any = None,
        claims: tuple[cst.CSTNode, ...] = (),
        decisive: bool = False,
    ) -> Ruling:
        """A place for whose sake the script is not converted, and what to do by hand."""
        module, node = spot(place)
        return cls(code, Verdict.REFUSE, module, node, reason, advice, data, claims, decisive)


@dataclass(frozen=True, eq=False)
class Remark:
    """Something to say about a place, beside the rulings."""

    code: str
    level: Level
    module: Module
    node: cst.CSTNode | None
    message: str
    advice: str = ""
    fix: Fix | None = None

    @classmethod
    def error(
        cls, code: str, place: Place, message: str, advice: str = "", fix: Fix | None = None
    ) -> Remark:
        """What must not stay as it is."""
        return cls(code, Level.ERROR, *spot(place), message, advice, fix)

    @classmethod
    def warn(
        cls, code: str, place: Place, message: str, advice: str = "", fix: Fix | None = None
    ) -> Remark:
        """What a person must look at."""
        return cls(code, Level.WARNING, *spot(place), message, advice, fix)

    @classmethod
    def note(
        cls, code: str, place: Place, message: str, advice: str = "", fix: Fix | None = None
    ) -> Remark:
        """What was recognised or taken for granted."""
        return cls(code, Level.NOTE, *spot(place), message, advice, fix)


@dataclass(frozen=True)
class Helper:
    """The request for a helper function, by its name in the framework's prelude.

    Args:
        name: the helper.
        module: where it is called.
    """

    name: str
    module: Module


@dataclass(frozen=True, eq=False)
class In:
    """An edit and the module whose text it changes."""

    module: Module
    edit: Edit


Answer = Ruling | Remark
Change = In | Helper


@dataclass(frozen=True, eq=False)
class Rule:
    """A rule of one framework, made of the two functions of its module.

    Args:
        name: the module's name with hyphens.
        codes: code to a line on what it says.
        decide: the answers, on the plan alone.
        edits: the changes for one ruling to apply; sees all rulings of the conversion.
        doc: the module's docstring.
        ways: what the ranks shard where the rule holds: ``data``, ``calls`` or both.
        leaves: the libraries that a script leaves where the rule holds; ``none`` where it leaves
            none.
        sure: codes of warnings that leave no doubt about what is trained.
    """

    name: str
    codes: dict[str, str]
    decide: Callable[[Plan], Iterable[Answer]]
    edits: Callable[[Plan, Ruling, Rulings], Iterable[Change]]
    doc: str
    framework: str = ""
    ways: frozenset[Way] = frozenset({"data", "calls"})
    leaves: frozenset[str] = frozenset({"none"})
    sure: frozenset[str] = frozenset()


@dataclass(frozen=True, eq=False)
class Rulings:
    """All rulings of a conversion, by rule."""

    by_rule: dict[str, list[Ruling]]

    def of(self, rule: str, verdict: Verdict | None = None) -> list[Ruling]:
        """The rulings of a rule, of one verdict or of all."""
        found = self.by_rule.get(rule, [])
        return [ruling for ruling in found if verdict is None or ruling.verdict is verdict]


def place(module: Module, node: cst.CSTNode | None) -> tuple[str, int, int]:
    """Path, line and column of a node; 0, 0 for the whole file."""
    if node is None:
        return module.source.path, 0, 0
    line, column = module.source.position(module.source.span(node).start)
    return module.source.path, line, column


def finding_of(answer: Answer) -> Finding | None:
    """The finding that an answer becomes; None for rulings that are no refusal."""
    path, line, column = place(answer.module, answer.node)
    if isinstance(answer, Remark):
        return Finding(
            answer.code, answer.level, path, line, column, answer.message, answer.advice, answer.fix
        )
    if answer.verdict is Verdict.REFUSE:
        return Finding(answer.code, Level.ERROR, path, line, column, answer.reason, answer.advice)
    return None
