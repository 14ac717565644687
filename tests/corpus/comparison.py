"""How the records of two commits differ."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from .record import Conversion, Record


def compare(old: Record, new: Record) -> str:
    """The differences in outcomes, findings, outputs and runs; empty where there are none."""
    return "".join(f"{line}\n" for line in differences(old, new))


def differences(old: Record, new: Record) -> Iterator[str]:
    """The differences, line by line, in the order of the scripts' names."""
    before = {row.name: row for row in old.conversions}
    after = {row.name: row for row in new.conversions}
    for name in sorted(before.keys() | after.keys()):
        if name not in after:
            yield f"{name}: only in the old record"
        elif name not in before:
            yield f"{name}: only in the new record"
        else:
            yield from of_script(name, before[name], after[name])
    verdicts = {run.name: run.verdict for run in old.runs}
    for run in new.runs:
        if verdicts.get(run.name, run.verdict) != run.verdict:
            yield f"{run.name}: {verdicts[run.name]} -> {run.verdict}"


def of_script(name: str, old: Conversion, new: Conversion) -> Iterator[str]:
    """How the conversions of one script differ."""
    if old.outcome != new.outcome:
        yield f"{name}: {old.outcome} -> {new.outcome}"
    found = [f"-{line}" for line in old.findings if line not in new.findings]
    found += [f"+{line}" for line in new.findings if line not in old.findings]
    found += [f"-{line}" for line in old.problems if line not in new.problems]
    found += [f"+{line}" for line in new.problems if line not in old.problems]
    if found:
        yield f"{name}: findings"
        yield from found
    if old.output and new.output and old.output != new.output:
        yield f"{name}: output"
        lines = difflib.unified_diff(
            old.output.splitlines(), new.output.splitlines(), lineterm="", n=2
        )
        yield from (line for line in lines if not line.startswith(("---", "+++")))
