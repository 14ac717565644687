"""A cluster of Slurm on this machine: two nodes that are both here."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

from ports import free_ports

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "scontrol", "srun", "sinfo")
_LONGEST_JOB = 240  # seconds
_SEARCHED = f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin"
_CONFIGURATION = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CryptoType=crypto/munge
SlurmUser={user}
SlurmdUser={user}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SchedulerType=sched/backfill
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
MpiDefault=none
SlurmdParameters=config_overrides
NodeName=n0 NodeHostname={host} NodeAddr=127.0.0.1 Port={first} CPUs=8 RealMemory=4000
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={second} CPUs=8 RealMemory=4000
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


class NoSlurm(Exception):
    """Slurm is not installed here, or does not start; the message says which and why."""


class SlurmCluster:
    """Slurm with two nodes, started from a folder of its own.

    Raises:
        NoSlurm: it cannot be started.
    """

    def __init__(self, folder: Path) -> None:
        missing = [name for name in PROGRAMS if shutil.which(name, path=_SEARCHED) is None]
        if missing:
            raise NoSlurm(f"Slurm is not installed: no {', '.join(missing)}")
        if os.geteuid() != 0:
            raise NoSlurm("Slurm's controller and nodes are started by root alone")
        self.folder = folder
        self._processes: list[subprocess.Popen[bytes]] = []
        self.environment = {
            **os.environ,
            "PATH": _SEARCHED,
            "SLURM_CONF": str(folder / "slurm.conf"),
        }
        self._configure()
        try:
            self._start()
        except BaseException:
            self.stop()
            raise

    def _configure(self) -> None:
        controller, first, second = free_ports(3)
        host = socket.gethostname().split(".")[0]
        for name in ("state", "spool-n0", "spool-n1"):
            (self.folder / name).mkdir(parents=True)
        self.folder.chmod(0o755)
        text = _CONFIGURATION.format(
            host=host,
            folder=self.folder,
            user="root",
            controller=controller,
            first=first,
            second=second,
        )
        (self.folder / "slurm.conf").write_text(text)
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)

    def _start(self) -> None:
        self._run(
            "munged",
            *("--foreground", "--force", "--num-threads=2"),
            *(f"--socket={self.folder}/munge.socket", f"--key-file={self.folder}/munge.key"),
            *(f"--pid-file={self.folder}/munged.pid", f"--log-file={self.folder}/munged.log"),
            f"--seed-file={self.folder}/munge.seed",
        )
        self._wait("munged", lambda: (self.folder / "munge.socket").exists())
        self._run("slurmctld", "-D")
        for name in ("n0", "n1"):
            self._run("slurmd", "-D", "-N", name)
        self._wait("the nodes", self._is_idle)

    def _run(self, *words: str) -> None:
        with open(self.folder / f"{words[0]}.out", "ab") as stream:
            process = subprocess.Popen(
                words,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=stream,
                start_new_session=True,
            )
        self._processes.append(process)

    def _is_idle(self) -> bool:
        done = self.run("sinfo", "--noheader", "--format=%T %D")
        return done.stdout.split() == ["idle", "2"]

    def _wait(self, what: str, is_ready: object, seconds: float = 40) -> None:
        end = time.monotonic() + seconds
        while not is_ready():  # type: ignore[operator]
            if time.monotonic() > end or any(each.poll() is not None for each in self._processes):
                logs = "".join(
                    f"\n{path.name}: {path.read_text(errors='replace')[-800:]}"
                    for path in sorted(self.folder.iterdir())
                    if path.suffix in (".log", ".out") and path.stat().st_size
                )
                raise NoSlurm(f"Slurm does not start here: {what} did not come up{logs}")
            time.sleep(0.2)

    def run(
        self, *words: str, folder: Path | None = None, **extra: str
    ) -> subprocess.CompletedProcess[str]:
        """Run a command of Slurm."""
        return subprocess.run(
            words,
            env={**self.environment, **extra},
            cwd=folder,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=240,
        )

    def run_job(self, *words: str, **extra: str) -> str:
        """Submit a job, wait for its end and return its state, such as ``COMPLETED``.

        ``sbatch --wait`` looks for the end less and less often, up to half a minute apart.
        """
        done = self.run("sbatch", "--parsable", *words, folder=None, **extra)
        assert done.returncode == 0, done.stderr
        number = done.stdout.strip()
        end = time.monotonic() + _LONGEST_JOB
        while time.monotonic() < end:
            shown = self.run("scontrol", "show", "job", number)
            state: str = (re.findall(r"JobState=(\w+)", shown.stdout) or ["UNKNOWN"])[0]
            if state not in ("PENDING", "CONFIGURING", "RUNNING", "COMPLETING"):
                return state
            time.sleep(0.5)
        raise TimeoutError(f"job {number} is {state} after {_LONGEST_JOB} seconds")

    def stop(self) -> None:
        """End what was started, and what that started."""
        for process in reversed(self._processes):
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for process in self._processes:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
