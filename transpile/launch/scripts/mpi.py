"""Launch target ``mpi``: a shell script that calls ``mpirun`` on one of the machines.

Open MPI and MPICH differ in hostfiles, options and what they tell their processes; the script sees
which one is there. What a process needs is in its words, since each passes variables on in another
way.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from transpile.launch.job import Job
from transpile.launch.scripts.script import (
    FOLDER,
    THREADS,
    command_lines,
    count_processes,
    nccl_variables,
    options,
    script_words,
    shell_script,
)
from transpile.launch.scripts.shell import quote

FRAMEWORKS = ("pytorch", "singa")

_USAGE = """\
# Usage: sh THIS_FILE$hosts [--master-port PORT] [--] [ARGUMENT...]
$where# The arguments go to the training script, after those written below. All machines find it
# and Python under the same path.
# Each line of the output is marked with the rank of the process that wrote it.
"""
_ONE_MACHINE = """\
# It starts all processes on this machine.
"""
_MACHINES = """\
# FILE, or MACHINES in the environment, names the $nodes machines, one on each line; all meet at the
# first. mpirun reaches them by ssh.
"""

_MACHINE_LIST = """\
[ -n "$machines" ] || usage 'the file with the names of the machines is missing'
names=$(sed 's/[[:space:]]*#.*//; s/[[:space:]]*$//; /^$/d' "$machines")
[ "$(printf '%s\\n' "$names" | wc -l)" -eq $nodes ] || usage "$machines: names not $nodes machines"
if printf '%s\\n' "$names" | grep -qv '^[A-Za-z0-9][A-Za-z0-9_.-]*$'; then
    usage "$machines: a line is no name of a machine"
fi
master_addr=${MASTER_ADDR:-$(printf '%s\\n' "$names" | head -n 1)}
"""
_THIS_MACHINE = """\
names=localhost
master_addr=127.0.0.1
"""
_PORT = """\
case $master_port in
    '' | *[!0-9]*) usage "the port is no number: $master_port" ;;
esac
"""

_DIALECT = """\
case $(mpirun --version 2>&1) in
    *'Open MPI'* | *OpenRTE* | *PRRTE*) dialect=openmpi ;;
    *HYDRA* | *MPICH* | *'Intel(R) MPI'*) dialect=mpich ;;
    *)
        printf '%s\\n' "$0: there is no mpirun of Open MPI or MPICH" >&2
        exit 2
        ;;
esac
"""

_HOSTFILES = """\
hostfile=$(mktemp)
trap 'rm -f "$hostfile"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
"""
_OPENMPI = """\
    printf '%s\\n' "$names" | sed "s/\\$/ slots=$processes/" >"$hostfile"
    # In containers all is root's. Without the binding, a process would stay on one core.
    if [ "$(id -u)" -eq 0 ]; then
        export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    fi
    case $(mpirun --version 2>&1) in
        *' 1.'* | *' 2.'* | *' 3.'* | *' 4.'*) mark=--tag-output ;;
        *) mark='--output tag' ;;
    esac
    # shellcheck disable=SC2086 # an option and its value
    set -- $mark --bind-to none "$@"
"""
_MPICH = """\
    printf '%s\\n' "$names" | sed "s/\\$/:$processes/" >"$hostfile"
    set -- -prepend-rank "$@"
"""

# What tells a process its rank, in the words of torchrun.
_PROCESS = """\
export RANK="${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-0}}"
export WORLD_SIZE="${OMPI_COMM_WORLD_SIZE:-${PMI_SIZE:-1}}"
export LOCAL_RANK="${OMPI_COMM_WORLD_LOCAL_RANK:-${MPI_LOCALRANKID:-$RANK}}"
exec python3 "$@\""""


def files(job: Job) -> dict[str, str]:
    """Return the launch script under its name.

    Raises:
        ValueError: the job has no form here.
    """
    if job.is_elastic:
        raise ValueError("mpi starts no elastic jobs: their number is fixed")
    if job.restarts:
        raise ValueError("mpi does not start processes again after a failure")
    hosts = " --machines FILE" if job.nodes > 1 else ""
    where = _MACHINES.replace("$nodes", str(job.nodes)) if job.nodes > 1 else _ONE_MACHINE
    usage = _USAGE.replace("$hosts", hosts).replace("$where", where)
    return {f"{job.stem}.mpi.sh": shell_script(job, "mpirun", usage, list(_parts(job)))}


def _parts(job: Job) -> Iterator[str]:
    if not os.path.isabs(job.script):
        yield FOLDER + 'folder=$(cd "$folder" && pwd)\n'
    port = (("master_port", "29500"),)
    if job.nodes > 1:
        yield (
            options("--machines FILE [--master-port PORT]", (("machines", ""), *port))
            + _PORT
            + _MACHINE_LIST.replace("$nodes", str(job.nodes))
        )
    else:
        yield options("[--master-port PORT]", port) + _PORT + _THIS_MACHINE
    yield count_processes(job)
    yield THREADS
    if job.mpi is None:
        yield _DIALECT
    else:
        yield f"dialect={job.mpi}\n"
    yield _HOSTFILES
    yield (
        "# Every process expands this by itself.\n# shellcheck disable=SC2016\n"
        f"process='{_PROCESS}'\n"
        + command_lines(["set --", *_variables(job), 'sh -c "$process" sh', *script_words(job)])
    )
    yield f'if [ "$dialect" = openmpi ]; then\n{_OPENMPI}else\n{_MPICH}fi\n'
    total = '"$processes"' if job.nodes == 1 else f"$(({job.nodes} * processes))"
    yield f'mpirun --hostfile "$hostfile" -np {total} "$@"\n'


def _variables(job: Job) -> Iterator[str]:
    """What `env` gives a process, wherever it runs."""
    total = '"$processes"' if job.nodes == 1 else f"$(({job.nodes} * processes))"
    yield "env"
    yield 'PATH="$PATH"'
    yield '${LD_LIBRARY_PATH+"LD_LIBRARY_PATH=$LD_LIBRARY_PATH"}'
    # The script refuses to train with another number of processes.
    yield f"EXPECTED_WORLD_SIZE={total}"
    yield 'MASTER_ADDR="$master_addr"'
    yield 'MASTER_PORT="$master_port"'
    yield 'OMP_NUM_THREADS="$OMP_NUM_THREADS"'
    yield 'NCCL_DEBUG="${NCCL_DEBUG:-WARN}"'
    for variable, value in (*nccl_variables(job), *job.environment):
        yield f"{variable}={quote(value)}"
