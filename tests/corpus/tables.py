"""The record as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from .record import OUTCOMES, Conversion, Record, Run

#: Conversions that take longer are listed.
SLOW_SECONDS = 10.0


def table(conversions: Sequence[Conversion]) -> str:
    """What became of the scripts of each repository, and of all."""
    names = sorted({row.repository for row in conversions})
    width = max((len(name) for name in (*names, "repository")), default=0)
    lines = [f"{'repository':{width}}" + "".join(f"{word:>14}" for word in (*OUTCOMES, "seconds"))]
    for name in names:
        rows = [row for row in conversions if row.repository == name]
        lines.append(f"{name:{width}}" + "".join(f"{cell:>14}" for cell in cells(rows)))
    if len(names) > 1:
        total = cells(conversions)
        lines.append(f"{'all':{width}}" + "".join(f"{cell:>14}" for cell in total))
    return "\n".join(lines) + "\n"


def cells(conversions: Sequence[Conversion]) -> list[str]:
    """How many scripts came out how, and the seconds they took."""
    counts = Counter(conversion.outcome for conversion in conversions)
    seconds = sum(conversion.seconds for conversion in conversions)
    return [*(str(counts[outcome]) for outcome in OUTCOMES), f"{seconds:.1f}"]


def details(record: Record) -> str:
    """The refused scripts by code, what went wrong, what took long, and the runs."""
    return "".join(
        f"\n{title}\n" + "".join(f"  {line}\n" for line in lines)
        for title, lines in (
            ("Refused", list(refusals(record))),
            ("Unreadable", list(unreadable(record))),
            ("Wrong", list(wrong(record.conversions))),
            (f"Longer than {SLOW_SECONDS:.0f} s", list(slow(record))),
            ("Runs", [line for run in record.runs for line in run_lines(run)]),
        )
        if lines
    )


def refusals(record: Record) -> Iterator[str]:
    """Every refused script with its codes, and how often each code refuses."""
    refused = [row for row in record.conversions if row.outcome == "refused"]
    for row in refused:
        yield f"{row.name}: {' '.join(row.refused_by)}"
    counts = Counter(code for row in refused for code in row.refused_by)
    if counts:
        yield "in all: " + ", ".join(f"{code} {n}" for code, n in sorted(counts.items()))


def unreadable(record: Record) -> Iterator[str]:
    """Every script that could not be read, and why."""
    for row in record.conversions:
        if row.outcome == "source error":
            yield f"{row.name}: {'; '.join(row.findings)}"


def wrong(conversions: Iterable[Conversion]) -> Iterator[str]:
    """Every script that the tool failed on, and how."""
    for row in conversions:
        if row.wrong:
            yield f"{row.name}: {'; '.join(row.problems) or row.outcome}"


def slow(record: Record) -> Iterator[str]:
    """Every script whose conversion took long."""
    for row in record.conversions:
        if row.seconds > SLOW_SECONDS:
            yield f"{row.name}: {row.seconds:.1f} s"


def run_lines(run: Run) -> Iterator[str]:
    """One run and what failed in it."""
    yield f"{run.name}: {run.verdict} ({run.seconds:.0f} s)"
    for detail in run.details:
        yield f"  {detail.strip()}"
