"""Runs a Fluid script as one process, or as parameter servers and trainers of this machine."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from dataclasses import dataclass, replace
from pathlib import Path

from ports import free_ports

RECORD = Path(__file__).with_name("fluid_record.py")
#: Seconds that the trainers of a run may take; servers leave within the second time once they are
#: told to.
PATIENCE = 150
LEAVING = 10
#: The status of a process that took too long.
TOOK_TOO_LONG = -9


@dataclass(frozen=True)
class Ended:
    """How a process ended.

    Args:
        status: its exit status.
        output: what it printed.
        errors: what it printed to standard error.
        folder: where it ran.
        parameters: the file with the parameters that it ended with.
    """

    status: int
    output: str
    errors: str
    folder: Path
    parameters: Path


def environment(**extra: str) -> dict[str, str]:
    """The environment without what launchers leave in it."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(
            ("PADDLE_", "TRAINING_", "POD_", "FLAGS_", "PYTHON", "OMPI_", "PMI_")
        )
        and name.lower() not in ("http_proxy", "https_proxy")
    }
    return {**kept, "OMP_NUM_THREADS": "1", "CPU_NUM": "1", **extra}


class Cluster:
    """Runs the scripts of a folder.

    Args:
        python: the interpreter that has Fluid.
        source: the folder of the script.
        work: where to run; every process gets a folder of its own.
    """

    def __init__(self, python: Path, source: Path, work: Path) -> None:
        self.python = python
        self.source = source
        self.work = work

    def start(
        self, name: str, script: str, arguments: tuple[str, ...], extra: dict[str, str]
    ) -> subprocess.Popen[bytes]:
        """Start a process in a folder of its own."""
        folder = self.work / name
        shutil.copytree(self.source, folder)
        with (folder / "output").open("wb") as output, (folder / "errors").open("wb") as errors:
            return subprocess.Popen(
                [self.python, RECORD, folder / "parameters.npz", folder / script, *arguments],
                cwd=folder,
                env=environment(**extra),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=errors,
            )

    def ended(
        self, name: str, process: subprocess.Popen[bytes], patience: float | None = None
    ) -> Ended:
        """Wait some seconds for a process; one that takes longer is ended."""
        try:
            status = process.wait(PATIENCE if patience is None else patience)
        except subprocess.TimeoutExpired:
            process.kill()
            status = process.wait()
        folder = self.work / name
        return Ended(
            status,
            (folder / "output").read_text("utf-8", "replace"),
            (folder / "errors").read_text("utf-8", "replace"),
            folder,
            folder / "parameters.npz",
        )

    def alone(self, script: str, arguments: tuple[str, ...] = ()) -> Ended:
        """Run a script as one process without a launcher."""
        name = f"alone-{script}"
        return self.ended(name, self.start(name, script, arguments, {}))

    def together(
        self, script: str, arguments: tuple[str, ...] = (), servers: int = 1, trainers: int = 2
    ) -> list[Ended]:
        """Run a script as servers and trainers; servers are ended once the trainers are done.

        What servers told of stands behind the errors of trainers that took too long.
        """
        endpoints = [f"127.0.0.1:{port}" for port in free_ports(servers)]
        common = {
            "PADDLE_PSERVERS_IP_PORT_LIST": ",".join(endpoints),
            "PADDLE_TRAINERS_NUM": str(trainers),
        }
        serving = []
        for number, endpoint in enumerate(endpoints):
            address, _, port = endpoint.partition(":")
            role = {"TRAINING_ROLE": "PSERVER", "POD_IP": address, "PADDLE_PORT": port}
            serving.append(self.start(f"server{number}", script, arguments, {**common, **role}))
        try:
            started = []
            for number in range(trainers):
                role = {"TRAINING_ROLE": "TRAINER", "PADDLE_TRAINER_ID": str(number)}
                name = f"trainer{number}"
                started.append((name, self.start(name, script, arguments, {**common, **role})))
            limit = time.monotonic() + PATIENCE
            ended = [
                self.ended(name, process, max(1, limit - time.monotonic()))
                for name, process in started
            ]
        finally:
            end(serving)
        told = "".join(
            f"\n{folder.name}: {(folder / 'errors').read_text('utf-8', 'replace')[-3000:]}"
            for folder in sorted(self.work.glob("server*"))
        )
        return [
            replace(each, errors=each.errors + told) if each.status == TOOK_TOO_LONG else each
            for each in ended
        ]


def end(processes: list[subprocess.Popen[bytes]]) -> None:
    """End servers, which never do so by themselves; an asynchronous one may not listen."""
    for process in processes:
        process.terminate()
    for process in processes:
        try:
            process.wait(LEAVING)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
