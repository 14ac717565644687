"""What becomes of scripts that are distributed already, or seem to be."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from transpile.describe import describe
from transpile.distributed.modules import Text
from transpile.distributed.verdict import Verdict, absolute, texts
from transpile.facts.interpreter import interpret
from transpile.facts.module import Module
from transpile.facts.state import TooComplex
from transpile.finding import Finding, Level
from transpile.helpers.modules import NAME
from transpile.options import Options
from transpile.plan.model import Plan
from transpile.plan.roles.build import build_plan
from transpile.plan.table import Table
from transpile.project import Project
from transpile.project_files import bound_to_place, copied, place_of
from transpile.records import replace
from transpile.result import Outcome, Result
from transpile.rule import Rulings
from transpile.text.import_words import imported_words
from transpile.text.source import Source

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


def helpers_missing(entry: Text, find: Callable[[str], Text | None]) -> Iterator[Finding]:
    """The refusal of an output whose module of helpers is not beside it any more."""
    for text in texts(entry, find):
        for dotted in imported_words(text.text):
            parts = absolute(dotted, text).split(".")
            if NAME not in parts:
                continue
            module = ".".join(parts[: parts.index(NAME) + 1])
            if find(module) is None:
                line = text.text[: text.text.index(NAME)].count("\n") + 1
                yield Finding(
                    "DT017",
                    Level.ERROR,
                    text.path,
                    line,
                    1,
                    f"this may be an output of a conversion: its helpers in `{module}` were not "
                    "found",
                    f"put `{module}` beside the script, or convert the original",
                )
                return


def as_left(options: Options, project: Project) -> Options:
    """The choices for a script that leaves a library: what it shares out, it shares out itself.

    Where neither it nor a module of its project imports the library, it is converted as any other.
    """
    entry = text_of(project.entry.source)
    words = (word for text in texts(entry, project.text_of) for word in imported_words(text.text))
    if not any(word.partition(".")[0] == options.leave for word in words):
        return replace(options, leave="none")
    return replace(
        options,
        respect_distributed=False,
        batch_size="per-device",
        shard="data",
        sync_batch_norm="off",
    )
