"""What becomes of scripts that are distributed already, or seem to be."""

from __future__ import annotations

from collections.abc import Iterable

from transpile.describe import describe
from transpile.distributed.modules import Text
from transpile.distributed.verdict import Verdict
from transpile.facts.interpreter import interpret
from transpile.facts.module import Module
from transpile.facts.state import TooComplex
from transpile.finding import Finding, Level
from transpile.options import Options
from transpile.plan.model import Plan
from transpile.plan.roles.build import build_plan
from transpile.plan.table import Table
from transpile.project import Project
from transpile.project_files import bound_to_place, copied, place_of
from transpile.result import Outcome, Result
from transpile.rule import Rulings
from transpile.source import Source

#: Steps in which a script that is left as it is may be described.
FEW_STEPS = 20_000
#: Characters of the project's modules that are read for it.
FEW_CHARACTERS = 200_000


def text_of(read: Source) -> Text:
    """A script as the text that names are looked up in."""
    return Text("", read.text, False, read.path)


def short_plan(project: Project, table: Table, options: Options) -> Plan | None:
    """What a script is made of, where that is soon told."""
    read: dict[str, int] = {}

    def find(dotted: str, importer: Module) -> Module | None:
        found = project.find(dotted, importer)
        if found is not None:
            read[found.name] = len(found.source.text)
        if sum(read.values()) > FEW_CHARACTERS:
            raise TooComplex
        return found

    try:
        facts = interpret(project.entry, table.dialect, find, most_steps=FEW_STEPS)
        return build_plan(facts, table, options)
    except (TooComplex, RecursionError):
        return None


def unread_start(sight: Verdict) -> Iterable[Finding]:
    """Why a script that is distributed as it seems, nobody can see how, is refused."""
    if not sight.unread or sight.place is None:
        return
    package = sight.unread.rpartition(".")[0] or sight.unread
    yield Finding(
        "DT017",
        Level.ERROR,
        sight.place.path,
        sight.place.line,
        sight.place.column,
        f"`{sight.evidence}` is in sight, so the script may be distributed already by "
        f"`{sight.unread}`, whose module was not found",
        f"put `{package}` beside the script, or take what is distributed out",
    )


def as_it_is(project: Project, table: Table, options: Options, why: str) -> Result:
    """The result for a script that is distributed as its names show; little more is read."""
    read = project.entry.source
    plan = short_plan(project, table, options)
    described = {"framework": table.framework}
    if plan is not None:
        described |= describe(plan, Rulings({}))
    note = Finding("DT003", Level.NOTE, read.path, 0, 0, f"left as it is: {why}")
    files, modules = copied(project)
    bound = tuple(bound_to_place(project, modules))
    outcome = Outcome.UNCHANGED
    place = place_of(project)
    return Result(outcome, read.text, read.data, described, (), (note,), files, place, bound)
