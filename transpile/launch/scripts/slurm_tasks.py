"""What each task of a Slurm job runs, by the framework of its script."""

from __future__ import annotations

from dataclasses import dataclass

from transpile.launch.job import Job

_TORCHRUN = """\
exec torchrun --nnodes="$SLURM_JOB_NUM_NODES" --node-rank="$SLURM_NODEID" \\
    --log-dir="$LOG_DIR/node$SLURM_NODEID" "$@\""""
_PADDLE = """\
exec python3 -m paddle.distributed.launch --nnodes="$SLURM_JOB_NUM_NODES" \\
    --rank="$SLURM_NODEID" --log_dir="$LOG_DIR/node$SLURM_NODEID" "$@\""""
_FLUID = """\
node=$(echo "$NODES" | cut -d , -f "$((SLURM_NODEID + 1))")
exec python3 -m paddle.distributed.launch --cluster_node_ips="$NODES" --node_ip="$node" \\
    --log_dir="$LOG_DIR/node$SLURM_NODEID" "$@\""""
_TENSORFLOW = """\
task="{\\"type\\": \\"worker\\", \\"index\\": $SLURM_NODEID}"
export TF_CONFIG="{\\"cluster\\": {\\"worker\\": [$WORKERS]}, \\"task\\": $task}"
exec python3 "$@\""""
_SINGA = 'exec python3 "$@"'

_ADDRESS = """\
# Where all meet: the first node, under the name that Slurm has for it.
master_addr=${MASTER_ADDR:-$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)}
"""
_PORT = "master_port=${MASTER_PORT:-$((20000 + SLURM_JOB_ID % 10000))}\n"
_LOG_FOLDER = 'export LOG_DIR="${LOG_DIR:-$SLURM_JOB_NAME-$SLURM_JOB_ID}"\n'
_RESOLVE = """\
# Paddle compares addresses, and takes names for others.
address=$(getent ahostsv4 "$master_addr" | awk 'NR == 1 { print $1 }')
master_addr=${address:-$master_addr}
"""
_NODES = """\
# Fluid looks for its own address in the list of all.
NODES=
for host in $(scontrol show hostnames "$SLURM_JOB_NODELIST"); do
    address=$(getent ahostsv4 "$host" | awk 'NR == 1 { print $1 }')
    NODES=$NODES,${address:-$host}
done
export NODES="${NODES#,}"
"""
_WORKERS = """\
WORKERS=$(scontrol show hostnames "$SLURM_JOB_NODELIST" |
    awk -v port="$master_port" '{ printf "%s\\"%s:%s\\"", comma, $0, port; comma = ", " }')
export WORKERS
"""

_WORKER_LOGS = """\
# What stands there is from the first process of each node. The output of all of them is in
# node0/workerlog.0 and so on below LOG_DIR (NAME-JOB).
"""
_MPI = {"openmpi": "pmix", "mpich": "pmi2", None: "pmi2"}


@dataclass(frozen=True)
class Task:
    """What a task runs.

    Args:
        program: for the shell of the task, without single quotes.
        words: its arguments before the script, as the batch script's shell reads them.
        preparation: what the batch script does before.
        options: further options of srun.
        logs: lines of a comment: where the output of single processes is.
        tasks_per_node: how many there are on each node.
    """

    program: str
    words: tuple[str, ...] = ()
    preparation: str = ""
    options: tuple[str, ...] = ()
    logs: str = ""
    tasks_per_node: int = 1


def task_of(job: Job) -> Task:
    """Return what each task of a job runs.

    Raises:
        ValueError: it takes a number that the job leaves open.
    """
    version = job.paddle_version or ("1.8" if job.framework == "fluid" else "3")
    if job.framework in ("paddle", "fluid") and version != "3":
        return _fluid(job, version)
    return {
        "pytorch": _pytorch,
        "paddle": _paddle,
        "fluid": _paddle,
        "tensorflow": _tensorflow,
        "singa": _singa,
    }[job.framework](job)


def _pytorch(job: Job) -> Task:
    meeting = ('--master-addr="$master_addr"', '--master-port="$master_port"')
    if job.meeting == "c10d":
        meeting = (
            "--rdzv-backend=c10d",
            '--rdzv-endpoint="$master_addr:$master_port"',
        )
    restarts = (f"--max-restarts={job.restarts}",) if job.restarts else ()
    return Task(
        _TORCHRUN,
        (
            *('--nproc-per-node="$processes"', "--role=worker", "--redirects=3", "--tee=3"),
            *restarts,
            *meeting,
            # Without the hyphens, torchrun takes a first argument -- of the script for its own.
            "--",
        ),
        preparation=_ADDRESS + _PORT + _LOG_FOLDER,
        logs=(
            "# On a node, [worker0] marks local rank 0, and so on. Each process has a folder of\n"
            "# its own in node0, node1 and so on below LOG_DIR (NAME-JOB), too.\n"
        ),
    )


def _paddle(job: Job) -> Task:
    return Task(
        _PADDLE,
        ('--master="$master_addr:$master_port"', '--nproc_per_node="$processes"'),
        preparation=_ADDRESS + _RESOLVE + _PORT + _LOG_FOLDER,
        logs=_WORKER_LOGS,
    )


def _fluid(job: Job, version: str) -> Task:
    if version == "1.3":
        raise ValueError("the launcher of Paddle 1.3 passes no variables on: use paddle-launch")
    if job.gpus_per_node is None:
        raise ValueError("Fluid trains without servers on GPUs alone: say --gpus-per-node")
    gpus = ",".join(map(str, range(job.gpus_per_node)))
    return Task(
        _FLUID,
        ('--started_port="$master_port"', f"--selected_gpus={gpus}"),
        preparation=_NODES + _PORT + _LOG_FOLDER,
        logs=_WORKER_LOGS,
    )


def _tensorflow(job: Job) -> Task:
    return Task(
        _TENSORFLOW,
        preparation=_PORT + _WORKERS,
        logs="# There is one process on each node, worker 0 being the chief.\n",
    )


def _singa(job: Job) -> Task:
    if job.processes_per_node is None:
        raise ValueError("how many tasks a node has must be known to Slurm: say --gpus-per-node")
    return Task(
        _SINGA,
        options=(f"--mpi={_MPI[job.mpi]}",),
        logs="# That number is the rank of a process.\n",
        tasks_per_node=job.processes_per_node,
    )
