"""The command ``disttranspile explain``."""

from __future__ import annotations

import inspect
import sys
from typing import TYPE_CHECKING

import click

from transpile.cli import codes
from transpile.cli.terminal import put, wants_colour

if TYPE_CHECKING:
    from transpile.audit.check import Check
    from transpile.rule import Rule


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("subject", required=False, metavar="[CODE|RULE]")
def command(subject: str | None) -> int:
    """Say what a finding or a rule is about.

    CODE is that of a finding, such as PT101; RULE is the name of a rule. Without either, all rules
    and their codes are listed.
    """
    text = _list() if subject is None else _explain(subject)
    if subject is not None and wants_colour(sys.stdout):
        from transpile.cli.highlight import highlighted

        text = highlighted(text)
    put(text.encode())
    return 0


def _explain(subject: str) -> str:
    from transpile.catalog import checks, rules

    code = subject.upper()
    if code in codes.EXPLANATIONS:
        return f"{code}: {codes.EXPLANATIONS[code]}"
    parts = []
    documented: tuple[Rule | Check, ...] = (*rules(), *checks())
    for rule in documented:
        doc = inspect.cleandoc(rule.doc)
        if code in rule.codes:
            parts.append(f"{code}: {rule.codes[code]}\n\nFrom the rule {rule.name}:\n\n{doc}\n")
        elif subject == rule.name:
            own = "".join(f"{code}  {text}\n" for code, text in sorted(rule.codes.items()))
            parts.append(f"{rule.name}\n\n{doc}\n\nFindings:\n\n{own}")
    if not parts:
        parts = [f"{code}: {text}.\n" for code, text in _engine_codes().items() if code == subject]
    if not parts:
        raise click.UsageError(
            f"There is no code or rule {subject!r}; disttranspile explain lists them all."
        )
    return "\n".join(parts)


def _list() -> str:
    from transpile.catalog import checks, rules

    found = {code: text.splitlines()[0] for code, text in codes.EXPLANATIONS.items()}
    found |= _engine_codes()
    documented: tuple[Rule | Check, ...] = (*rules(), *checks())
    for rule in documented:
        found |= {code: f"{text} ({rule.name})" for code, text in rule.codes.items()}
    return "".join(f"{code}  {text}\n" for code, text in sorted(found.items()))


def _engine_codes() -> dict[str, str]:
    from transpile.auditing import CODES as AUDIT_CODES
    from transpile.engine import CODES
    from transpile.launch.advice import CODES as LAUNCH_CODES

    return {**CODES, **AUDIT_CODES, **LAUNCH_CODES}
