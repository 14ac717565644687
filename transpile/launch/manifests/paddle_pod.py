"""Paddle, and its Fluid, in pods that know of each other by name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from transpile.launch.job import Job, PaddleVersion
from transpile.launch.manifests.pod import (
    Program,
    Variables,
    expected_world_size,
    script_words,
    shell_program,
    variable,
)

_LOG_FOLDER = "/tmp/paddle-log"
_MASTER_PORT = 6768
_FIRST_PORT = 6170

_RESOLVE = """\
# Paddle compares addresses, and takes names for others: wait until DNS knows all pods.
resolve() {
    python -c '
import socket, sys, time
found = []
for word in sys.argv[1:]:
    host, colon, port = word.partition(":")
    while True:
        try:
            found.append(socket.gethostbyname(host) + colon + port)
            break
        except socket.error:
            sys.stderr.write("waiting for the name %s\\n" % host)
            time.sleep(5)
print(",".join(found))
' "$@"
}
"""

_SEVERAL_NODES = """\
master=$(resolve "$MASTER_HOST") || exit
exec python -m paddle.distributed.launch --master="$master" --rank="$INDEX" "$@"
"""

_FLUID = """\
nodes=$(resolve $NODE_HOSTS) || exit
exec python -m paddle.distributed.launch --cluster_node_ips="$nodes" --node_ip="$POD_IP" "$@"
"""

_WITH_SERVERS = """\
PADDLE_PSERVERS_IP_PORT_LIST=$(resolve $SERVER_HOSTS) || exit
export PADDLE_PSERVERS_IP_PORT_LIST
export PADDLE_TRAINER_ID="$INDEX"
exec python "$@"
"""

_SERVER_LOGS = """\
The names of the pods tell servers and workers apart; PADDLE_TRAINER_ID is the index of a worker's
pod."""


def collective(job: Job, hosts: Sequence[str], index: str) -> Program:
    """Return what each of the pods `hosts` runs, where gradients go from worker to worker.

    Args:
        job: what is started.
        hosts: the names of all pods.
        index: the variable that holds a pod's own index.

    Raises:
        ValueError: Paddle's launcher of that version cannot be told about other pods.
    """
    version = _version(job)
    if version == "1.3":
        raise ValueError("pods are not told about each other by the launcher of Paddle 1.3")
    if version == "1.8":
        variables: Variables = {
            "NODE_HOSTS": " ".join(hosts),
            "POD_IP": variable("status.podIP"),
        }
        if not job.gpus_per_node:
            raise ValueError("Fluid trains without servers on GPUs only: how many has a node?")
        options = [f"--started_port={_FIRST_PORT}", f"--selected_gpus={_devices(job)}"]
        if job.gpus_per_node > 1:
            options.append(f"--log_dir={_LOG_FOLDER}")
        arguments = (*options, *script_words(job))
        return shell_program(
            _RESOLVE + _FLUID, arguments, {**variables, **expected_world_size(job)}
        )
    words = launcher_words(job)
    if len(hosts) == 1:
        return Program(words, script_words(job), expected_world_size(job))
    arguments = (f"--nnodes={len(hosts)}", *words[3:], *script_words(job))
    return shell_program(
        _RESOLVE + _SEVERAL_NODES.replace("$INDEX", f"${index}"),
        arguments,
        {"MASTER_HOST": f"{hosts[0]}:{_MASTER_PORT}", **expected_world_size(job)},
    )


def launcher_words(job: Job) -> tuple[str, ...]:
    """The launcher of Paddle 2 and 3, with what it is told about one pod."""
    devices = f"--devices={_devices(job)}" if job.gpus_per_node else "--nproc_per_node=1"
    return (
        *("python", "-m", "paddle.distributed.launch"),
        *(devices, f"--log_dir={_LOG_FOLDER}"),
    )


def with_servers(job: Job, role: str, servers: Iterable[str], index: str) -> Program:
    """Return what a pod runs, where gradients go through servers.

    Each pod is either a server or a worker, and is told so: the launcher of Paddle would start one
    of each in every pod.

    Args:
        job: what is started.
        role: ``server`` or ``worker``.
        servers: the names of all pods that are servers.
        index: the variable that holds a pod's own index in its role.
    """
    hosts = " ".join(f"{host}:{_FIRST_PORT}" for host in servers)
    variables = {
        "TRAINING_ROLE": "PSERVER" if role == "server" else "TRAINER",
        "SERVER_HOSTS": hosts,
        "PADDLE_TRAINERS_NUM": str(job.worker_count),
        "POD_IP": variable("status.podIP"),
    }
    port = {"PADDLE_PORT": str(_FIRST_PORT)} if role == "server" else {}
    script = _RESOLVE + _WITH_SERVERS.replace("$INDEX", f"${index}")
    return shell_program(
        script, script_words(job), {**variables, **port, **expected_world_size(job)}
    )


def logs(job: Job) -> str:
    """How a reader of the logs tells the processes apart."""
    if job.has_servers:
        return _SERVER_LOGS
    if (job.processes_per_node or 1) == 1:
        return "The log of a pod is that of its one process."
    namespace = f" -n {job.namespace}" if job.namespace else ""
    of_first = "that of its first process" if _version(job) == "3" else "empty"
    return (
        f"The log of a pod is {of_first}: each process writes to a file of its own there,\n"
        f"{_LOG_FOLDER}/workerlog.0, workerlog.1 and so on:\n"
        f"  kubectl{namespace} exec POD -- tail -n +1 {_LOG_FOLDER}/workerlog.1"
    )


def _version(job: Job) -> PaddleVersion:
    return job.paddle_version or ("1.8" if job.framework == "fluid" else "3")


def _devices(job: Job) -> str:
    return ",".join(map(str, range(job.gpus_per_node or 0)))
