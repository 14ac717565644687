"""A Slurm job with servers: a step for each role, all on the same nodes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from transpile.launch.job import Job
from transpile.launch.roles import Resources, Role
from transpile.launch.scripts.mxnet_check import CHECK
from transpile.launch.scripts.script import command_lines

LOGS = """\
# Each process writes into a file of its own, such as worker-0.log, below LOG_DIR (NAME-JOB).
"""

_MXNET = """\
# All find each other through the scheduler, on the first node.
master_addr=${MASTER_ADDR:-$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)}
export DMLC_PS_ROOT_URI="$master_addr"
export DMLC_PS_ROOT_PORT="${MASTER_PORT:-$((20000 + SLURM_JOB_ID % 10000))}"
export DMLC_NUM_SERVER=$servers
export DMLC_NUM_WORKER=$workers
# The quotes are for Python.
# shellcheck disable=SC2089
CHECK_MXNET='
@check'
# shellcheck disable=SC2090
export CHECK_MXNET
# A process with a role would never return from the import of the check.
unset DMLC_ROLE
""".replace("@check", CHECK)
_PADDLE = """\
# The servers, which Paddle wants to know by their addresses, in turn on $hosts.
first_port=${MASTER_PORT:-$((20000 + SLURM_JOB_ID % 10000))}
PADDLE_PSERVERS_IP_PORT_LIST=
for number in $(seq 0 $last_server); do
    host=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | sed -n "$((number % $nodes + 1))p")
    address=$(getent ahostsv4 "${MASTER_ADDR:-$host}" | awk 'NR == 1 { print $1 }')
    endpoint=${address:-$host}:$((first_port + number))
    PADDLE_PSERVERS_IP_PORT_LIST=$PADDLE_PSERVERS_IP_PORT_LIST,$endpoint
done
export PADDLE_PSERVERS_IP_PORT_LIST="${PADDLE_PSERVERS_IP_PORT_LIST#,}"
export PADDLE_TRAINERS_NUM=$workers
"""

_CHECKED = 'python3 -c "$CHECK_MXNET" && '
_SCHEDULER_PROGRAM = _CHECKED + 'DMLC_ROLE=scheduler exec python3 "$@"'
_SERVER_PROGRAM = _CHECKED + 'DMLC_ROLE=server exec python3 "$@"'
_WORKER_PROGRAM = _CHECKED + 'DMLC_ROLE=worker exec python3 "$@"'
_PADDLE_SERVER_PROGRAM = """\
endpoint=$(echo "$PADDLE_PSERVERS_IP_PORT_LIST" | cut -d , -f "$((SLURM_PROCID + 1))")
export TRAINING_ROLE=PSERVER PADDLE_CURRENT_ENDPOINT="$endpoint"
export POD_IP="${endpoint%:*}" PADDLE_PORT="${endpoint##*:}"
exec python3 "$@\""""
_PADDLE_WORKER_PROGRAM = """\
TRAINING_ROLE=TRAINER PADDLE_TRAINER_ID="$SLURM_PROCID" exec python3 "$@\""""

_STEPS = """\
mkdir -p -- "$LOG_DIR"
steps=()
trap 'kill "${steps[@]}" 2>/dev/null || :' EXIT
"""
_WAIT = """\
# Servers may stay for ever; and where one process fails, the others would wait for it.
status=0
while [ -n "${steps[$workers]+running}" ] && [ "$status" -eq 0 ]; do
    sleep 2
    for step in "${!steps[@]}"; do
        if ! kill -0 "${steps[$step]}" 2>/dev/null; then
            wait "${steps[$step]}" || status=$?
            unset "steps[$step]"
        fi
    done
done
exit "$status"
"""


@dataclass(frozen=True)
class _Step:
    role: Role
    program: str


def preparation(job: Job) -> str:
    """Return the setting of what all roles are told."""
    numbers = {"$servers": job.server_count, "$workers": job.worker_count}
    if job.framework == "mxnet":
        text = _MXNET
    else:
        nodes = min(job.nodes, job.server_count)
        text = _PADDLE.replace("$hosts", "the first nodes" if nodes < job.nodes else "all nodes")
        numbers |= {"$last_server": job.server_count - 1, "$nodes": nodes}
    for name, number in numbers.items():
        text = text.replace(f"{name} ", f"{number} ").replace(f"{name}\n", f"{number}\n")
        text = text.replace(f"{name})", f"{number})")
    return text + 'export LOG_DIR="${LOG_DIR:-$SLURM_JOB_NAME-$SLURM_JOB_ID}" PYTHONUNBUFFERED=1\n'


def node_resources(job: Job) -> Resources:
    """What one node holds, with its share of every role."""
    cpus, memory = Decimal(), 0
    for role in job.roles:
        share = -(-role.count // job.nodes)
        cpus += (role.resources.cpus or 0) * share
        memory += (role.resources.memory or 0) * share
    return Resources(cpus or None, memory or None)


def steps(job: Job, words: list[str], container: list[str]) -> Iterator[str]:
    """Yield the parts of the batch script that start all roles and wait for the workers.

    Args:
        job: what is started.
        words: the script and its arguments, for the shell.
        container: the options of srun about a container.
    """
    yield _STEPS
    for step in _steps(job):
        nodes = min(job.nodes, step.role.count)
        options = [
            f"srun --overlap --overcommit --nodes={nodes} --ntasks={step.role.count}",
            *("--relative=0", "--distribution=cyclic", "--kill-on-bad-exit=1"),
            f'--output="$LOG_DIR/{step.role.name}-%t.log"',
        ]
        cpus = step.role.resources.cpus
        if cpus is not None:
            options.append(f"--cpus-per-task={max(1, int(cpus))}")
        command = command_lines([*options, *container, 'sh -c "$task" sh', *words]).rstrip("\n")
        yield (
            "# Every task expands this by itself.\n# shellcheck disable=SC2016\n"
            f"task='{step.program}'\n{command} &\nsteps+=(\"$!\")\n"
            + ("workers=$((${#steps[@]} - 1))\n" if step.role.name == "worker" else "")
        )
    yield _WAIT


def _steps(job: Job) -> Iterator[_Step]:
    programs = {"server": _PADDLE_SERVER_PROGRAM, "worker": _PADDLE_WORKER_PROGRAM}
    if job.framework == "mxnet":
        programs = {
            "scheduler": _SCHEDULER_PROGRAM,
            "server": _SERVER_PROGRAM,
            "worker": _WORKER_PROGRAM,
        }
    for role in job.roles:
        yield _Step(role, programs[role.name])
