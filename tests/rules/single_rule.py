"""One rule alone on a script: its answers, and the text that its edits make."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from transpile.facts.interpreter import interpret
from transpile.options import Options
from transpile.plan.model import Plan
from transpile.plan.roles.build import build_plan
from transpile.prelude import prelude_edits
from transpile.project import Project
from transpile.result import Verdict
from transpile.rule import Answer, Helper, In, Remark, Ruling, Rulings
from transpile.rules.pytorch import TABLE
from transpile.text.edit import Edit, apply_edits
from transpile.text.source import read_source


@dataclass(frozen=True)
class Made:
    """What a rule makes of a script.

    Args:
        before: the script.
        after: the script with the rule's edits.
        answers: everything the rule says.
        foreign: how many edits it wants in other modules.
    """

    before: str
    after: str
    answers: tuple[Answer, ...]
    foreign: int

    @property
    def new(self) -> list[str]:
        """The lines that the script does not have, without helpers and imports."""
        old = {line.strip() for line in self.before.splitlines()}
        start = self.after.index("START") if "START" in self.after else 0
        lines = [line.strip() for line in self.after[start:].splitlines()]
        return [line for line in lines if line not in old]

    @property
    def verdicts(self) -> list[tuple[str, Verdict]]:
        """Code and verdict of each ruling."""
        return [(one.code, one.verdict) for one in self.answers if isinstance(one, Ruling)]

    @property
    def remarks(self) -> list[tuple[str, str]]:
        """Code and message of each remark."""
        return [(one.code, one.message) for one in self.answers if isinstance(one, Remark)]


def plan_of(text: str, folder: Path | None = None) -> Plan:
    """The plan of a script."""
    source = read_source(text.encode(), "train.py")
    project = Project(source, folder)
    return build_plan(interpret(project.entry, TABLE.dialect, project.find), TABLE, Options())


def made(rule: ModuleType, text: str, folder: Path | None = None) -> Made:
    """What a rule makes of a script."""
    plan = plan_of(text, folder)
    answers = tuple(rule.decide(plan))
    rulings = Rulings({"rule": [one for one in answers if isinstance(one, Ruling)]})
    edits: list[Edit] = []
    helpers: set[str] = set()
    foreign = 0
    for ruling in rulings.of("rule", Verdict.APPLY):
        for change in rule.edits(plan, ruling, rulings):
            if change.module is not plan.entry:
                foreign += isinstance(change, In)
            elif isinstance(change, Helper):
                helpers.add(change.name)
            else:
                edits.append(change.edit)
    after = apply_edits(text, [*edits, *prelude_edits(plan, plan.entry, helpers)])
    compile(after, "train.py", "exec")
    return Made(text, after, answers, foreign)
