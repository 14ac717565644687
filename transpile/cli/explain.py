"""The command ``disttranspile explain``."""

from __future__ import annotations

import inspect

import click

from transpile.cli import codes
from transpile.cli.terminal import put


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("subject", required=False, metavar="[CODE|RULE]")
def command(subject: str | None) -> int:
    """Say what a finding or a rule is about.

    CODE is that of a finding, such as PT101; RULE is the name of a rule. Without either, all rules
    and their codes are listed.
    """
    put((_list() if subject is None else _explain(subject)).encode())
    return 0


def _explain(subject: str) -> str:
    from transpile.catalog import rules

    if subject.upper() in codes.EXPLANATIONS:
        return f"{subject.upper()}\n\n{codes.EXPLANATIONS[subject.upper()]}"
    parts = [
        f"{rule.name} ({', '.join(rule.codes)})\n\n{inspect.cleandoc(rule.doc)}\n"
        for rule in rules()
        if subject.upper() in rule.codes or subject == rule.name
    ]
    if not parts:
        raise click.UsageError(
            f"There is no code or rule {subject!r}; disttranspile explain lists them all."
        )
    return "\n".join(parts)


def _list() -> str:
    from transpile.catalog import rules

    entries = [(", ".join(rule.codes), rule.name) for rule in rules()]
    entries += [(code, text.splitlines()[0]) for code, text in codes.EXPLANATIONS.items()]
    width = max(len(entry) for entry, _ in entries)
    return "".join(f"{entry:<{width}}  {name}\n" for entry, name in sorted(entries))
