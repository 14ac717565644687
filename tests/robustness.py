"""Convert foreign and broken files, and count what must never happen.

    python tests/robustness.py FOLDER... [--files N] [--broken N] [--seed N]

Every Python file below the folders is converted in this process, as it is, and some of the fixtures
with pieces taken out, doubled or exchanged. What must not happen, each told with its file: an error
of the tool, an output that does not parse, a file without training that changes, an output that a
second conversion changes, and a conversion of more than ten seconds.
"""

from __future__ import annotations

import argparse
import ast
import gc
import random
import signal
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import FrameType

import transpile
from transpile import Outcome
from transpile.text.decoding import SourceError

ROOT = Path(__file__).resolve().parent.parent
LONGEST = 10
PIECES = ("\n", " ", "(", ")", ":", "'", '"', "    ", "\t", "=", "\\\n", "#", "\0", "\f", "\r", "é")


class TooLong(BaseException):
    """A conversion that takes too long; not caught as an error of a script would be."""


def main() -> int:
    """Convert, and tell what went wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--files", type=int, default=10_000, help="at most so many foreign files")
    parser.add_argument("--broken", type=int, default=0, help="so many broken fixtures")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGVTALRM, _stop)
    sys.setrecursionlimit(1000)
    counts: Counter[str] = Counter()
    wrong = 0
    chance = random.Random(arguments.seed)
    inputs = [foreign(arguments.folders, arguments.files, chance)]
    inputs.append(broken(arguments.broken, chance))
    slowest = (0.0, "")
    for each in inputs:
        for name, data in each:
            begun = time.process_time()
            for problem in problems(name, data, counts):
                wrong += 1
                print(f"{name}: {problem}", flush=True)
            slowest = max(slowest, (time.process_time() - begun, name))
            counts["all"] += 1
            if not counts["all"] % 500:
                gc.collect()
                print(dict(counts), f"slowest {slowest[0]:.1f} s {slowest[1]}", flush=True)
    print(dict(counts), f"slowest {slowest[0]:.1f} s {slowest[1]}")
    print(f"{wrong} wrong")
    return 1 if wrong else 0


def _stop(number: int, frame: FrameType | None) -> None:
    raise TooLong


def foreign(folders: list[Path], most: int, chance: random.Random) -> Iterator[tuple[str, bytes]]:
    """Files of other people, in an order of chance."""
    paths = sorted({path for folder in folders for path in folder.rglob("*.py")})
    chance.shuffle(paths)
    for path in paths[:most]:
        if path.is_file():
            yield str(path), path.read_bytes()


def broken(count: int, chance: random.Random) -> Iterator[tuple[str, bytes]]:
    """Fixtures with some pieces changed."""
    fixtures = sorted((ROOT / "fixtures").glob("*/*/train.py"))
    for number in range(count):
        path = chance.choice(fixtures)
        text = path.read_text("utf-8")
        for _ in range(chance.randint(1, 4)):
            text = changed(text, chance)
        yield f"broken {number} of {path.parent.name}", text.encode("utf-8", "replace")


def changed(text: str, chance: random.Random) -> str:
    """A text with one piece changed."""
    lines = text.splitlines(keepends=True) or [""]
    first, second = sorted((chance.randrange(len(lines)), chance.randrange(len(lines))))
    place = chance.randrange(len(text) + 1)
    way = chance.randrange(7)
    if way == 0:
        return "".join(lines[:first] + lines[min(second, first + 5) :])
    if way == 1:
        return "".join(lines[:second] + lines[first:])
    if way == 2:
        lines[first], lines[second] = lines[second], lines[first]
        return "".join(lines)
    if way == 3:
        return text[:place] + chance.choice(PIECES) + text[place:]
    if way == 4:
        return text[:place] + text[place + chance.randint(1, 8) :]
    if way == 5:
        # A name in place of another: still Python, another program.
        words = [
            word for word in text.replace("(", " ").replace(".", " ").split() if word.isidentifier()
        ]
        return (
            text.replace(chance.choice(words), chance.choice(words), chance.randint(1, 3))
            if words
            else text
        )
    return text[:place]


def problems(name: str, data: bytes, counts: Counter[str]) -> Iterable[str]:
    """What went wrong with one input."""
    signal.setitimer(signal.ITIMER_VIRTUAL, LONGEST)
    try:
        result = transpile.convert(data, path=name if Path(name).is_file() else "<string>")
        counts[result.outcome.name] += 1
        if result.outcome is not Outcome.CONVERTED:
            if result.text.encode("utf-8", "replace") != data and result.data != data:
                yield f"{result.outcome.name}, and another text"
            return
        try:
            ast.parse(result.data)
        except (SyntaxError, ValueError) as error:
            yield f"the output does not parse: {error}"
            return
        if any(file.is_changed for file in result.modules):
            # A second run would have to stand in a folder of its own.
            return
        again = transpile.convert(result.data, path="<string>")
        if again.text != result.text:
            yield f"a second run changes it: {[f.code for f in again.findings]}"
    except SourceError:
        counts["unreadable"] += 1
    except TooLong:
        yield f"more than {LONGEST} s"
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        yield f"{type(error).__name__}: {error} ({last.filename}:{last.lineno})"
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


if __name__ == "__main__":
    sys.exit(main())
