"""The shell script that each machine runs, for targets that start machines and know no framework.

It is the one that its framework's own target would write: the address of every machine is known
only when the job runs, and reaches the script through its environment.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping
from dataclasses import replace

from transpile.launch.job import Job
from transpile.launch.scripts import paddle_launch, tf_multi_worker, torchrun

FRAMEWORKS = ("fluid", "paddle", "pytorch", "tensorflow")

_TARGETS: Mapping[str, Callable[[Job], dict[str, str]]] = {
    "pytorch": torchrun.files,
    "paddle": paddle_launch.files,
    "fluid": paddle_launch.files,
    "tensorflow": tf_multi_worker.files,
}


def counted(job: Job, platform: str) -> Job:
    """Return `job` with a number of processes, which a platform is asked for before it starts.

    Args:
        job: what is started.
        platform: what the machines are asked of.

    Raises:
        ValueError: the job has no form there.
    """
    if job.is_elastic:
        raise ValueError(f"{platform} is asked for a fixed number of nodes: leave out --min-nodes")
    if job.has_servers:
        raise ValueError(f"{platform} starts machines that are alike here, and no servers")
    if posixpath.normpath(job.script).startswith("../"):
        raise ValueError(
            f"{platform} takes the folder of the launch files to its machines, and the script is "
            "outside of it"
        )
    if job.processes_without_gpus is None and job.gpus_per_node is None:
        return replace(job, processes_without_gpus=1)
    return job


def node_script(job: Job) -> str:
    """Return the shell script of one machine.

    Where there are several, it reads ``NODE_RANK``, ``MASTER_ADDR`` and ``MASTER_PORT``, ``MASTER``
    (address and port), ``NODES`` and ``NODE`` from its environment, whichever its framework needs.

    Raises:
        ValueError: the job has no form here.
    """
    (text,) = _TARGETS[job.framework](job).values()
    return text


def processes(job: Job) -> int:
    """How many processes train on each machine, with TensorFlow one for each GPU, too."""
    return job.processes_without_gpus or job.gpus_per_node or 1
