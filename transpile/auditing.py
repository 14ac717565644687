"""The audit's pipeline: source, one run as each of several processes, checks, findings."""

from __future__ import annotations

from collections.abc import Callable, Set
from functools import partial
from pathlib import Path

from transpile import asking, catalog
from transpile.audit.aside import Aside
from transpile.audit.model import Audit, Process
from transpile.audit.process import WHETHER_JOINED, run_as
from transpile.audit.vocabulary import Position, Vocabulary
from transpile.distributed.verdict import launched_by, look
from transpile.distributed_scripts import text_of
from transpile.facts.extent import TooLarge
from transpile.facts.interpreter import Facts
from transpile.facts.module import Module
from transpile.facts.state import MOST_STEPS, TooComplex
from transpile.finding import Finding, Level
from transpile.frameworks import framework_of
from transpile.options import Options
from transpile.plan.flow.gate import distributed_already
from transpile.plan.roles.build import build_plan
from transpile.project import Project
from transpile.records import replace
from transpile.roles import with_roles
from transpile.rule import finding_of
from transpile.text.source import read_source

#: Steps in which one process is followed through all modules of a project, and through those that
#: are about several processes.
FEW_STEPS = 60_000
MANY_STEPS = 400_000
#: Modules that a finding names.
MOST_NAMED = 3
#: Codes of findings that belong to no check.
CODES = {
    "AU001": "the script is not distributed",
    "AU002": "the script is too complex to follow",
    "AU003": "what distributes the script is not looked at",
    "AU004": "a module of the project cannot be read",
}
#: Two processes on one machine and the first on another one.
FIRST = Position(rank=0, local_rank=0, world_size=4, local_world_size=2)
SECOND = Position(rank=1, local_rank=1, world_size=4, local_world_size=2)
ELSEWHERE = Position(rank=2, local_rank=0, world_size=4, local_world_size=2)
#: What the processes of one machine have apart from those of another.
ON_MACHINE = frozenset({"local_rank", "is_local_first", "node_rank"})


def audit(
    source: bytes | str,
    options: Options | None = None,
    *,
    path: str = "<string>",
    folder: Path | None = None,
) -> tuple[Finding, ...]:
    """What may hang or diverge in a distributed script; no code of it runs.

    Args:
        source: the script, as bytes or as text.
        options: the framework, where it shall not be told from the imports.
        path: how findings name the script.
        folder: where the modules that it imports are looked up; default: the folder of `path`
            where that is a file.

    Raises:
        SourceError: the script cannot be read or parsed.
    """
    options = options or Options()
    data = source.encode() if isinstance(source, str) else source
    read = read_source(data, path)
    if folder is None and path != "<string>" and asking.is_file(path):
        folder = asking.real(path).parent
    project = Project(read, folder, seeks=True)
    framework = framework_of(read, options, project)
    if framework is None:
        return (note(path, "AU001", "no framework that has an audit is imported here"),)
    try:
        if catalog.audit_vocabulary(framework) is None:
            none = f"scripts of {framework} have no audit so far: nothing of this one is looked at"
            return (unseen(project, framework, options, none),)
        return audited(project, framework, options)
    except (TooComplex, RecursionError) as error:
        large = isinstance(error, TooLarge)
        why = str(error) if large else "its calls branch too often or nest deeply"
        message = f"the script is too complex to follow: {why}"
        return (Finding("AU002", Level.WARNING, path, 0, 0, message, "audit its parts"),)


def audited(
    project: Project, framework: str, options: Options, *, errors_only: bool = False
) -> tuple[Finding, ...]:
    """What the checks of a framework say of a script.

    Args:
        project: the script's.
        framework: whose checks.
        options: see :func:`audit`.
        errors_only: two processes of one machine are enough, and so are errors.

    Raises:
        TooComplex: it needs more steps than the analysis allows.
    """
    path = project.entry.source.path
    aside = Aside(project.find)
    try:
        few = MOST_STEPS if errors_only else FEW_STEPS
        seen = run_all(project, framework, options, project.find, few, errors_only=errors_only)
    except TooComplex:
        seen = run_all(project, framework, options, aside, MANY_STEPS, errors_only=errors_only)
    why = distributed(seen)
    if not why:
        none = "nothing here joins a process group or wraps a model"
        return (unseen(project, framework, options, none),)
    findings = [
        Finding("AU004", Level.WARNING, where, 0, 0, f"this module of the project is not read: {w}")
        for where, w in project.unreadable
    ]
    if why.startswith("it is distributed by"):
        findings.append(
            note(path, "AU003", f"{why}: what it does with models and data is not looked at")
        )
    if aside.left_out:
        findings.append(note(path, "AU002", without(aside.left_out)))
    for check in catalog.checks(framework, errors_only=errors_only):
        findings.extend(filter(None, map(finding_of, check.decide(seen))))
    return tuple(sorted(set(findings), key=lambda finding: finding.sort_key))


def without(paths: Set[str]) -> str:
    """What to say of a script that was followed without some modules."""
    names = sorted(paths)
    shown = ", ".join(f"`{name}`" for name in names[:MOST_NAMED])
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return f"the script is too large to be followed with all modules: {shown}{more} are left out"


def run_all(
    project: Project,
    framework: str,
    options: Options,
    find: Callable[[str, Module], Module | None],
    most_steps: int,
    *,
    errors_only: bool = False,
) -> Audit:
    """A script as each of several processes, and as any of them.

    Raises:
        TooComplex: one of them needs more steps than that.
    """
    table = with_roles(catalog.table(framework), options.roles)
    vocabulary = catalog.audit_vocabulary(framework)
    assert vocabulary is not None
    processes: list[Process] = []
    asked: frozenset[str] = frozenset()
    joined = False
    for position in (FIRST, SECOND, ELSEWHERE):
        if position is ELSEWHERE and (errors_only or asked.isdisjoint(ON_MACHINE)):
            # Without asking for its machine, it is as any other that is not the first.
            processes.append(replace(processes[-1], position=position))
            continue
        run = partial(run_as, project.entry, table.dialect, find, vocabulary, position, True)
        project.forget()
        facts, words, wraps = run(most_steps, joined=joined)
        if position is FIRST and WHETHER_JOINED in words and is_joined_elsewhere(facts, vocabulary):
            joined = True
            project.forget()
            facts, words, wraps = run(most_steps, joined=joined)
        asked |= words
        processes.append(Process(position, facts, wraps, vocabulary.joins))
    project.forget()
    facts, _, _ = run_as(
        project.entry, table.dialect, find, vocabulary, None, False, most_steps, joined=joined
    )
    plan = build_plan(facts, table, options)
    plan.by_hand = True
    first, second, elsewhere = processes
    return Audit(plan, vocabulary, first, second, elsewhere, errors_only)


def is_joined_elsewhere(facts: Facts, vocabulary: Vocabulary) -> bool:
    """Whether models are wrapped, and what joins the processes is not to be read."""
    return bool(facts.calls_to(*vocabulary.wraps)) and not facts.calls_to(*vocabulary.joins)


def distributed(seen: Audit) -> str:
    """How a script is distributed; empty where it is not."""
    why = distributed_already(seen.plan)
    if why:
        return why
    vocabulary = seen.vocabulary
    for names in (vocabulary.joins, vocabulary.wraps, vocabulary.meets):
        calls = seen.facts.calls_to(*names)
        if calls:
            return "it talks to other processes"
    return ""


def unseen(project: Project, framework: str, options: Options, none: str) -> Finding:
    """What to say of a script in which nothing is seen to be distributed."""
    read = project.entry.source
    table = with_roles(catalog.table(framework), options.roles)
    sight = look(text_of(read), project.text_of, table)
    if sight.why:
        return note(read.path, "AU003", f"{sight.why}: nothing of that is looked at")
    if sight.unread:
        said = (
            f"`{sight.evidence}` is in sight, but nothing that joins processes: it is not looked at"
        )
        return note(read.path, "AU003", said)
    if catalog.audit_vocabulary(framework) is None:
        return note(read.path, "AU003", none)
    launcher = launched_by(text_of(read), project.text_of, table)
    if launcher:
        said = f"`{launcher}` may distribute it, whose module was not found: it is not looked at"
        return note(read.path, "AU003", said)
    return note(read.path, "AU001", none)


def note(path: str, code: str, message: str) -> Finding:
    """A remark about a whole script."""
    return Finding(code, Level.NOTE, path, 0, 0, message)
