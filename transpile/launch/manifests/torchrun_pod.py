"""torchrun in a pod, for all Kubernetes targets."""

from __future__ import annotations

from collections.abc import Iterable

from transpile.launch.job import Job
from transpile.launch.manifests.manifest import Block
from transpile.launch.manifests.pod import Program, expected_world_size, literal, script_words

#: How the ranks of one pod are told apart in its log, where all pods have one role.
LOGS = """\
Each line of a log begins with the rank of the process that wrote it, such as [rank 0]. Rank 0 is in
the pod with index 0, which is the master."""
#: The same where the master is a role of its own.
LOGS_OF_MASTER = """\
Each line of a log begins with the rank of the process that wrote it, such as [rank 0]. Rank 0 is in
the pod called master."""
PORT = 29500
_PREFIX = {"TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE": "[rank ${rank}] "}

_STORE = """\
# The first pod holds the store at which all pods meet; it does not know itself by the name.
is_host=false
[ "$INDEX" = 0 ] && is_host=true
# Images of other pods may take minutes to arrive.
exec torchrun --rdzv-conf="is_host=$is_host,read_timeout=600" "$@"
"""


def told_by_operator(job: Job, options: Iterable[str] = ()) -> Program:
    """Return a torchrun whose options an operator puts into its environment.

    Args:
        job: what is started.
        options: further options.
    """
    return _program(job, ("torchrun",), options)


def meeting_at(job: Job, host: str, index: str, restarts: int) -> Program:
    """Return a torchrun that meets those of the other pods.

    Args:
        job: what is started.
        host: the name of the pod with index 0.
        index: the variable that holds the pod's own index.
        restarts: how often all processes are restarted after a failure.
    """
    options = [f"--max-restarts={restarts}"] if restarts else []
    processes = f"--nproc-per-node={job.processes_per_node or 1}"
    if job.nodes == 1:
        return _program(job, ("torchrun",), ("--standalone", processes, *options))
    if not job.is_elastic and job.rendezvous != "c10d" and not restarts:
        meeting = (f"--node-rank=$({index})", f"--master-addr={host}", f"--master-port={PORT}")
        return _program(job, ("torchrun",), (f"--nnodes={job.nodes}", processes, *meeting))
    least = f"{job.min_nodes}:" if job.is_elastic else ""
    options += [
        "--rdzv-backend=c10d",
        f"--rdzv-endpoint={host}:{PORT}",
        f"--rdzv-id={job.label}",
    ]
    words = ("sh", "-c", Block(literal(_STORE.replace("$INDEX", f"${index}"))), "sh")
    return _program(job, words, (f"--nnodes={least}{job.nodes}", processes, *options))


def _program(job: Job, words: tuple[str | Block, ...], options: Iterable[str]) -> Program:
    # Without the hyphens, torchrun takes a first argument -- of the script for its own.
    return Program(
        (*words, "--tee=3", *options, "--"),
        script_words(job),
        {**_PREFIX, **expected_world_size(job)},
    )
