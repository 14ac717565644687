"""An engine that obeys marks in the script, so that the command is tested apart from the rules."""

from __future__ import annotations

import sys
from types import ModuleType

from transpile.finding import Finding, Level
from transpile.options import Options
from transpile.result import Decision, Outcome, Result, Verdict
from transpile.text.source import SourceError

TRAINING = b"# convert torch\nx = 'single'\n"
CONVERTED = b"# convert torch\nx = 'distributed'\n"
WARNED = TRAINING + b"# warn\n"
REFUSED = b"# refuse\nx = 'single'\n"
IDLE = b"print('no training')\n"

received: list[Options] = []


def convert(source: bytes | str, options: Options = Options(), *, path: str = "<string>") -> Result:
    received.append(options)
    data = source.encode() if isinstance(source, str) else source
    if b"# syntax" in data:
        raise SourceError("invalid syntax", 3, 7)
    if b"# crash" in data:
        raise ZeroDivisionError("division\nby zero")
    findings = [Finding("PT100", Level.NOTE, path, 1, 1, "a note")]
    outcome = Outcome.UNCHANGED
    after = data
    if b"# convert" in data:
        after = data.replace(b"single", b"distributed")
        outcome = Outcome.CONVERTED if after != data else Outcome.UNCHANGED
    if b"# warn" in data:
        findings.append(Finding("PT200", Level.WARNING, path, 2, 1, "a warning", "look\ntwice"))
    if b"# refuse" in data:
        findings.append(Finding("PT300", Level.ERROR, path, 2, 5, "an error", "do it by hand"))
        if options.allow_partial:
            outcome, after = Outcome.CONVERTED, data.replace(b"single", b"distributed")
        else:
            outcome = Outcome.REFUSED
    return Result(
        outcome=outcome,
        text=after.decode("latin-1"),
        data=after,
        plan={"framework": "pytorch", "models": [{"name": "x"}]},
        decisions=(Decision("wrap-model", "PT100", Verdict.APPLY, 1, 1, "it is trained"),),
        findings=tuple(findings),
    )


def install() -> None:
    """Stand in for the real engine in this process."""
    module = ModuleType("transpile.engine")
    module.convert = convert  # type: ignore[attr-defined]
    sys.modules["transpile.engine"] = module
