"""What is found in a text that an editor holds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from transpile.acceptance.accept import Acceptance
from transpile.auditing import audit
from transpile.engine import convert
from transpile.finding import Finding
from transpile.options import Options
from transpile.result import Outcome
from transpile.text.decoding import SourceError

NOT_DISTRIBUTED = "AU001"


Findings = tuple[Finding, ...]
#: Of findings in a text with a path, those that the project has not accepted.
Keep = Callable[[Findings, str, str], Findings]


def kept(findings: Findings, text: str, path: str) -> Findings:
    """Those that no comment in the text accepts."""

    def read(which: str) -> bytes:
        return text.encode("utf-8", "surrogatepass") if which == path else b""

    return Acceptance(read, str).sort(path, findings, errors=True, complete=()).told


@dataclass(frozen=True)
class Choice:
    """What holds for a script.

    Args:
        options: those of its conversion.
        keep: which findings are shown.
    """

    options: Options = Options()
    keep: Keep = kept


@dataclass(frozen=True)
class Look:
    """What is found.

    Args:
        findings: those that nothing in the text suppresses.
        audited: it is distributed already, and the findings are those of the audit.
        text: the converted script; empty where it is not converted.
    """

    findings: Findings = ()
    audited: bool = False
    text: str = ""


def look(text: str, path: str, choice: Choice) -> Look:
    """What a conversion finds in a script for one process, and the audit in a distributed one."""
    options = choice.options
    folder = Path(path).parent
    try:
        found = audit(text, options, path=path, folder=folder)
        if not any(finding.code == NOT_DISTRIBUTED for finding in found):
            return Look(choice.keep(found, text, path), audited=True)
        result = convert(text, options, path=path, folder=folder)
    except SourceError:
        # The editor says itself that a text is no Python while it is being written.
        return Look()
    if result.outcome is Outcome.UNCHANGED:
        return Look()
    # An edit of an editor writes one file: what changes modules, too, is for the command.
    writes_one = result.outcome is Outcome.CONVERTED and not result.changed_modules
    return Look(choice.keep(result.findings, text, path), text=result.text if writes_one else "")
