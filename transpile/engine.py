"""The pipeline: source, facts, plan, decisions, edits, output."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import libcst as cst

from transpile import asking, catalog
from transpile.checks.astray import astray, training_above
from transpile.checks.self_audit import checked
from transpile.checks.unclaimed import among_imports, met_by_some, too_early, unclaimed
from transpile.checks.unreached import unreached
from transpile.collecting import uncollected
from transpile.describe import describe
from transpile.distributed.verdict import Verdict as Sight
from transpile.distributed.verdict import hidden_training, look
from transpile.distributed_scripts import (
    as_it_is,
    as_left,
    helpers_missing,
    text_of,
    unread_start,
)
from transpile.facts.extent import TooLarge, only_defines
from transpile.facts.interpreter import Facts, interpret
from transpile.facts.module import Module
from transpile.facts.state import TooComplex
from transpile.finding import Finding, Level
from transpile.frameworks import framework_of, others_of
from transpile.helpers.modules import HelperModule
from transpile.layout.long_lines import with_short_lines
from transpile.layout.quotes import with_own_quotes
from transpile.layout.shared_guards import with_shared_guards
from transpile.options import Options
from transpile.plan.flow.gate import distributed_already, trains, unfollowed_training
from transpile.plan.model import Plan
from transpile.plan.roles.build import build_plan
from transpile.plan.table import Table
from transpile.plan.versions import unmet
from transpile.project import Project
from transpile.project_files import (
    Changed,
    bound_to_place,
    copied,
    files_of,
    names_none,
    outside,
    place_of,
    users_elsewhere,
)
from transpile.requested import all_edits, changes_of, origins_of
from transpile.result import Decision, Outcome, Result
from transpile.roles import with_roles
from transpile.rule import Answer, Remark, Rule, Ruling, Rulings, finding_of, place
from transpile.text.edit import Edit, apply_edits
from transpile.text.source import Source, read_source
from transpile.too_complex import hidden_behind, too_complex
from transpile.ways import (
    Attempt,
    choose,
    first_way,
    may_split_calls,
    settles,
    whole_evaluations,
)

NO_FRAMEWORK = "no framework that has rules is imported here"
#: Codes of findings that belong to no framework.
CODES = {
    "DT001": "the script is too complex to follow",
    "DT002": "the script does not train with a framework that has rules",
    "DT003": "the script is distributed already",
    "DT004": "the script does not train",
    "DT005": "a place that matters for training is not claimed by any rule",
    "DT006": "another script of the project imports a module that is changed",
    "DT007": "a module of the project cannot be read",
    "DT009": "an edit would run before the process group is joined",
    "DT010": "a collective would be called on some ranks only",
    "DT011": "code that no run seems to come to is not looked at",
    "DT012": "the processes cannot share a batch",
    "DT013": "something happens before the processes know of each other",
    "DT014": "the output would not run on the framework's version",
    "DT020": "a module outside the project's folder would have to change",
    "DT008": "a path depends on the folder that a file of the project stands in",
    "DT015": "calls of models are split over the processes, on whole batches",
    "DT016": "neither batches nor calls can be split over the processes",
    "DT018": "the output would hang or diverge",
    "DT019": "evaluations are not sharded where calls of models are split",
    "DT021": "training may be hidden behind a call that cannot be followed",
    "DT017": "what joins the processes, or wraps and shards, cannot be read",
}


def convert(
    source: bytes | str,
    options: Options | None = None,
    *,
    path: str | PathLike[str] = "<string>",
    folder: Path | None = None,
) -> Result:
    """Convert one script; nothing is written and no code of it runs.

    Args:
        source: the script, as bytes or as text.
        options: what the user chose.
        path: how findings name the script.
        folder: where the modules that it imports are looked up; default: the folder of `path`
            where that is a file.

    Raises:
        SourceError: the script cannot be read or parsed.
    """
    with uncollected():
        return converted(source, options or Options(), fspath(path), folder)


def converted(source: bytes | str, options: Options, path: str, folder: Path | None) -> Result:
    """What :func:`convert` gives."""
    data = source.encode() if isinstance(source, str) else source
    read = read_source(data, path)
    if folder is None and path != "<string>" and asking.is_file(path):
        folder = asking.real(path).parent
    project = Project(read, folder)
    names = {name for one in catalog.frameworks() for name in catalog.packages(one)}
    if options.framework == "auto" and names_none(project, names):
        notes = training_above(project, names)
        return unchanged(project, "DT002", NO_FRAMEWORK, notes=notes, is_read=False)
    framework = framework_of(read, options, project)
    if framework is None:
        return unchanged(project, "DT002", NO_FRAMEWORK, is_read=False)
    result = of_framework(framework, project, read, options)
    if options.framework == "auto" and trains_not(result):
        for other in others_of(project, framework):
            again = Project(read_source(data, path), folder)
            found = of_framework(other, again, again.entry.source, options)
            if not trains_not(found):
                return found
    return result


def of_framework(framework: str, project: Project, read: Source, options: Options) -> Result:
    """Convert a script as one of a framework."""
    table = with_roles(catalog.table(framework), options.roles, options.apart)
    try:
        sight = look(text_of(read), project.text_of, table)
        return follow(project, table, read, options, sight)
    except (TooComplex, RecursionError) as error:
        if isinstance(error, TooLarge) and only_defines(read):
            why = f"nothing is called where it runs, as far as can be seen: {error}"
            return unchanged(project, "DT004", why, is_read=False)
        found = (too_complex(error, read.path),)
        return Result(Outcome.REFUSED, read.text, read.data, {}, (), found)


def trains_not(result: Result) -> bool:
    """Whether a script is left as it is because it does not train with a framework."""
    return any(finding.code == "DT004" for finding in result.findings)


def follow(project: Project, table: Table, read: Source, options: Options, sight: Sight) -> Result:
    """Follow a script that uses a framework, and convert it if it trains.

    Raises:
        TooComplex: its calls branch too often or nest too deeply.
        RecursionError: they nest so deeply that Python itself gives up.
    """
    if options.leave != "none":
        options = as_left(options, project)
    if options.respect_distributed and sight.why:
        return as_it_is(project, table, options, sight.why)
    unread: list[Finding] = []
    if options.respect_distributed:
        # Where names tell nothing of a framework's processes, the helpers' module does.
        unread.extend(unread_start(sight))
        if not unread:
            unread.extend(helpers_missing(text_of(read), project.text_of))
    if unread and not options.allow_partial:
        return Result(Outcome.REFUSED, read.text, read.data, {}, (), tuple(unread))

    def is_training(facts: Facts) -> bool:
        return trains(build_plan(facts, table, options, first_way(options)))

    facts = interpret(project.entry, table.dialect, project.find, goes_on=is_training)
    plan = build_plan(facts, table, options, first_way(options))
    notes = [
        Finding(
            "DT007", Level.WARNING, where, 0, 0, f"this module of the project is not read: {why}"
        )
        for where, why in project.unreadable
    ]
    notes.extend((*unread, *astray(project)))
    if options.respect_distributed:
        why = distributed_already(plan)
        if why:
            return unchanged(project, "DT003", why, plan, notes)
    if not trains(plan):
        if facts.cut_short:
            raise TooComplex
        hidden = hidden_training(text_of(read), project.text_of, table)
        why = "no backward pass is reached from this script"
        unfollowed = unfollowed_training(plan)
        if unfollowed is not None:
            found = (*notes, hidden_behind(unfollowed))
            return Result(Outcome.REFUSED, read.text, read.data, {}, (), found)
        if hidden:
            why = f"`{hidden}`, which may hold the training, was not found beside this script"
        return unchanged(project, "DT004", why, plan, notes)
    first = decide_and_edit(plan, project, options, notes)
    splits = may_split_calls(plan, options)
    if not splits or not first.doubts:
        first = checked(first, project, options)
    if not splits or not first.doubts:
        return first.result
    other = decide_and_edit(build_plan(facts, table, options, "calls"), project, options, notes)
    other = checked(other, project, options)
    if not settles(first, other):
        first = checked(first, project, options)
    return choose(first, other, plan.entry.source.path)


def decide_and_edit(
    plan: Plan, project: Project, options: Options, notes: list[Finding]
) -> Attempt:
    """Ask every rule that serves the plan's way, and carry out what they want if none refuses."""
    read = plan.entry.source
    chosen = [
        rule
        for rule in catalog.rules(plan.table.framework)
        if plan.way in rule.ways and options.leave in rule.leaves
    ]
    plan.requirements = project.requirements
    answers = [(rule, answer) for rule in chosen for answer in rule.decide(plan)]
    if not options.allow_partial:
        answers = decisive(answers) or answers
    rulings = Rulings({})
    doubts: list[Finding] = []
    findings = [*notes, *too_old(plan), *whole_evaluations(plan)]
    for rule, answer in answers:
        if isinstance(answer, Ruling):
            rulings.by_rule.setdefault(rule.name, []).append(answer)
        finding = finding_of(answer)
        if finding is not None:
            findings.append(finding)
            if finding.level > Level.NOTE and finding.code not in rule.sure:
                doubts.append(finding)
    refused = any(finding.level is Level.ERROR for finding in findings)
    if not refused:
        closing = [*unclaimed(plan, rulings), *unreached(plan)]
        findings.extend(filter(None, map(finding_of, closing)))
    asked = changes_of(plan, rulings, chosen)
    for remarks in (too_early(plan, asked), met_by_some(plan, asked), among_imports(plan)):
        findings.extend(filter(None, map(finding_of, remarks)))
    changed = written(*all_edits(plan, project, asked))
    findings.extend(users_elsewhere(plan, project, changed))
    fixed, in_place = outside(project, changed)
    findings.extend(fixed)
    errors = any(finding.level is Level.ERROR for finding in findings)
    if errors:
        doubts.extend(finding for finding in findings if finding.level is Level.ERROR)
    description = describe(plan, rulings)
    if options.explain_numbers is not None:
        converted = not errors or options.allow_partial
        findings.extend(explain_numbers(plan, rulings, project, description, converted=converted))
    findings = sorted(set(findings), key=lambda finding: finding.sort_key)
    decisions = public_decisions(answers)
    if errors and not options.allow_partial:
        refusal = Result(
            Outcome.REFUSED, read.text, read.data, description, decisions, tuple(findings)
        )
        return Attempt(refusal, tuple(doubts))
    text = changed.texts.get(plan.entry, read.text)
    files = files_of(project, changed)
    is_changed = text != read.text or any(file.is_changed for file in files)
    outcome = Outcome.CONVERTED if is_changed else Outcome.UNCHANGED
    result = Result(
        outcome,
        text,
        read.encode(text),
        description,
        decisions,
        tuple(findings),
        files,
        place_of(project),
        tuple(bound_to_place(project)),
        tuple(in_place),
        origins_of(asked),
    )
    return Attempt(result, tuple(doubts))


def too_old(plan: Plan) -> Iterable[Finding]:
    """What the output would need beyond the version of the framework that it has to run on."""
    target, versions = plan.options.target_version, plan.table.versions
    if target is None or versions is None:
        return
    path = plan.entry.source.path
    advice = "give a version that has it as --target-version, or leave the choice out"
    for why in unmet(plan, versions, target):
        yield Finding("DT014", Level.ERROR, path, 0, 0, why, advice)


def explain_numbers(
    plan: Plan,
    rulings: Rulings,
    project: Project,
    description: dict[str, Any],
    *,
    converted: bool,
) -> Iterable[Finding]:
    """Put the numbers of a run into a description, and say what they make impossible."""
    from transpile.arithmetic.account import account

    vocabulary = catalog.vocabulary(plan.table.framework)
    processes = plan.options.explain_numbers
    if vocabulary is None or processes is None:
        return
    plan.text_beside = project.text_beside
    found = account(plan, rulings, vocabulary, processes, converted=converted)
    description["numbers"] = found.document
    for problem in found.problems:
        path, line, column = place(problem.module, problem.node)
        yield Finding("DT012", Level.WARNING, path, line, column, problem.message, problem.advice)


def written(edits: dict[Module, list[Edit]], shared: HelperModule | None) -> Changed:
    """The texts of all modules that change."""
    texts: dict[Module, str] = {}
    for module, own in edits.items():
        before = module.source.text
        text = with_shared_guards(before, apply_edits(before, own))
        text = with_short_lines(before, with_own_quotes(before, text))
        if text != before:
            check_parses(text)
            texts[module] = text
    return Changed(texts, shared)


def decisive(answers: Iterable[tuple[Rule, Answer]]) -> list[tuple[Rule, Answer]]:
    """The refusals that settle the matter alone."""
    return [
        (rule, answer) for rule, answer in answers if isinstance(answer, Ruling) and answer.decisive
    ]


def public_decisions(answers: Iterable[tuple[Rule, Any]]) -> tuple[Decision, ...]:
    """The rulings as users see them, in the order of the places."""
    found = []
    for rule, answer in answers:
        if isinstance(answer, Remark):
            continue
        _, line, column = place(answer.module, answer.node)
        found.append(Decision(rule.name, answer.code, answer.verdict, line, column, answer.reason))
    return tuple(
        sorted(found, key=lambda decision: (decision.line, decision.column, decision.rule))
    )


def check_parses(text: str) -> None:
    """Make sure that what is given out is Python: anything else is an error of the tool."""
    import ast

    try:
        ast.parse(text)
    except (SyntaxError, ValueError):
        cst.parse_module(text)


def unchanged(
    project: Project,
    code: str,
    why: str,
    plan: Plan | None = None,
    notes: Iterable[Finding] = (),
    *,
    is_read: bool = True,
) -> Result:
    """The result for a script that is left as it is; without parsing its modules where asked."""
    read = project.entry.source
    files, modules = (files_of(project), None) if is_read else copied(project)
    note = Finding(code, Level.NOTE, read.path, 0, 0, f"left as it is: {why}")
    return Result(
        Outcome.UNCHANGED,
        read.text,
        read.data,
        describe(plan, Rulings({})) if plan is not None else {},
        (),
        (*notes, note),
        files,
        place_of(project),
        tuple(bound_to_place(project, modules)),
    )


__all__ = ["CODES", "Facts", "convert"]
