"""What a rule is: it decides on facts alone, and asks for changes once all have decided."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import libcst as cst

from transpile.facts.module import Module
from transpile.finding import Finding, Fix, Level
from transpile.plan.model import Plan, Way
from transpile.records import dataclass
from transpile.result import Verdict
from transpile.text.changes import Edit


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
