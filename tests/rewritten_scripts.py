"""Rewrites scripts without a change of meaning, and tells where the tool says something else.

    python tests/rewritten_scripts.py [FIXTURE ...] [--rewrite NAME ...] [--jobs J] [--keep FOLDER]

Every converted or refused fixture is rewritten in every way of `rewrites`; what comes of it and the
codes of its findings must be those of the original; where code was taken into functions of its
own, what comes of it. The status is the number of differences.
"""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from cases import Case, cases
from rewrites import REWRITES

from transpile import Options, Result, convert


@dataclass(frozen=True)
class Difference:
    """A rewrite that changed what the tool says."""

    case: str
    rewrite: str
    before: tuple[str, ...]
    after: tuple[str, ...]
    source: str

    def __str__(self) -> str:
        gone = [one for one in self.before if one not in self.after]
        new = [one for one in self.after if one not in self.before]
        return f"{self.case} {self.rewrite}: -{' '.join(gone)} +{' '.join(new)}"


#: Rewrites after which less may be known: what one function does is asked of several then.
APART = frozenset({"functions"})
#: What is refused once it stands in a function of its own.
REFUSED_APART = {
    "paddle/static_loader": "what a run fetches is averaged beside the graph",
    "pytorch/language_model_windows": "the function cuts batches for training and evaluation",
}


def said(result: Result, apart: bool) -> tuple[str, ...]:
    """What comes of a script and, unless its code was taken apart, the codes of its findings."""
    codes = () if apart else sorted({finding.code for finding in result.findings})
    return (result.outcome.value, *codes)


def differences(case: Case, rewrites: tuple[str, ...]) -> tuple[int, list[Difference]]:
    """How many rewrites changed the text of a fixture, and those that changed what is said."""
    source = case.script.read_text("utf-8-sig")
    original = _converted(case, source)
    tried, found = 0, []
    for name in rewrites:
        changed = REWRITES[name](source)
        if changed == source:
            continue
        compile(changed, case.name, "exec")
        tried += 1
        apart = name in APART
        before, after = said(original, apart), said(_converted(case, changed), apart)
        if apart and case.name in REFUSED_APART and after == ("refused",):
            continue
        if after != before:
            found.append(Difference(case.name, name, before, after, changed))
    return tried, found


def _converted(case: Case, source: str) -> Result:
    return convert(
        source.encode(),
        Options(**dict(case.options)),  # type: ignore[arg-type]
        path="train.py",
        folder=case.script.parent,
    )


def main(arguments: list[str]) -> int:
    """Compare all fixtures or those that are named; return the number of differences."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("fixture", nargs="*")
    parser.add_argument("--rewrite", nargs="*", default=list(REWRITES), choices=list(REWRITES))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args(arguments)
    chosen = [one for one in cases() if not options.fixture or one.folder.name in options.fixture]
    tried, found = 0, []
    with ProcessPoolExecutor(options.jobs) as pool:
        for count, some in pool.map(
            differences, chosen, [tuple(options.rewrite)] * len(chosen), chunksize=2
        ):
            tried += count
            found += some
            for one in some:
                print(one, flush=True)
                if options.keep:
                    options.keep.mkdir(parents=True, exist_ok=True)
                    name = f"{one.case.replace('/', '_')}_{one.rewrite}.py"
                    (options.keep / name).write_text(one.source, "utf-8")
    print(f"{len(chosen)} scripts, {tried} rewrites: {len(found)} differ")
    return len(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
