"""What the rulings of a conversion ask for: edits, helpers and imports, by module."""

from __future__ import annotations

from collections.abc import Iterable

from transpile.checks.unclaimed import Asked
from transpile.facts.module import Module
from transpile.helpers.modules import HelperModule, shared_helpers
from transpile.plan.model import Plan
from transpile.prelude import prelude_edits
from transpile.project import Project
from transpile.result import Origin, Verdict
from transpile.rule import Helper, In, Rule, Rulings
from transpile.text.changes import ChangeList, Insert
from transpile.text.edit import Edit


def changes_of(plan: Plan, rulings: Rulings, chosen: Iterable[Rule]) -> Asked:
    """What every ruling to apply asks for."""
    return [
        (ruling, tuple(rule.edits(plan, ruling, rulings)))
        for rule in chosen
        for ruling in rulings.of(rule.name, Verdict.APPLY)
    ]


def all_edits(
    plan: Plan, project: Project, asked: Asked
) -> tuple[dict[Module, list[Edit]], HelperModule | None]:
    """The edits that are asked for, with helpers and imports, by module."""
    edits: dict[Module, list[Edit]] = {}
    helpers: dict[Module, set[str]] = {}
    used: dict[Module, list[int]] = {}
    for _, changes in asked:
        calling = {change.module for change in changes if isinstance(change, Helper)}
        for change in changes:
            if isinstance(change, Helper):
                helpers.setdefault(change.module, set()).add(change.name)
                continue
            edits.setdefault(change.module, []).append(change.edit)
            if change.module in calling:
                used.setdefault(change.module, []).append(_start(change.edit))
    shared = shared_helpers(plan, project, helpers)
    for module in {**edits, **helpers}:
        own = edits.setdefault(module, [])
        wanted = helpers.get(module, set())
        if shared is not None and module in shared.users:
            own.extend(shared.edits(plan, module, wanted))
            wanted = set()
        own.extend(prelude_edits(plan, module, wanted, used.get(module, ())))
    return edits, shared


def origins_of(asked: Asked) -> tuple[Origin, ...]:
    """Where the changes that were asked for begin, each with the code of its ruling."""
    found = set()
    for ruling, changes in asked:
        for change in changes:
            if isinstance(change, In):
                edit, source = change.edit, change.module.source
                start = _start(edit)
                found.add(Origin(source.path, source.position(start)[0], ruling.code))
    return tuple(sorted(found, key=lambda origin: (origin.path, origin.line, origin.code)))


def _start(edit: Edit) -> int:
    """Where a change begins in the original."""
    if isinstance(edit, Insert):
        return edit.offset
    return edit.target.opening if isinstance(edit, ChangeList) else edit.span.start
