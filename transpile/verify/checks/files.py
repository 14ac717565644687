"""Whether files are written once per job."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from transpile.verify.checks.text import mask_numbers
from transpile.verify.evidence import RunEvidence, Touch
from transpile.verify.expectation import Expectation
from transpile.verify.report import Check, failed, not_applicable, passed


def files_written_once(original: RunEvidence, run: RunEvidence, _: Expectation) -> Check:
    """No file is written, renamed or removed by more than one rank."""
    return _once("files written once", run, Touch.FILE)


def directories_made_once(original: RunEvidence, run: RunEvidence, _: Expectation) -> Check:
    """No directory is made by more than one rank."""
    return _once("directories made once", run, Touch.DIRECTORY)


def same_files(original: RunEvidence, run: RunEvidence) -> Check:
    """The files that the run leaves are those that the original leaves.

    Numbers in names are left aside where they differ: they often tell a time or a process.
    """
    name = "same files as the original"
    if not original.files and not run.files:
        return not_applicable(name, "the original leaves no file")
    missing, extra = original.files - run.files, run.files - original.files
    if not missing and not extra:
        return passed(name, f"{len(run.files)}")
    masked_missing, masked_extra = _masked(missing), _masked(extra)
    if masked_missing == masked_extra:
        return passed(name, f"{len(run.files)}, {len(extra)} of them with other numbers in names")
    problems = [f"missing: {_listed(missing)}"] if missing else []
    problems += [f"not in the original: {_listed(extra)}"] if extra else []
    return failed(name, "\n".join(problems))


def _once(name: str, run: RunEvidence, touch: Touch) -> Check:
    ranks: dict[str, set[int]] = {}
    for rank in run.ranks:
        for write in rank.writes:
            if write.touch is touch:
                ranks.setdefault(write.path, set()).add(rank.rank)
    if not ranks:
        return not_applicable(name, "none")
    problems = [
        f"{path}: by ranks {', '.join(map(str, sorted(writers)))}"
        for path, writers in sorted(ranks.items())
        if len(writers) > 1
    ]
    return failed(name, "\n".join(problems)) if problems else passed(name, f"{len(ranks)}")


def _masked(names: Iterable[str]) -> Counter[str]:
    return Counter(mask_numbers(name) for name in names)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))
