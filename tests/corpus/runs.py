"""Runs scripts and what they are converted into, and has the runs judged."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from transpile import Outcome, Result
from transpile.finding import Level
from transpile.text.source import SourceError
from transpile.verify import Auditor, AuditReport, LaunchError

from .commands import Command
from .conversions import converted
from .record import Run
from .scripts import Script

STANDIN = Path(__file__).resolve().parent.parent / "standin"
_PREPARATION_SECONDS = 60


def run_all(
    commands: Iterable[Command],
    roots: Mapping[str, Path],
    *,
    limit: float,
    pretend_cuda: int = 0,
    noise: bool = False,
) -> Iterator[Run]:
    """Run the commands one after the other, each run of a script for at most `limit` seconds.

    Args:
        commands: what to run.
        roots: the folder of each repository.
        limit: seconds after which the processes of a run are killed.
        pretend_cuda: how many GPUs the scripts see that are not there.
        noise: whether these differ from process to process in the last digits.
    """
    with Auditor(site=STANDIN, pretend_cuda=pretend_cuda, noise=noise) as auditor:
        for command in commands:
            if command.repository in roots:
                with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
                    yield run(command, roots[command.repository], Path(scratch), auditor, limit)


def run(command: Command, root: Path, scratch: Path, auditor: Auditor, limit: float) -> Run:
    """Run one command in a copy of its folder."""
    work = scratch / root.name
    try:
        shutil.copytree(root / command.folder, work, symlinks=True)
        prepare(command, work)
        script = Script(work, Path(command.path).relative_to(command.folder).as_posix())
        result = converted(script, script.file.read_bytes())
    except (OSError, ValueError, subprocess.SubprocessError, SourceError) as error:
        return Run(command.name, "not run", (str(error).replace(f"{scratch}/", ""),))
    if result.outcome is not Outcome.CONVERTED:
        errors = {finding.code for finding in result.findings if finding.level is Level.ERROR}
        return Run(command.name, "not converted", (result.outcome.value, *sorted(errors)))
    output = write_output(script, result, scratch / "converted")
    try:
        report = auditor.audit(
            script.file,
            output,
            arguments=command.arguments,
            workdir_seed=work,
            start_folder=Path(command.start).relative_to(command.folder).as_posix(),
            timeout_seconds=limit,
        )
    except (OSError, LaunchError) as error:
        return Run(command.name, "not run", (str(error).replace(f"{scratch}/", ""),))
    return judged(command.name, report)


def write_output(script: Script, result: Result, folder: Path) -> Path:
    """Write the output beside the script, or in a copy of the whole folder with its modules."""
    if not result.changed_modules:
        output = script.file.with_name(f"{script.file.stem}_distributed.py")
        output.write_bytes(result.data)
        return output
    shutil.copytree(script.root, folder, symlinks=True)
    parts = result.place.split("/")
    top = (folder / script.path).parents[len(parts) - 1]
    for module in result.changed_modules:
        (top / module.place).write_bytes(module.data)
    (folder / script.path).write_bytes(result.data)
    return folder / script.path


def prepare(command: Command, work: Path) -> None:
    """Run the command's shell lines where it will start.

    Raises:
        ValueError: they fail.
        OSError: there is no such folder.
        subprocess.SubprocessError: they take too long.
    """
    if not command.prepare:
        return
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    done = subprocess.run(
        ["sh", "-ec", command.prepare],
        cwd=work / Path(command.start).relative_to(command.folder),
        env={**os.environ, "PATH": programs, "STANDIN": str(STANDIN)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_PREPARATION_SECONDS,
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise ValueError(f"the preparation fails: {last}")


def judged(name: str, report: AuditReport) -> Run:
    """The record of an audit."""
    seconds = round(sum(run.seconds for run in report.runs), 1)
    details = tuple(
        f"{run.label}: {check.name}: {check.detail}"
        for run in report.runs
        for check in run.checks
        if check.failed
    )
    if report.passed:
        return Run(name, "passed", (), seconds)
    verdict = "failed" if report.runs[0].passed else "original fails"
    return Run(name, verdict, details, seconds)
