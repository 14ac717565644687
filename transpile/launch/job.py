"""What shall be started, where and with what: all that a launch target may know."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, fields
from typing import Literal

from transpile.launch.manifests.volumes import Volume
from transpile.launch.roles import (
    UNSPECIFIED,
    WITH_MASTER,
    WITH_SCHEDULER,
    Framework,
    Mode,
    Resources,
    Role,
    RoleName,
    listed,
    plural,
    total_of,
)
from transpile.launch.words import check_variable, check_word, dns_label

#: More machines than any cluster gives one job; a launch file names each of them.
MOST_NODES = 20_000
Rendezvous = Literal["static", "c10d"]
TrainerVersion = Literal["2.0", "2.1", "2.2", "2.3"]
PaddleVersion = Literal["1.3", "1.8", "3"]
MpiDialect = Literal["openmpi", "mpich"]
DmlcLauncher = Literal["local", "ssh", "mpi"]

#: Stands where an image must be named and the user has not: it parses, and nobody serves it.
PLACEHOLDER_IMAGE = "registry.example.com/your/image:tag"
_RESTARTS_OF_ELASTIC_JOBS = 3
_GPU_TYPE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True)
class Job:
    """One training job.

    Args:
        script: the converted script, absolute or relative to the folder of the launch files.
        command: the words of the command that makes the launch files.
        framework: what the script trains with.
        mode: whether workers exchange gradients with each other (``collective``) or with servers
            (``pserver``, for Paddle and Fluid); MXNet always has servers.
        name: what the job is called where it needs a name; empty for that of the script.
        script_arguments: the arguments of the script.
        nodes: machines, or pods, that train; of an elastic job, the most. With servers, the
            machines among which the workers are spread.
        min_nodes: the least machines of an elastic job; None where the number is fixed.
        gpus_per_node: GPUs of each machine that are used, with one process each (MXNet and
            TensorFlow: one process for all of them); None for as many as are found when the job
            starts, or one process without GPUs.
        processes_without_gpus: processes of each machine on CPUs alone; None where it has GPUs, or
            they are looked for.
        gpu_type: of those GPUs, as platforms name it, such as ``A100``; empty for any.
        workers: how many workers, where there are servers; None for one on each node.
        servers: how many servers, where there are any; None for as many as workers.
        worker_resources: of each machine, or pod, that trains.
        server_resources: of each server.
        scheduler_resources: of the scheduler.
        max_restarts: how often all processes are restarted after a failure; None leaves it to the
            kind of job: never, or a few times where it is elastic.
        rendezvous: how the machines find each other; None leaves it to the kind of job.
        environment: names and values of variables for every process.
        nccl_socket_interface: network interface for NCCL; empty leaves the choice to NCCL.
        nccl_disable_infiniband: keep NCCL from using InfiniBand.
        shared_memory: bytes of ``/dev/shm`` in a container; None leaves it to the target, which
            never leaves the 64 MiB of container engines.
        image: container image; None for a placeholder that the user must replace.
        work_directory: working directory in a container, where a relative script is found; empty
            for that of the image.
        namespace: of Kubernetes; empty for that of the user's context.
        volumes: what is mounted into containers.
        time_limit: seconds after which the job is ended; None for no limit of its own.
        partition: of Slurm; empty for its default.
        container: image in which Slurm starts the processes, with pyxis; empty for none.
        trainer_version: of Kubeflow Trainer.
        paddle_version: whose ``paddle.distributed.launch`` is called: that of 1.3 and older, of
            other 1.x, or of 2.3 and later; None for what the framework stands for.
        mpi: whose ``mpirun`` is called; None where the launch file shall see for itself.
        dmlc_launcher: how MXNet's ``launch.py`` reaches the machines; None for ``local`` on one
            machine and ``ssh`` on several.

    Raises:
        ValueError: the values contradict each other, or cannot be passed to a process.
    """

    script: str
    command: tuple[str, ...]
    framework: Framework = "pytorch"
    mode: Mode = "collective"
    name: str = ""
    script_arguments: tuple[str, ...] = ()
    nodes: int = 1
    min_nodes: int | None = None
    gpus_per_node: int | None = None
    processes_without_gpus: int | None = None
    gpu_type: str = ""
    workers: int | None = None
    servers: int | None = None
    worker_resources: Resources = UNSPECIFIED
    server_resources: Resources = UNSPECIFIED
    scheduler_resources: Resources = UNSPECIFIED
    max_restarts: int | None = None
    rendezvous: Rendezvous | None = None
    environment: tuple[tuple[str, str], ...] = ()
    nccl_socket_interface: str = ""
    nccl_disable_infiniband: bool = False
    shared_memory: int | None = None
    image: str | None = None
    work_directory: str = ""
    namespace: str = ""
    volumes: tuple[Volume, ...] = ()
    time_limit: int | None = None
    partition: str = ""
    container: str = ""
    trainer_version: TrainerVersion = "2.3"
    paddle_version: PaddleVersion | None = None
    mpi: MpiDialect | None = None
    dmlc_launcher: DmlcLauncher | None = None

    def __post_init__(self) -> None:
        self._check_numbers()
        self._check_roles()
        for variable, _ in self.environment:
            check_variable(variable)
        for word in self._words():
            check_word(word)
        for field in ("image", "namespace", "partition", "container", "work_directory"):
            if (value := getattr(self, field)) and not value.isprintable():
                article = "an" if field == "image" else "a"
                raise ValueError(f"{value!r} cannot be {article} {field.replace('_', ' ')}")
        paths = [volume.path for volume in self.volumes]
        if len(set(paths)) < len(paths):
            raise ValueError("two volumes cannot be at the same path")
        if not os.path.basename(self.script):
            raise ValueError("the script has no name")

    def _words(self) -> list[str]:
        values = [getattr(self, field.name) for field in fields(self)]
        volumes = [word for volume in self.volumes for word in (volume.source, volume.path)]
        return [
            *(value for value in values if isinstance(value, str)),
            *self.script_arguments,
            *self.command,
            *(value for _, value in self.environment),
            *volumes,
        ]

    def _check_numbers(self) -> None:
        if self.nodes < 1:
            raise ValueError("a job needs at least 1 node")
        if self.nodes > MOST_NODES:
            raise ValueError(f"a job has at most {MOST_NODES} nodes")
        if self.min_nodes is not None and not 1 <= self.min_nodes <= self.nodes:
            raise ValueError("the least number of nodes is between 1 and the number of nodes")
        if self.gpus_per_node is not None and self.gpus_per_node < 1:
            raise ValueError("a node needs at least 1 process")
        if self.processes_without_gpus is not None:
            if self.gpus_per_node is not None:
                raise ValueError("a node has either GPUs or processes without them")
            if self.processes_without_gpus < 1:
                raise ValueError("a node needs at least 1 process")
        if self.gpu_type and not _GPU_TYPE.fullmatch(self.gpu_type):
            raise ValueError(f"{self.gpu_type!r} is no type of GPU such as A100")
        if self.gpu_type and self.gpus_per_node is None:
            raise ValueError("a type of GPU needs a number of them: say --gpus-per-node")
        if self.max_restarts is not None and self.max_restarts < 0:
            raise ValueError("the number of restarts cannot be negative")
        if self.rendezvous == "static" and self.is_elastic:
            raise ValueError("an elastic job needs the rendezvous c10d")
        for number, noun in ((self.workers, "worker"), (self.servers, "server")):
            if number is not None and number < 1:
                raise ValueError(f"a job needs at least 1 {noun}")

    def _check_roles(self) -> None:
        if self.mode == "pserver" and self.framework not in ("paddle", "fluid"):
            raise ValueError(f"parameter servers of this mode are Paddle's, not {self.framework}'s")
        if not self.has_servers and (
            self.servers is not None or self.server_resources != UNSPECIFIED
        ):
            raise ValueError(f"{self.framework} has no servers here")
        if not self.has_servers and self.workers is not None:
            raise ValueError(
                f"the workers of {self.framework} are its nodes, and a process per GPU"
            )
        if not self.has_scheduler and self.scheduler_resources != UNSPECIFIED:
            raise ValueError(f"{self.framework} has no scheduler")
        if self.min_nodes is not None and self.framework not in ("pytorch", "paddle"):
            raise ValueError(f"{self.framework} has no elastic jobs: their number is fixed")
        if self.min_nodes is not None and self.has_servers:
            raise ValueError("a job with servers is not elastic")

    @property
    def has_servers(self) -> bool:
        """Whether workers exchange gradients through servers."""
        return self.framework in WITH_SCHEDULER or self.mode == "pserver"

    @property
    def has_scheduler(self) -> bool:
        """Whether a scheduler tells servers and workers about each other."""
        return self.framework in WITH_SCHEDULER

    @property
    def worker_count(self) -> int:
        """How many machines, or pods, train, the master included."""
        return self.nodes if self.workers is None else self.workers

    @property
    def server_count(self) -> int:
        """How many servers there are; 0 without."""
        if not self.has_servers:
            return 0
        return self.worker_count if self.servers is None else self.servers

    @property
    def roles(self) -> tuple[Role, ...]:
        """The roles that have members, in the order in which they start.

        The master is the first of those that train: with it, one worker less is left.
        """
        workers, found = self.worker_count, []
        gpus = 0 if self.processes_without_gpus else self.gpus_per_node
        if self.has_scheduler:
            found.append(Role("scheduler", 1, 0, self.scheduler_resources))
        if self.has_servers:
            found.append(Role("server", self.server_count, 0, self.server_resources))
        elif self.framework in WITH_MASTER:
            found.append(Role("master", 1, gpus, self.worker_resources))
            workers -= 1
        if workers:
            found.append(Role("worker", workers, gpus, self.worker_resources))
        return tuple(found)

    def role(self, name: RoleName) -> Role | None:
        """The role of a name; None where it has no members."""
        return next((role for role in self.roles if role.name == name), None)

    @property
    def processes_per_node(self) -> int | None:
        """Processes that train on each machine, or pod; None where its GPUs are counted there."""
        if self.has_servers or self.framework == "tensorflow":
            return 1
        return self.processes_without_gpus or self.gpus_per_node

    @property
    def world_size(self) -> int | None:
        """Processes that train; None where it is not fixed, or GPUs are counted at the start."""
        if self.is_elastic or self.processes_per_node is None:
            return None
        return self.worker_count * self.processes_per_node

    @property
    def is_elastic(self) -> bool:
        """Whether machines may come and go."""
        return self.min_nodes is not None and self.min_nodes < self.nodes

    @property
    def stem(self) -> str:
        """The script's name without folder and ``.py``: what launch files are named after."""
        base = os.path.basename(self.script)
        return base.removesuffix(".py") or base

    @property
    def title(self) -> str:
        """What the job is called."""
        return self.name or self.stem

    @property
    def label(self) -> str:
        """What the job is called where only small letters, digits and hyphens may be."""
        return dns_label(self.title, 40)

    @property
    def script_in_image(self) -> str:
        """The script in a container: absolute, or in the working directory."""
        return self.script if os.path.isabs(self.script) else os.path.basename(self.script)

    @property
    def restarts(self) -> int:
        """How often all processes are restarted after a failure."""
        if self.max_restarts is not None:
            return self.max_restarts
        return _RESTARTS_OF_ELASTIC_JOBS if self.is_elastic else 0

    @property
    def meeting(self) -> Rendezvous:
        """How the machines find each other: c10d where they may have to do so again."""
        if self.rendezvous is not None:
            return self.rendezvous
        return "c10d" if self.is_elastic or self.restarts else "static"

    @property
    def total(self) -> str:
        """What all roles take together, as platforms ask for it."""
        sums = total_of(self.roles)
        if self.has_servers:
            members = listed(role.text for role in self.roles)
            return f"{', '.join(sums)} ({members})" if sums else members
        least = self.min_nodes or self.nodes
        nodes = _range(least, self.nodes, "node")
        if self.processes_per_node is None:
            return ", ".join((f"{nodes}, one process for each GPU", *sums))
        low, high = least * self.processes_per_node, self.nodes * self.processes_per_node
        found = [nodes, _range(low, high, "process")]
        if self.gpus_per_node is not None and self.is_elastic:
            gpus = _range(least * self.gpus_per_node, self.nodes * self.gpus_per_node, "GPU")
            sums = [*(f"at most {each}" for each in sums[:-1]), gpus]
        return ", ".join((*found, *sums))


def _range(low: int, high: int, noun: str) -> str:
    return plural(high, noun) if low == high else f"{low} to {plural(high, noun)}"
