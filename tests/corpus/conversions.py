"""Converts scripts on all cores, and looks at each output."""

from __future__ import annotations

import ast
import signal
import tempfile
import time
import traceback
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from types import FrameType

import libcst

from transpile import Options, Outcome, Result, convert
from transpile.finding import Level
from transpile.text.source import SourceError

from .record import Conversion
from .scripts import Script


class OutOfTime(BaseException):
    """A conversion took longer than it may; no ``except Exception`` holds it."""


def convert_all(scripts: Iterable[Script], *, jobs: int, limit: int) -> Iterator[Conversion]:
    """Convert every script with `jobs` processes, at most `limit` processor seconds each."""
    with ProcessPoolExecutor(jobs) as pool:
        yield from pool.map(partial(convert_one, limit=limit), scripts)


def convert_one(script: Script, *, limit: int) -> Conversion:
    """Convert one script and check its output; nothing that goes wrong is raised."""
    started = time.process_time()
    previous = signal.signal(signal.SIGPROF, out_of_time)
    signal.setitimer(signal.ITIMER_PROF, limit)
    try:
        data = script.file.read_bytes()
        result = converted(script, data)
        seconds = time.process_time() - started
        return Conversion(
            script.repository,
            script.path,
            result.outcome.value,
            round(seconds, 2),
            findings_of(script, result),
            tuple(sorted({f.code for f in result.findings if f.level is Level.ERROR})),
            result.text if result.outcome is Outcome.CONVERTED else "",
            tuple(problems(script, data, result)),
        )
    except (SourceError, OSError) as error:
        return failed(script, "source error", started, findings=(str(error),))
    except OutOfTime:
        return failed(script, "too slow", started)
    except Exception as error:
        return failed(script, "crash", started, problems=(crash_text(error),))
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, previous)


def converted(script: Script, data: bytes, options: Options | None = None) -> Result:
    """What the tool makes of the text, as if it stood where the script is."""
    return convert(data, options, path=script.path, folder=script.file.parent)


def out_of_time(signal_number: int, frame: FrameType | None) -> None:
    """End the conversion that runs."""
    raise OutOfTime


def failed(
    script: Script,
    outcome: str,
    started: float,
    *,
    findings: tuple[str, ...] = (),
    problems: tuple[str, ...] = (),
) -> Conversion:
    """The record of a script that gave no result."""
    seconds = round(time.process_time() - started, 2)
    return Conversion(script.repository, script.path, outcome, seconds, findings, problems=problems)


def findings_of(script: Script, result: Result) -> tuple[str, ...]:
    """The findings, one a line, with paths as the repository has them."""
    lines = (
        f"{finding.path}:{finding.line}: {finding.level.label} {finding.code} {finding.message}"
        for finding in result.findings
    )
    return tuple(line.replace(f"{script.root}/", "") for line in lines)


def problems(script: Script, data: bytes, result: Result) -> Iterator[str]:
    """What is wrong with an output, whatever it does when it runs."""
    if result.outcome is not Outcome.CONVERTED:
        if result.data != data or result.changed_modules:
            yield "the bytes differ though it was not converted"
        return
    texts = [(result.data, data)]
    texts += [(module.data, module.before or b"") for module in result.changed_modules]
    if not all(parses(after, like=before) for after, before in texts):
        yield "the output is not Python"
        return
    if not result.changed_modules:
        yield from unstable(script, result)
        return
    with tempfile.TemporaryDirectory() as folder:
        yield from unstable(Script(Path(folder), write_project(result, Path(folder))), result)


def write_project(result: Result, folder: Path) -> str:
    """Write the output and its modules below a folder; return where the script stands there.

    The folder can be installed, as the repository may be.
    """
    (folder / "setup.py").touch()
    files = {module.place: module.data for module in result.modules}
    for place, data in {**files, result.place: result.data}.items():
        target = folder / place
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    return result.place


def unstable(script: Script, result: Result) -> Iterator[str]:
    """What a second conversion would do to an output."""
    again = converted(script, result.data)
    if again.data != result.data or again.outcome is not Outcome.UNCHANGED:
        yield f"a second conversion: {again.outcome.value}"
    ungated = converted(script, result.data, Options(respect_distributed=False))
    changed = ungated.data != result.data or bool(ungated.changed_modules)
    if changed or ungated.outcome is Outcome.REFUSED:
        codes = sorted({f.code for f in ungated.findings if f.level is Level.ERROR})
        what = "refused by " + " ".join(codes) if codes else "changes it"
        yield f"a second conversion that does not ask whether it is distributed: {what}"


def parses(output: bytes, *, like: bytes) -> bool:
    """Whether the output is Python of the version that the input is."""
    try:
        ast.parse(output)
    except (SyntaxError, ValueError):
        pass
    else:
        return True
    try:
        ast.parse(like)
    except (SyntaxError, ValueError):
        try:
            libcst.parse_module(output)
        except libcst.ParserSyntaxError:
            return False
        return True
    return False


def crash_text(error: Exception) -> str:
    """The error and the innermost places of the tool, without the machine's folders."""
    frames = traceback.extract_tb(error.__traceback__)[-4:]
    places = " < ".join(
        f"{'/'.join(frame.filename.split('/')[-2:])}:{frame.lineno} {frame.name}"
        for frame in reversed(frames)
    )
    return f"{type(error).__name__}: {error} ({places})"
