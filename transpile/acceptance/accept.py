"""Sorting the findings of one script: what is told, and what the project has accepted."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from transpile.acceptance.baseline import Baseline, Known, belongs
from transpile.acceptance.codes import counts, named
from transpile.acceptance.comments import Comment, comments_in
from transpile.acceptance.unused import UNUSED_COMMENT, UNUSED_ENTRY
from transpile.finding import Finding, Fix, Level
from transpile.records import dataclass


@dataclass(frozen=True)
class Sorted:
    """The findings of one script.

    Args:
        told: those that count.
        accepted: those that a comment, the baseline or the choice of codes accepts.
    """

    told: tuple[Finding, ...]
    accepted: tuple[Finding, ...] = ()


@dataclass(frozen=True)
class Acceptance:
    """What a project accepts.

    Args:
        read: gives the content of a file by the path of its findings.
        place: the path of a file as the baseline has it.
        select: codes of the findings that count; empty for all.
        ignore: codes of those that do not.
        baseline: what is known already.
    """

    read: Callable[[str], bytes]
    place: Callable[[str], str]
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    baseline: Baseline | None = None

    def sort(
        self, path: str, findings: Iterable[Finding], *, errors: bool, complete: Iterable[str]
    ) -> Sorted:
        """Sort the findings of a script and of the modules of its project.

        Args:
            path: the script.
            findings: all of them.
            errors: errors can be accepted, too, because nothing is written.
            complete: the beginnings of the codes that were looked for in full, so that a comment
                about one of them that matches nothing is of no use.
        """
        found = tuple(findings)
        paths = dict.fromkeys([path, *(finding.path for finding in found)])
        contents = {each: self.read(each) for each in paths}
        comments = {each: comments_in(data) for each, data in contents.items()}
        told: list[Finding] = []
        accepted: list[Finding] = []
        used: set[tuple[str, Comment]] = set()
        for finding in found:
            by = _accepting(comments[finding.path], finding)
            used |= {(finding.path, comment) for comment in by}
            unwanted = not counts(finding, self.select, self.ignore)
            known = not by and self._is_known(finding, contents[finding.path])
            stays = finding.level is Level.ERROR and not errors
            (accepted if (by or unwanted or known) and not stays else told).append(finding)
        looked_for = tuple(complete)
        useless: list[Finding] = []
        for comment in comments[path]:
            problem = _problem(comment, (path, comment) in used, looked_for)
            if problem:
                useless.append(_about(path, comment, problem))
        if looked_for and self.baseline is not None:
            useless.extend(self._unused(path, looked_for))
        told += (one for one in useless if counts(one, (), self.ignore))
        return Sorted(tuple(sorted(told, key=lambda one: one.sort_key)), tuple(accepted))

    def known(self, finding: Finding) -> Known:
        """A finding as the baseline has it."""
        return Known(
            self.place(finding.path), finding.code, _line(self.read(finding.path), finding.line)
        )

    def _is_known(self, finding: Finding, data: bytes) -> bool:
        if self.baseline is None or not belongs(finding):
            return False
        text = _line(data, finding.line)
        return self.baseline.take(Known(self.place(finding.path), finding.code, text))

    def _unused(self, path: str, looked_for: tuple[str, ...]) -> Iterable[Finding]:
        assert self.baseline is not None
        for known in self.baseline.left(self.place(path)):
            if named(known.code, looked_for):
                yield Finding(
                    UNUSED_ENTRY,
                    Level.WARNING,
                    path,
                    0,
                    0,
                    f"the baseline has {known.code} here, which is no longer found: {known.text}",
                    "write the baseline anew with --write-baseline",
                )


def _accepting(comments: Iterable[Comment], finding: Finding) -> list[Comment]:
    return [
        comment
        for comment in comments
        if comment.covers(finding.line) and named(finding.code, comment.codes)
    ]


def _problem(comment: Comment, is_used: bool, looked_for: tuple[str, ...]) -> str:
    if comment.problem:
        return f"this comment accepts nothing: {comment.problem}"
    if is_used or not comment.codes:
        return ""
    if all(named(code, looked_for) for code in comment.codes):
        return f"there is no {' or '.join(comment.codes)} here that this comment could accept"
    return ""


def _about(path: str, comment: Comment, problem: str) -> Finding:
    advice = "" if comment.problem else "take the comment away"
    fix = None if comment.problem else _taken_away(comment)
    return Finding(
        UNUSED_COMMENT, Level.WARNING, path, comment.line, comment.column, problem, advice, fix
    )


def _taken_away(comment: Comment) -> Fix:
    what = "Take the comment away."
    if comment.alone:
        return Fix(what, comment.line, 1, comment.line + 1, 1, "")
    return Fix(what, comment.line, comment.begin, comment.line, comment.end, "")


def _line(data: bytes, number: int) -> str:
    """The text of a line; empty for the whole file."""
    lines = data.splitlines()
    if not 0 < number <= len(lines):
        return ""
    return lines[number - 1].decode("utf-8", "backslashreplace").strip()
