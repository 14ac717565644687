"""Running the processes of a manifest's pods on this machine."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from clusters import Pod
from ports import free_port

HERE = "127.0.0.1"
_LOG_FOLDER = "/tmp/paddle-log"
_PORTS = ("29500", "23456", "9091", "36543", "6170", "2222", "6768")


@dataclass(frozen=True)
class Ended:
    """What became of a pod: its exit status (None where it was stopped) and its log."""

    pod: Pod
    status: int | None
    log: str


def on_loopback(pods: Sequence[Pod]) -> list[Pod]:
    """The pods with addresses of this machine for their names, and with free ports."""
    places = {pod.name: {port: str(free_port()) for port in _PORTS} for pod in pods}
    first = next(iter(places.values()))
    names = "|".join(re.escape(name) for name in sorted(places, key=len, reverse=True))
    with_port = re.compile(rf"({names}):(\d+)")

    def here(text: str) -> str:
        text = with_port.sub(lambda match: f"{HERE}:{places[match[1]][match[2]]}", text)
        text = re.sub(names, HERE, text)
        return re.sub(rf"(?<![\d.:])({'|'.join(_PORTS)})$", lambda match: first[match[1]], text)

    return [
        replace(
            pod,
            words=[here(word) for word in pod.words],
            environment={
                name: places[pod.name][value] if name == "PADDLE_PORT" else here(value)
                for name, value in pod.environment.items()
            },
        )
        for pod in pods
    ]


def run(
    pods: Sequence[Pod],
    folder: Path,
    files: Mapping[str, str],
    programs: Path,
    *,
    ends: str = "",
    seconds: float = 200,
) -> list[Ended]:
    """Run the processes of pods, each in a folder of its own, until all have ended.

    Args:
        pods: what to run.
        folder: where.
        files: what is in the folder of each pod: what the image and the volumes hold.
        programs: the folder with the ``python`` of the image.
        ends: the role whose end is the end of the job, for all others are stopped then.
        seconds: how long that may take.
    """
    with ExitStack() as stack:
        running = []
        for number, pod in enumerate(pods):
            home = folder / f"{number}-{pod.role}-{pod.index}"
            home.mkdir(parents=True)
            for name, text in files.items():
                (home / name).write_text(text, "utf-8")
            log = stack.enter_context(open(home / "log", "wb"))
            process = subprocess.Popen(
                [word.replace(_LOG_FOLDER, str(home)) for word in pod.words],
                cwd=home,
                env={
                    "PATH": f"{programs}{os.pathsep}/usr/bin:/bin",
                    "HOME": str(home),
                    "HOSTNAME": pod.name.split(".")[0],
                    "OMP_NUM_THREADS": "1",
                    **pod.environment,
                },
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            stack.callback(_stop, process)
            running.append((pod, process, home / "log"))
        waited = [process for pod, process, _ in running if ends in ("", pod.role)]
        deadline = time.monotonic() + seconds
        while any(process.poll() is None for process in waited) and time.monotonic() < deadline:
            if any(process.poll() for _, process, _ in running):
                time.sleep(5)  # for the others to say why
                break
            time.sleep(0.2)
        ended = [(pod, process.poll(), log) for pod, process, log in running]
    return [Ended(pod, status, log.read_text("utf-8", "replace")) for pod, status, log in ended]


def all_logs(ended: Sequence[Ended]) -> str:
    """What all pods wrote, for a reader of a failed test."""
    return "\n".join(f"== {each.pod.name}: {each.status}\n{each.log}" for each in ended)


def _stop(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
