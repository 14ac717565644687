"""Conversions and audits that were only looked at, kept until something that they read changes."""

from __future__ import annotations

from transpile.asking import noted, real
from transpile.cli.inputs import Content, Input
from transpile.cli.kept import Kept
from transpile.finding import Finding
from transpile.options import Options
from transpile.result import Result


def recalled(kept: Kept, script: Input, content: Content, options: Options) -> Result | None:
    """What was kept of the conversion of a script; None where that is nothing."""
    return kept.get(_key("convert", script, content, options), content.data, Result)


def converted(kept: Kept, script: Input, content: Content, options: Options) -> Result:
    """Convert what was read, unless it is known what comes of it.

    Raises:
        SourceError: it cannot be parsed.
    """
    found = recalled(kept, script, content, options)
    if found is not None:
        return found
    from transpile.cli.notebooks import convert_input

    with noted() as notes:
        real(script.path)
        result = convert_input(script, content, options)
    kept.put(_key("convert", script, content, options), content.data, notes, result)
    return result


def recalled_audit(
    kept: Kept, script: Input, content: Content, options: Options
) -> tuple[Finding, ...] | None:
    """What was kept of the audit of a script; None where that is nothing."""
    key = _key("audit", script, content, options)
    return kept.get(key, content.data, tuple[Finding, ...])


def audited(kept: Kept, script: Input, content: Content, options: Options) -> tuple[Finding, ...]:
    """Audit what was read, unless it is known what comes of it.

    Raises:
        SourceError: it cannot be parsed.
    """
    found = recalled_audit(kept, script, content, options)
    if found is not None:
        return found
    from transpile.cli.notebooks import audit_input

    with noted() as notes:
        real(script.path)
        findings = audit_input(script, content, options)
    kept.put(_key("audit", script, content, options), content.data, notes, findings)
    return findings


def _key(what: str, script: Input, content: Content, options: Options) -> tuple[str, ...]:
    kind = "notebook" if content.notebook is not None else "script"
    return (what, kind, script.name, repr(options))
