"""Whether the job prints what the original prints, once."""

from __future__ import annotations

from collections import Counter
from math import isclose

from transpile.verify.checks.text import mask_numbers, numbers, printed_lines
from transpile.verify.evidence import RankEvidence, RunEvidence
from transpile.verify.expectation import Expectation
from transpile.verify.report import Check, failed, not_applicable, passed


def printed_once(original: RunEvidence, run: RunEvidence, _: Expectation) -> Check:
    """No line of standard output is printed by several ranks more often than by the original."""
    name = "printed once"
    expected = _lines(original.first)
    by_rank = [_lines(rank) for rank in run.ranks]
    total = sum(by_rank, Counter())
    if not total:
        return not_applicable(name, "nothing is printed")
    problems: list[str] = []
    for line, count in total.items():
        printing = [rank for rank, lines in enumerate(by_rank) if lines[line]]
        if len(printing) > 1 and count > expected[line]:
            problems.append(f"by ranks {', '.join(map(str, printing))}: {line}")
    return failed(name, "\n".join(problems)) if problems else passed(name, _many(total.total()))


def same_lines(original: RunEvidence, run: RunEvidence, expectation: Expectation) -> Check:
    """What all ranks print together is what the original prints, numbers aside.

    How often a line is printed may be chance ("new best"), and so may be what a model writes,
    except in a deterministic script.
    """
    name = "same lines as the original"
    return _compare_lines(name, original, run, counted=expectation.deterministic)


def single_process_output(original: RunEvidence, run: RunEvidence) -> Check:
    """One process prints the lines of the original, numbers aside."""
    return _compare_lines("single process equals original", original, run, counted=True)


def printed_numbers(original: RunEvidence, run: RunEvidence, expectation: Expectation) -> Check:
    """The numbers that rank 0 prints equal the original's within the tolerance."""
    name = "printed numbers"
    if not expectation.printed_numbers or expectation.tolerance is None:
        return not_applicable(name, "not asked for")
    expected, found = printed_lines(original.first.output), printed_lines(run.first.output)
    for ours, theirs in zip(expected, found, strict=False):
        left, right = numbers(ours), numbers(theirs)
        if len(left) != len(right) or not all(
            # What is printed is rounded, and may be rounded the other way.
            isclose(a, b, rel_tol=max(expectation.tolerance, 1e-3), abs_tol=1e-4)
            for a, b in zip(left, right, strict=True)
        ):
            return failed(name, f"{theirs}\nin the original: {ours}")
    return passed(name, f"of {_many(min(len(expected), len(found)))}")


def tracked_numbers(original: RunEvidence, run: RunEvidence, expectation: Expectation) -> Check:
    """The numbers that all ranks together give to a tracker are the original's."""
    name = "tracked numbers"
    expected = original.first.tracked
    if not expected and not any(rank.tracked for rank in run.ranks):
        return not_applicable(name, "nothing is tracked")
    if not expectation.printed_numbers or expectation.tolerance is None:
        return not_applicable(name, "not asked for")
    tracking = [rank.tracked for rank in run.ranks if rank.tracked]
    if len(tracking) > 1:
        return failed(name, f"{len(tracking)} ranks track")
    found = tracking[0] if tracking else ()
    if len(found) != len(expected):
        return failed(name, f"{len(found)} are tracked, in the original {len(expected)}")
    allowed = max(expectation.tolerance, 1e-5)
    for (tag, ours), (other, theirs) in zip(expected, found, strict=True):
        if tag != other or not isclose(ours, theirs, rel_tol=allowed, abs_tol=1e-7):
            return failed(name, f"{other}: {theirs:.6g}, in the original {tag}: {ours:.6g}")
    return passed(name, f"{len(found)} of {', '.join(dict.fromkeys(tag for tag, _ in found))}")


def _compare_lines(name: str, original: RunEvidence, run: RunEvidence, *, counted: bool) -> Check:
    expected = _lines(original.first)
    found = sum((_lines(rank) for rank in run.ranks), Counter[str]())
    missing = [line for line in expected if found[line] < (expected[line] if counted else 1)]
    extra = [line for line in found if not expected[line]]
    if not counted and len(missing) == len(extra):
        # As many as are missing say something else: text that a model writes, a best class.
        texts = f"{len(missing)} with another text" if missing else _many(found.total())
        return passed(name, texts)
    if missing:
        often = f"{found[missing[0]]} times, in the original {expected[missing[0]]}"
        return failed(name, f"printed {often}: {missing[0]}")
    if extra:
        return failed(name, f"not printed by the original: {extra[0]}")
    return passed(name, _many(found.total()))


def _many(lines: int) -> str:
    return "1 line" if lines == 1 else f"{lines} lines"


def _lines(rank: RankEvidence) -> Counter[str]:
    return Counter(mask_numbers(line) for line in printed_lines(rank.output))
