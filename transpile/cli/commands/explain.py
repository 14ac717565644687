"""The command ``disttranspile explain``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from difflib import get_close_matches

import click

from transpile.cli.astray_words import spelled
from transpile.cli.project.manual import Entry, entries, own_entries
from transpile.cli.terminal import put, wants_colour


def _codes_and_rules(context: click.Context, parameter: click.Parameter, word: str) -> list[str]:
    """What a shell completes a word to."""
    codes = {entry.code for entry in own_entries()}
    if not any(code.startswith(word.upper()) for code in codes):
        codes = {name for entry in entries() for name in (entry.code, entry.rule) if name}
    return sorted(name for name in codes if name.upper().startswith(word.upper()))


#: Of codes without words of their own, which say what an output does, or what is worth knowing.
_OF_A_NOTE = """\
How to fix:
    Nothing has to be done: it says what the output does, or what is worth knowing of it. Before
    and After show the change, and --diff the lines of a script.

When to ignore:
    Always, once it is read. `# disttranspile: ignore[{code}] reason` on the line leaves it out of
    what is told.
"""


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("subject", required=False, metavar="[CODE|RULE]", shell_complete=_codes_and_rules)
def command(subject: str | None) -> int:
    """Say what a finding or a rule is about.

    CODE is that of a finding, such as PT101, or the beginning of several, such as PT10, which are
    listed; RULE is the name of a rule. Without either, all rules and their codes are listed.
    """
    own = [entry for entry in own_entries() if subject and entry.code == subject.upper()]
    known = own or entries()
    text = _list(known) if subject is None else _explain(subject, known)
    if subject is not None and wants_colour(sys.stdout):
        from transpile.cli.highlight import highlighted

        text = highlighted(text)
    put(text.encode())
    return 0


def _explain(subject: str, known: Sequence[Entry]) -> str:
    code = subject.upper()
    name = subject.lower().replace("_", "-")
    found = [entry for entry in known if entry.code == code]
    if found:
        return "\n".join(map(_of_code, found))
    begun = [entry for entry in known if len(code) > 1 and entry.code.startswith(code)]
    if begun:
        return _list(begun)
    rules = dict.fromkeys((entry.rule, entry.framework) for entry in known if entry.rule == name)
    if not rules:
        raise click.UsageError(_unknown(subject, known))
    return "\n".join(
        _of_rule([one for one in known if (one.rule, one.framework) == rule]) for rule in rules
    )


def _of_code(entry: Entry) -> str:
    head = f"{entry.code}: {entry.title}"
    if entry.rule:
        manual = f"From the {entry.kind} {entry.rule}:\n\n{entry.text}"
        if entry.advice:
            return f"{head}\n\n{entry.advice}\n\n{manual}\n"
        return f"{head}\n\n{manual}\n\n{_OF_A_NOTE.format(code=entry.code)}"
    return f"{head}\n\n{entry.text}\n" if entry.text else f"{head}.\n"


def _of_rule(own: Sequence[Entry]) -> str:
    codes = "".join(f"{entry.code}  {entry.title}\n" for entry in own)
    return f"{own[0].rule}\n\n{own[0].text}\n\nFindings:\n\n{codes}"


def _unknown(subject: str, known: Sequence[Entry]) -> str:
    every = sorted({entry.code for entry in known})
    code = spelled(subject)
    codes = [code] if code in every else get_close_matches(code, every, 3, 0.7)
    names = sorted({entry.rule for entry in known if entry.rule})
    near = [*codes, *get_close_matches(subject.lower().replace("_", "-"), names, 3, 0.6)]
    stems = {word[:4] for word in subject.lower().replace("_", "-").split("-") if len(word) > 2}
    near += [
        name
        for name in names
        if name not in near and stems & {word[:4] for word in name.split("-")}
    ][:3]
    hint = f" Near are {', '.join(near)}." if near else ""
    return f"There is no code or rule {subject!r}.{hint} disttranspile rules lists them all."


def _list(known: Sequence[Entry]) -> str:
    return "".join(
        f"{entry.code}  {entry.title}{f' ({entry.rule})' if entry.rule else ''}\n"
        for entry in known
    )
