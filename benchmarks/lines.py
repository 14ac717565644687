"""How much conversions write: added lines of scripts, with helpers counted apart.

    .venv-test/bin/python benchmarks/lines.py            # every fixture of PyTorch, and the summary
    .venv-test/bin/python benchmarks/lines.py --framework mxnet      # those of another framework
    .venv-test/bin/python benchmarks/lines.py --before REVISION   # beside what was written then

``by_hand/`` holds conversions of fixtures that a person wrote, with the helpers of
``by_hand/distributed_utils.py``; ``verify`` runs them as one and as two processes.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import json
import statistics
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from transpile import Options, convert

ROOT = Path(__file__).resolve().parent.parent
FIXTURES = ROOT / "fixtures"
BY_HAND = Path(__file__).resolve().parent / "by_hand"
HELPERS = "distributed_utils.py"


@dataclass(frozen=True)
class Size:
    """What a conversion adds.

    Args:
        lines: lines of the script and of its own modules.
        helper_lines: those of functions and classes that are new, and of the module of helpers.
        helpers: how many functions and classes are new.
    """

    lines: int
    helper_lines: int
    helpers: int

    def __add__(self, other: Size) -> Size:
        return Size(
            self.lines + other.lines,
            self.helper_lines + other.helper_lines,
            self.helpers + other.helpers,
        )


def size(before: str, after: str) -> Size:
    """What one file gains; functions that are new at the top of it are helpers."""
    before, after = before.removeprefix("\ufeff"), after.removeprefix("\ufeff")
    known = {name for name, _, _ in definitions(before)}
    helpers = [one for one in definitions(after) if one[0] not in known]
    inside = {line for _, first, last in helpers for line in range(first, last + 1)}
    kept = [line for n, line in enumerate(after.splitlines(), 1) if n not in inside]
    # Two blank lines stand around each of them.
    diff = difflib.unified_diff(before.splitlines(), kept, n=0, lineterm="")
    added = [line for line in diff if line.startswith("+") and not line.startswith("+++")]
    lines = sum(bool(line[1:].strip()) for line in added)
    return Size(lines, len(inside) + 2 * len(helpers), len(helpers))


def size_of(name: str, before: str, after: str) -> Size:
    """What one file gains; every line of the module of helpers is a helper's."""
    found = size(before, after)
    if name != HELPERS:
        return found
    new = len(after.splitlines()) - len(before.splitlines())
    return Size(0, new, found.helpers)


def definitions(text: str) -> Iterator[tuple[str, int, int]]:
    """The functions and classes at the top of a file: name, first and last line."""
    for node in ast.parse(text.removeprefix("\ufeff")).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            yield node.name, first, node.end_lineno or node.lineno


def written(case: Path, said: dict[str, object]) -> Size | None:
    """What the tool adds to a fixture; None where it converts nothing."""
    script = case / str(said.get("script", "train.py"))
    options = Options(**{"helpers": "module", **said.get("options", {})})  # type: ignore
    data = script.read_bytes()
    result = convert(data, options, path=script.name, folder=script.parent)
    if result.outcome.value != "converted":
        return None
    found = size(data.decode("utf-8-sig"), result.text.removeprefix("\ufeff"))
    for module in result.changed_modules:
        before = (module.before or b"").decode()
        found += size_of(Path(module.place).name, before, module.data.decode())
    return found


def written_then(case: Path, said: dict[str, object], revision: str) -> Size | None:
    """What the tool added to a fixture at another revision."""
    place = str(said.get("script", "train.py"))
    before = (case / place).read_text()
    for output in (case / "train_dist.py", case / "train_dist" / place):
        text = of_revision(output, revision)
        if text is None:
            continue
        found = size(before, text)
        for name in files_of(case / "train_dist", revision) if output.parent != case else ():
            original = case / Path(name).relative_to((case / "train_dist").relative_to(ROOT))
            if original != case / place:
                own = original.read_text() if original.exists() else ""
                text = of_revision(ROOT / name, revision) or ""
                found += size_of(original.name, own, text)
        return found
    return None


def of_revision(file: Path, revision: str) -> str | None:
    """A file as it was; None where it was not there."""
    name = f"{revision}:{file.relative_to(ROOT).as_posix()}"
    done = subprocess.run(["git", "show", name], cwd=ROOT, capture_output=True, check=False)
    return done.stdout.decode() if done.returncode == 0 else None


def files_of(folder: Path, revision: str) -> list[str]:
    """The Python files of a folder as it was."""
    words = ["git", "ls-tree", "-r", "--name-only", revision, folder.relative_to(ROOT).as_posix()]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True)
    return [name for name in done.stdout.splitlines() if name.endswith(".py")]


def by_hand(case: Path) -> Size | None:
    """What a person added to a fixture; None where nobody did."""
    file = BY_HAND / f"{case.name}.py"
    if not file.exists():
        return None
    return size((case / "train.py").read_text(), file.read_text())


def main(words: list[str]) -> int:
    """Print what is added to each fixture, and how that compares."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--before", metavar="REVISION", help="beside what was written then")
    parser.add_argument("--framework", default="pytorch", help="whose fixtures [pytorch]")
    given = parser.parse_args(words)
    revision = given.before
    now: list[Size] = []
    then: list[Size] = []
    ratios: list[float] = []
    say("fixture", "script", "helpers", "(lines)", "by hand", "ratio", "before: script, helpers")
    for settings in sorted((FIXTURES / given.framework).glob("*/case.json")):
        case, said = settings.parent, json.loads(settings.read_text())
        found = written(case, said)
        if found is None:
            continue
        now.append(found)
        hand = by_hand(case) if given.framework == "pytorch" else None
        if hand is not None:
            ratios.append(found.lines / hand.lines)
        earlier = written_then(case, said, revision) if revision else None
        then += [earlier] if earlier is not None else []
        say(
            case.name,
            found.lines,
            found.helpers,
            found.helper_lines,
            hand.lines if hand is not None else "",
            f"{ratios[-1]:.2f}" if hand is not None else "",
            f"{earlier.lines} {earlier.helpers} ({earlier.helper_lines})" if earlier else "",
        )
    for name, sizes in (("now", now), ("before", then)):
        for field in ("lines", "helpers", "helper_lines") if sizes else ():
            values = [getattr(one, field) for one in sizes]
            mean, median = statistics.mean(values), statistics.median(values)
            print(f"{name}: {field}: mean {mean:.1f}, median {median:g}, most {max(values)}")
    if ratios:
        mean = statistics.mean(ratios)
        print(
            f"script by hand: {len(ratios)} fixtures, ratio mean {mean:.2f}, most {max(ratios):.2f}"
        )
    return 0


def say(*columns: object) -> None:
    """Print one line of the table."""
    print(f"{columns[0]!s:32}" + "".join(f"{column!s:>9}" for column in columns[1:]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
