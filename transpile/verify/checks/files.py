"""Whether files are written once per job."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable

from transpile.verify.checks.text import mask_numbers
from transpile.verify.evidence import RunEvidence, Touch
from transpile.verify.expectation import Expectation
from transpile.verify.report import Check, failed, not_applicable, passed

SAME_FILES = "same files as the original"
_SHOWN = 3
_BETWEEN_WORDS = re.compile(r"([^A-Za-z0-9]+)")
#: A name by its words and what stands between them; None for a word that chance chooses.
_Pattern = tuple[str | None, ...]


def files_written_once(original: RunEvidence, run: RunEvidence, _: Expectation) -> Check:
    """No file is written, renamed or removed by more than one rank."""
    return _once("files written once", original, run, Touch.FILE)


def directories_made_once(original: RunEvidence, run: RunEvidence, _: Expectation) -> Check:
    """No directory is made by more than one rank."""
    return _once("directories made once", original, run, Touch.DIRECTORY)


def same_files(original: RunEvidence, run: RunEvidence, expectation: Expectation) -> Check:
    """The files that the run leaves are those that the original leaves.

    Numbers in names are left aside where they differ: they often tell a time or a process. How
    many names differ by numbers alone may be chance ("best-0.93.pt"), except in a deterministic
    script; one such file from every rank is the business of :func:`files_written_once`.
    """
    name = SAME_FILES
    if not original.files and not run.files:
        return not_applicable(name, "the original leaves no file")
    missing, extra = original.files - run.files, run.files - original.files
    if not missing and not extra:
        return passed(name, _many(run.files))
    masked_missing, masked_extra = _masked(missing), _masked(extra)
    alike = masked_missing == masked_extra
    if not expectation.deterministic:
        alike = alike or set(_masked(original.files)) == set(_masked(run.files))
    if alike:
        return passed(name, f"{_many(run.files)}, {len(extra)} of them with other numbers in names")
    problems = [f"missing: {_listed(missing)}"] if missing else []
    problems += [f"not in the original: {_listed(extra)}"] if extra else []
    return failed(name, "\n".join(problems))


def names_of_chance(original: RunEvidence, again: RunEvidence, run: RunEvidence) -> Check | None:
    """The judgement on files whose names chance chooses, by a second run of the original.

    Returns:
        None where the files differ in more than what the two runs of the original name differently.
    """
    patterns = _patterns(original.files - again.files, again.files - original.files)
    missing, extra = original.files - run.files, run.files - original.files
    if not missing <= patterns.keys():
        return None
    left = Counter(patterns[name] for name in missing)
    for name in extra:
        words = tuple(_BETWEEN_WORDS.split(name))
        fitting = [pattern for pattern in left if left[pattern] and _fits(words, pattern)]
        if not fitting:
            return None
        left[max(fitting, key=_known_words)] -= 1
    if left.total():
        return None
    return passed(
        SAME_FILES, f"{_many(run.files)}, {len(extra)} of them with names that chance chooses"
    )


def _patterns(missing: Iterable[str], extra: Iterable[str]) -> dict[str, _Pattern]:
    """What files of one run have in common with those of another run, each with the nearest."""
    others = [tuple(_BETWEEN_WORDS.split(name)) for name in sorted(extra)]
    patterns: dict[str, _Pattern] = {}
    for name in sorted(missing):
        words = tuple(_BETWEEN_WORDS.split(name))
        common = [
            (tuple(a if a == b else None for a, b in zip(words, other, strict=True)), other)
            for other in others
            # What stands between words is never chosen.
            if len(other) == len(words) and other[1::2] == words[1::2]
        ]
        if common:
            patterns[name], nearest = max(common, key=lambda pair: _known_words(pair[0]))
            others.remove(nearest)
    return patterns


def _known_words(pattern: _Pattern) -> int:
    return sum(word is not None for word in pattern)


def _fits(words: tuple[str, ...], pattern: _Pattern) -> bool:
    return len(words) == len(pattern) and all(
        expected in (None, word) for word, expected in zip(words, pattern, strict=True)
    )


def _once(name: str, original: RunEvidence, run: RunEvidence, touch: Touch) -> Check:
    writers = _writers(run, touch)
    if not writers:
        return not_applicable(name, "none")
    problems = [
        f"{path}: by {_ranks(ranks)}" for path, ranks in sorted(writers.items()) if len(ranks) > 1
    ]
    # Names with a time or a process number in them: one from every rank instead of one.
    expected, found = _masked(_writers(original, touch)), _masked(writers)
    for pattern in sorted(found):
        paths = [path for path in writers if mask_numbers(path) == pattern]
        ranks = set().union(*(writers[path] for path in paths))
        if found[pattern] > expected[pattern] > 0 and len(ranks) > 1 and not problems:
            problems.append(f"{_listed(paths)}: by {_ranks(ranks)}")
    return failed(name, "\n".join(problems)) if problems else passed(name, _many(writers))


def _writers(run: RunEvidence, touch: Touch) -> dict[str, set[int]]:
    writers: dict[str, set[int]] = {}
    for rank in run.ranks:
        for write in rank.writes:
            if write.touch is touch:
                writers.setdefault(write.path, set()).add(rank.rank)
    return writers


def _ranks(ranks: set[int]) -> str:
    return f"ranks {', '.join(map(str, sorted(ranks)))}"


def _many(paths: Collection[str]) -> str:
    return _listed(paths) if len(paths) <= _SHOWN else f"{len(paths)}"


def _masked(names: Iterable[str]) -> Counter[str]:
    return Counter(mask_numbers(name) for name in names)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))
