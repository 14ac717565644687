"""What pods run that know of each other only by name, without an operator for the framework."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from transpile.launch.job import Job
from transpile.launch.manifests import paddle_pod, torchrun_pod
from transpile.launch.manifests.manifest import Object
from transpile.launch.manifests.pod import (
    Pods,
    Program,
    expected_world_size,
    script_words,
    shell_program,
    training_pods,
    variable,
)
from transpile.launch.roles import RoleName
from transpile.launch.scripts.mxnet_check import checked_program

#: The frameworks whose scripts need no more than the names of all pods.
FRAMEWORKS = ("pytorch", "mxnet", "paddle", "fluid", "tensorflow")

#: Where Kubernetes puts the index of a pod of an Indexed Job, under the name that it uses itself.
COMPLETION_INDEX = "JOB_COMPLETION_INDEX"
COMPLETION_INDEX_SOURCE = variable(
    "metadata.annotations['batch.kubernetes.io/job-completion-index']"
)

_TENSORFLOW = """\
export TF_CONFIG="{\\"cluster\\": $TF_CLUSTER, \\
\\"task\\": {\\"type\\": \\"worker\\", \\"index\\": $INDEX}}"
exec python "$@"
"""
_TENSORFLOW_PORT = 2222
_MXNET_PORT = 9091
_MXNET_LOGS = """\
The names of the pods tell scheduler, servers and workers apart. The rank of a worker is not the
index of its pod: the script has it as kv.rank."""
_TENSORFLOW_LOGS = "The worker with index 0 is the chief."


@dataclass(frozen=True)
class Peers:
    """How pods find each other.

    Args:
        host: the name of a pod, of a role and an index.
        index: the variable that holds a pod's own index in its role.
        index_source: what the variable is set to; None where the platform sets it.
    """

    host: Callable[[str, int], str]
    index: str
    index_source: Object | None = None

    def all(self, role: str, count: int) -> list[str]:
        """The names of all pods of a role."""
        return [self.host(role, index) for index in range(count)]


def pods(job: Job, peers: Peers, restarts: int = 0) -> list[Pods]:
    """Return the pods of a job, those first that the others need.

    Args:
        job: what is started; a master is the worker with index 0.
        peers: how they find each other.
        restarts: how often torchrun restarts all processes after a failure.

    Raises:
        ValueError: the pods of this framework cannot be started as the job wants them.
    """
    if job.is_elastic and job.framework != "pytorch":
        raise ValueError(f"elastic jobs of {job.framework} need etcd, which no launch file starts")
    if not job.has_servers:
        return [
            training_pods(job, "worker", job.worker_count, _program(job, "worker", peers, restarts))
        ]
    return [
        Pods(
            role.name,
            role.count,
            _program(job, role.name, peers, restarts),
            role.gpus or 0,
            role.resources,
        )
        for role in job.roles
    ]


def logs(job: Job) -> str:
    """How a reader of the logs tells the processes apart."""
    if job.framework == "pytorch":
        return torchrun_pod.LOGS
    if job.framework == "mxnet":
        return _MXNET_LOGS
    return _TENSORFLOW_LOGS if job.framework == "tensorflow" else paddle_pod.logs(job)


def _program(job: Job, role: RoleName, peers: Peers, restarts: int) -> Program:
    program = _of_framework(job, role, peers, restarts)
    if peers.index_source is None:
        return program
    # Before the variables that may refer to it.
    return replace(program, variables={peers.index: peers.index_source, **program.variables})


def _of_framework(job: Job, role: RoleName, peers: Peers, restarts: int) -> Program:
    if job.framework == "pytorch":
        return torchrun_pod.meeting_at(job, peers.host("worker", 0), peers.index, restarts)
    if job.framework == "mxnet":
        return _mxnet(job, role, peers)
    if job.framework == "tensorflow":
        return _tensorflow(job, peers)
    if job.has_servers:
        servers = peers.all("server", job.server_count)
        return paddle_pod.with_servers(job, role, servers, peers.index)
    return paddle_pod.collective(job, peers.all("worker", job.worker_count), peers.index)


def _mxnet(job: Job, role: RoleName, peers: Peers) -> Program:
    """Every role runs the script; all but the workers stay in ``import mxnet``."""
    variables = {
        "DMLC_ROLE": role,
        "DMLC_PS_ROOT_URI": peers.host("scheduler", 0),
        "DMLC_PS_ROOT_PORT": str(_MXNET_PORT),
        "DMLC_NUM_SERVER": str(job.server_count),
        "DMLC_NUM_WORKER": str(job.worker_count),
        # Let the scheduler listen at its address rather than at its name.
        "DMLC_USE_KUBERNETES": "1",
    }
    node = {} if role == "scheduler" else {"DMLC_NODE_HOST": variable("status.podIP")}
    return checked_program(job, {**variables, **node, **expected_world_size(job)})


def _tensorflow(job: Job, peers: Peers) -> Program:
    hosts = (f'"{host}:{_TENSORFLOW_PORT}"' for host in peers.all("worker", job.worker_count))
    variables = {"TF_CLUSTER": f'{{"worker": [{", ".join(hosts)}]}}', **expected_world_size(job)}
    script = _TENSORFLOW.replace("$INDEX", f"${peers.index}")
    return shell_program(script, script_words(job), variables)
