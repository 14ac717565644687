"""Every code of a finding with what there is to read about it."""

from __future__ import annotations

import inspect
from functools import cache

from transpile.cli import codes
from transpile.cli.advice import ADVICE
from transpile.records import dataclass
from transpile.report import Description


@dataclass(frozen=True)
class Entry:
    """What there is to read about a code.

    Args:
        code: the code.
        title: one line on what it says.
        rule: the rule or check that gives it; empty for the tool itself.
        framework: that of the rule; empty for the tool itself.
        kind: ``rule``, ``check`` of the audit, or ``tool``.
        text: the manual of the rule, or the explanation of the code.
        advice: what the rule's manual does not say of this code: why it matters, what to do.
    """

    code: str
    title: str
    rule: str = ""
    framework: str = ""
    kind: str = "tool"
    text: str = ""
    advice: str = ""


def entries() -> tuple[Entry, ...]:
    """All of them, in the order of the codes."""
    from transpile.catalog import advice as advice_of
    from transpile.catalog import checks, rules

    own = advice_of()
    found = [
        Entry(
            code,
            title,
            one.name,
            one.framework,
            kind,
            inspect.cleandoc(one.doc),
            own.get(code, "").strip(),
        )
        for kind, documented in (("rule", rules()), ("check", checks()))
        for one in documented
        for code, title in one.codes.items()
    ]
    found += [
        Entry(code, title, text=ADVICE.get(code, "").strip())
        for code, title in _engine_codes().items()
    ]
    found += own_entries()
    return tuple(sorted(found, key=lambda entry: (entry.code, entry.rule)))


def own_entries() -> list[Entry]:
    """Those of the command itself, for which no rule is loaded."""
    found = []
    for code, text in codes.EXPLANATIONS.items():
        title, _, rest = text.partition("\n")
        found.append(Entry(code, title, text=rest.strip()))
    return found


@cache
def description(code: str) -> Description | None:
    """What a report says of a code; None where there is no such one."""
    found = next((entry for entry in entries() if entry.code == code), None)
    if found is None:
        return None
    text = "\n\n".join(part for part in (found.advice, found.text) if part)
    return Description(found.title, text, found.rule)


def _engine_codes() -> dict[str, str]:
    from transpile.auditing import CODES as AUDIT_CODES
    from transpile.engine import CODES
    from transpile.launch.advice import CODES as LAUNCH_CODES

    return {**CODES, **AUDIT_CODES, **LAUNCH_CODES}
