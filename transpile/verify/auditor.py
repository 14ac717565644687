"""Runs a script and its converted form, and has the runs judged."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Literal

from transpile.verify.evidence import RunEvidence
from transpile.verify.expectation import Expectation
from transpile.verify.judge import (
    CHANCE,
    excuse_chance,
    excuse_names,
    judge_distributed,
    judge_original,
    judge_single,
    may_be_chance,
)
from transpile.verify.launcher import Launcher
from transpile.verify.report import AuditReport, Check, RunReport
from transpile.verify.watching import RunningRun

_PRELOADABLE = ("torchvision",)
_EVIDENCE = "evidence"


class Auditor(AbstractContextManager["Auditor"]):
    """Audits any number of scripts with one start of the framework.

    Args:
        python: interpreter that has the framework; this process's own where None.
        site: folder that comes first on the scripts' import path.
        preload: modules to import once for all runs, where the scripts use them.
        cuda: leave CUDA devices visible to the scripts, and let them compute alike in every run.
        share_gpus: let processes that are more than the GPUs share these, over Gloo in place of
            NCCL, which refuses that.
        pretend_cuda: let the scripts see so many GPUs that are not there; 0 for none.
        noise: whether what these compute differs from process to process in the last digits.

    Raises:
        LaunchError: on entering, where the interpreter or its torch cannot be used.
    """

    def __init__(
        self,
        *,
        python: str | None = None,
        site: Path | None = None,
        preload: Sequence[str] = (),
        cuda: bool = False,
        share_gpus: bool = False,
        pretend_cuda: int = 0,
        noise: bool = False,
    ) -> None:
        self._launcher = Launcher(
            python=python,
            site=site,
            preload=preload,
            cuda=cuda,
            share_gpus=share_gpus,
            pretend_cuda=pretend_cuda,
            noise=noise,
        )

    def __enter__(self) -> Auditor:
        self._launcher.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._launcher.close()

    def audit(
        self,
        original: Path,
        converted: Path,
        *,
        world_sizes: Sequence[int] = (1, 2),
        arguments: Sequence[str] = (),
        converted_arguments: Sequence[str] | None = None,
        timeout_seconds: float = 120.0,
        batch_size: Literal["global", "per-device"] = "global",
        tolerance: float | None = None,
        printed_numbers: bool = False,
        length_may_differ: bool = False,
        steps: int = 0,
        double: bool | None = None,
        workdir_seed: Path | None = None,
        start_folder: str = ".",
        packages: int = 0,
        launched: bool = False,
        tell: Callable[[RunningRun], None] = lambda run: None,
    ) -> AuditReport:
        """Run both scripts and judge the converted one.

        Args:
            original: the script before the conversion.
            converted: the script after it.
            world_sizes: numbers of processes to run the converted script with.
            arguments: command line arguments of both scripts.
            converted_arguments: those of the converted script, where they differ.
            timeout_seconds: when the processes of a run are killed.
            batch_size: what the original's batch size stands for in the converted script; see
                :class:`Expectation` for this and the next three.
            tolerance: largest relative difference of the final parameters; None for no comparison.
            printed_numbers: whether printed numbers are compared, too.
            length_may_differ: whether the script stops by what it has computed.
            steps: after how many optimizer steps every run is ended, for scripts that train long;
                0 for none.
            double: make float64 the default type of new tensors in all runs; where None, as soon
                as there is a tolerance.
            workdir_seed: folder whose content every run finds in its fresh working directory.
            start_folder: where in that content the scripts start.
            packages: how many packages hold each script, where they run as modules of these, as
                by ``python -m``.
            launched: let a world size of 1 be a job of one process, which has a rank and
                communicates, on GPUs over NCCL.
            tell: is told which run begins.

        Raises:
            LaunchError: the process that runs the ranks died.
            ValueError: a world size is below 1, or printed numbers are compared with no tolerance.
            OSError: a script or the seed cannot be read.
        """
        if any(size < 1 for size in world_sizes):
            raise ValueError("a world size is at least 1")
        if steps < 0:
            raise ValueError("a number of steps is not negative")
        for script in (original, converted):
            script.read_bytes()
        expectation = Expectation(batch_size, tolerance, printed_numbers, length_may_differ)
        if double is None:
            double = tolerance is not None
        with tempfile.TemporaryDirectory(prefix="disttranspile-", ignore_cleanup_errors=True) as t:
            scratch = Path(t)

            def run(script: Path, world_size: int, folder: str = "run") -> RunEvidence:
                given = arguments
                if world_size and converted_arguments is not None:
                    given = converted_arguments
                place = scratch / f"{folder}-{world_size}"
                tell(RunningRun(_label(world_size), place / _EVIDENCE))
                return self._run(
                    place,
                    script,
                    given,
                    world_size,
                    timeout_seconds=timeout_seconds,
                    double=double,
                    workdir_seed=workdir_seed,
                    start_folder=start_folder,
                    packages=packages,
                    steps=steps,
                    launched=launched,
                )

            reference = run(original, 0)
            seen = [reference]
            reports = [_report(reference, judge_original(reference))]
            if reports[0].passed:
                for size in world_sizes:
                    evidence = run(converted, size)
                    seen.append(evidence)
                    if size == 1:
                        checks = judge_single(reference, evidence)
                        if any(check.failed for check in checks):
                            # Perhaps chance that no seed governs: then the original differs
                            # from itself, too.
                            second = run(original, 0, "again")
                            checks = excuse_names(checks, reference, second, evidence)
                            checks = excuse_chance(checks, judge_single(reference, second))
                    else:
                        checks = judge_distributed(reference, evidence, expectation)
                        if evidence.finished and may_be_chance(checks):
                            second = run(original, 0, f"again-{size}")
                            checks = excuse_names(checks, reference, second, evidence)
                            again = judge_distributed(reference, second, expectation)
                            checks = excuse_chance(checks, again, CHANCE)
                    reports.append(_report(evidence, checks))
                    shutil.rmtree(scratch / f"run-{size}", ignore_errors=True)
        return AuditReport(tuple(reports), tuple(seen), steps)

    def _run(
        self,
        directory: Path,
        script: Path,
        arguments: Sequence[str],
        world_size: int,
        *,
        timeout_seconds: float,
        double: bool,
        workdir_seed: Path | None,
        start_folder: str,
        packages: int,
        steps: int,
        launched: bool,
    ) -> RunEvidence:
        # One folder further in than the evidence: scripts like to use `../data`.
        job = directory / "job"
        work = job / "work"
        temporary = directory / "tmp"
        for folder in (job, temporary):
            folder.mkdir(parents=True)
        if workdir_seed is None:
            work.mkdir()
        else:
            shutil.copytree(workdir_seed, work)
        start = work / start_folder
        if not start.is_dir():
            raise FileNotFoundError(f"the seed has no folder {start_folder}")
        before = _snapshot(job)
        run = self._launcher.run(
            script,
            arguments,
            world_size=world_size,
            working_directory=start,
            evidence=directory / _EVIDENCE,
            folders={job: "", script.resolve().parent: "beside the script: "},
            timeout_seconds=timeout_seconds,
            double=double,
            steps=steps,
            packages=packages,
            launched=launched,
        )
        after = _snapshot(job)
        changed = (path for path, state in after.items() if before.get(path) != state)
        names = (os.path.relpath(path, start).replace(os.sep, "/") for path in changed)
        return replace(run, files=frozenset(names))


def audit(
    original: Path,
    converted: Path,
    *,
    world_sizes: Sequence[int] = (1, 2),
    arguments: Sequence[str] = (),
    converted_arguments: Sequence[str] | None = None,
    timeout_seconds: float = 120.0,
    batch_size: Literal["global", "per-device"] = "global",
    tolerance: float | None = None,
    printed_numbers: bool = False,
    length_may_differ: bool = False,
    steps: int = 0,
    double: bool | None = None,
    workdir_seed: Path | None = None,
    start_folder: str = ".",
    packages: int = 0,
    launched: bool = False,
    python: str | None = None,
    site: Path | None = None,
    cuda: bool = False,
    share_gpus: bool = False,
    pretend_cuda: int = 0,
    noise: bool = False,
    tell: Callable[[RunningRun], None] = lambda run: None,
) -> AuditReport:
    """Run a script and its converted form once; see :class:`Auditor` and its `audit`.

    Raises:
        LaunchError: the interpreter or its torch cannot be used.
        ValueError: a world size is below 1, or printed numbers are compared with no tolerance.
        OSError: a script or the seed cannot be read.
    """
    with Auditor(
        python=python,
        site=site,
        preload=_preload(original),
        cuda=cuda,
        share_gpus=share_gpus,
        pretend_cuda=pretend_cuda,
        noise=noise,
    ) as auditor:
        return auditor.audit(
            original,
            converted,
            world_sizes=world_sizes,
            arguments=arguments,
            converted_arguments=converted_arguments,
            timeout_seconds=timeout_seconds,
            batch_size=batch_size,
            tolerance=tolerance,
            printed_numbers=printed_numbers,
            length_may_differ=length_may_differ,
            steps=steps,
            double=double,
            workdir_seed=workdir_seed,
            start_folder=start_folder,
            packages=packages,
            launched=launched,
            tell=tell,
        )


def _report(evidence: RunEvidence, checks: tuple[Check, ...]) -> RunReport:
    return RunReport(_label(evidence.world_size), evidence.world_size, checks, evidence.seconds)


def _label(world_size: int) -> str:
    if world_size == 0:
        return "original"
    return f"{world_size} process" + ("es" if world_size > 1 else "")


def _preload(script: Path) -> tuple[str, ...]:
    """Large packages of the script that every rank would otherwise import anew."""
    return tuple(name for name in _PRELOADABLE if name.encode() in script.read_bytes())


def _snapshot(root: Path) -> dict[str, tuple[int, int]]:
    """Size and time of change of every file below a folder."""
    states: dict[str, tuple[int, int]] = {}
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name != "__pycache__"]
        for name in names:
            path = os.path.join(folder, name)
            status = os.lstat(path)
            states[path] = (status.st_size, status.st_mtime_ns)
    return states
