"""What a conversion gives back."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

from transpile.finding import Finding, Level
from transpile.records import shown_dataclass as dataclass


class Outcome(Enum):
    """What became of a script."""

    CONVERTED = "converted"
    UNCHANGED = "unchanged"
    REFUSED = "refused"
    AUDITED = "audited"


class Verdict(Enum):
    """What a rule decided about one place."""

    APPLY = "apply"
    ALREADY_DONE = "already done"
    REFUSE = "refuse"


@dataclass(frozen=True)
class Decision:
    """One rule's answer about one place.

    Args:
        rule: the rule's name, for example ``shard-training-data``.
        code: the code that its findings carry.
        verdict: what it decided.
        line: 1-based line of the place.
        column: 1-based column of the place.
        reason: why, in one sentence.
    """

    rule: str
    code: str
    verdict: Verdict
    line: int
    column: int
    reason: str


@dataclass(frozen=True)
class ProjectFile:
    """A module of the project that a script imports, or one that the conversion adds.

    Args:
        path: the file, named as the script was.
        place: where it stands below the folder that holds the whole project, with slashes.
        before: its content; None where the conversion adds it.
        data: its content after the conversion.
        helpers: where it is the module of helpers: the names of all, in their order.
    """

    path: str
    place: str
    before: bytes | None
    data: bytes
    helpers: tuple[str, ...] = ()

    @property
    def is_changed(self) -> bool:
        """Whether the conversion changes or adds it."""
        return self.data != self.before


@dataclass(frozen=True)
class Origin:
    """Where one change begins, and the code of the rule that asks for it.

    Args:
        path: the file, named as the script was.
        line: 1-based line of the original.
        code: the code that the rule's decision carries.
    """

    path: str
    line: int
    code: str


@dataclass(frozen=True)
class Result:
    """The outcome of converting one script, and with it the modules of its project.

    Args:
        outcome: converted, unchanged (nothing to do, or distributed already) or refused.
        text: the converted text; the input's own where the outcome is not ``CONVERTED``.
        data: `text` encoded as the input was (byte-order mark, encoding, newlines).
        plan: what the script is made of, as plain data that JSON can hold.
        decisions: every rule's answers, in the order of the places.
        findings: every remark, in the order of the places.
        modules: the modules of the project that the script imports, changed or not, and what is
            added to them.
        place: where the script itself stands below the folder that holds the whole project; empty
            where it has no place on disk.
        bound_to_place: what leads elsewhere once the project is copied to another folder.
        outside: refusals of files that may not change where they are.
        origins: where changes begin and why, in the order of the places.
    """

    outcome: Outcome
    text: str
    data: bytes
    plan: Mapping[str, Any]
    decisions: tuple[Decision, ...]
    findings: tuple[Finding, ...]
    modules: tuple[ProjectFile, ...] = ()
    place: str = ""
    bound_to_place: tuple[Finding, ...] = ()
    outside: tuple[Finding, ...] = ()
    origins: tuple[Origin, ...] = ()

    @property
    def changed_modules(self) -> tuple[ProjectFile, ...]:
        """The modules of the project that are changed or added."""
        return tuple(module for module in self.modules if module.is_changed)

    @property
    def level(self) -> Level:
        """The gravest level among the findings; ``NOTE`` where there are none."""
        return max((finding.level for finding in self.findings), default=Level.NOTE)
