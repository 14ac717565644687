"""What the shell scripts of several targets have in common."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from string import Template

from transpile.launch.job import Job
from transpile.launch.scripts.shell import quote, quote_on_one_line

_HEAD = Template("""\
#!$shell
# Starts $script with $starter: $total.
#
# This command makes this file again, byte for byte:
#   $command
#
""")

_TYPOGRAPHIC_QUOTES = """\
# Typographic quotes are meant.
# shellcheck disable=SC1111
"""

#: Sets `folder` to that of the launch file, such that a path below it is never an option.
FOLDER = """\
case $0 in
    /*) folder=${0%/*} ;;
    */*) folder=./${0%/*} ;;
    *) folder=. ;;
esac
"""

_OPTIONS = Template("""\
usage() {
    printf '%s\\n' "$$0: $$1" "usage: $$0 $usage [--] [ARGUMENT...]" >&2
    exit 2
}
$defaults
while [ "$$#" -gt 0 ]; do
    case $$1 in
        $assigned)
            option=$${1%%=*}
            value=$${1#*=}
            shift
            ;;
        $separate)
            [ "$$#" -gt 1 ] || usage "$$1 needs a value"
            option=$$1
            value=$$2
            shift 2
            ;;
        --)
            shift
            break
            ;;
        *) break ;;
    esac
    case $$option in
$cases
    esac
done
""")

#: Sets `processes` to the number of GPUs that a process will see, or to one.
COUNT_GPUS = """\
# One process for each GPU that $framework will see, one process without.
if [ -n "${CUDA_VISIBLE_DEVICES+set}" ]; then
    processes=$(printf '%s\\n' "$CUDA_VISIBLE_DEVICES" | tr ',' '\\n' | grep -c '^ *[0-9GM]') || :
else
    processes=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU ') || :
fi
[ "$processes" -gt 0 ] || processes=1
"""

#: Divides the cores among `processes`.
THREADS = """\
if [ -z "${OMP_NUM_THREADS:-}" ]; then
    cores=$(nproc 2>/dev/null || getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)
    OMP_NUM_THREADS=$((cores / processes))
    [ "$OMP_NUM_THREADS" -gt 0 ] || OMP_NUM_THREADS=1
fi
export OMP_NUM_THREADS
"""

_EXPECTED_WORLD_SIZE = Template("""\
# The script refuses to train with another number of processes.
export EXPECTED_WORLD_SIZE=$size
""")

#: For a job whose number of processes is not fixed.
NO_EXPECTED_WORLD_SIZE = """\
# Nodes may come and go: there is no number of processes to insist on.
unset EXPECTED_WORLD_SIZE
"""

#: Sets `master_addr` to what may be part of an address, and checks `master_port`.
CHECK_MASTER = """\
case $master_addr in
    '') usage 'the address of the node where all meet is missing' ;;
    \\[*) ;;
    *:*) master_addr="[$master_addr]" ;;
esac
case $master_port in
    '' | *[!0-9]*) usage "the port is no number: $master_port" ;;
esac
"""

_FRAMEWORKS = {
    "pytorch": "PyTorch",
    "mxnet": "MXNet",
    "paddle": "Paddle",
    "fluid": "Paddle",
    "tensorflow": "TensorFlow",
    "singa": "SINGA",
}


def shell_script(
    job: Job,
    starter: str,
    comment: str,
    parts: Sequence[str],
    shell: str = "/bin/sh",
    total: str = "",
) -> str:
    """Return the text of a launch script.

    Args:
        job: what it starts.
        starter: what it starts it with.
        comment: how it is used, as lines of a comment, and what follows directly, such as
            directives of a batch system.
        parts: paragraphs of the script.
        shell: what runs it.
        total: what it starts, where that is not what the job says.
    """
    head = _HEAD.substitute(
        shell=shell,
        script=quote_on_one_line([os.path.basename(job.script)]),
        starter=starter,
        total=total or job.total,
        command=quote_on_one_line(job.command),
    )
    directive = _TYPOGRAPHIC_QUOTES if re.search("[\u201c-\u201f]", "".join(parts)) else ""
    return "\n".join((f"{head}{comment}{directive}set -eu\n", *parts))


def options(usage: str, defaults: Iterable[tuple[str, str]]) -> str:
    """Return the reading of options that differ from run to run.

    Args:
        usage: the options in the line that explains the usage.
        defaults: variables and what they are without option and environment; the option of
            ``node_rank`` is ``--node-rank``, its environment variable ``NODE_RANK``.
    """
    variables = dict(defaults)
    named = {variable: f"--{variable.replace('_', '-')}" for variable in variables}
    return _OPTIONS.substitute(
        usage=usage,
        defaults="\n".join(
            f"{variable}=${{{variable.upper()}:-{value}}}" for variable, value in variables.items()
        ),
        assigned=" | ".join(f"{option}=*" for option in named.values()),
        separate=" | ".join(named.values()),
        cases="\n".join(
            f"        {option}) {variable}=$value ;;" for variable, option in named.items()
        ),
    )


def nccl_variables(job: Job) -> list[tuple[str, str]]:
    """Return what NCCL is told, beside how much it says."""
    found = []
    if job.nccl_socket_interface:
        found.append(("NCCL_SOCKET_IFNAME", job.nccl_socket_interface))
    if job.nccl_disable_infiniband:
        found.append(("NCCL_IB_DISABLE", "1"))
    return found


def environment(job: Job) -> str:
    """Return the export of what every process shall see."""
    lines = ['export NCCL_DEBUG="${NCCL_DEBUG:-WARN}"']
    lines += [
        f"export {variable}={quote(value)}"
        for variable, value in (*nccl_variables(job), *job.environment)
    ]
    return "\n".join(lines) + "\n"


def count_processes(job: Job) -> str:
    """Return the setting of `processes` to their number on a machine."""
    if job.processes_per_node is not None:
        return f"processes={job.processes_per_node}\n"
    return COUNT_GPUS.replace("$framework", _FRAMEWORKS[job.framework])


def expected_world_size(size: str | int) -> str:
    """Return the export of how many processes the script insists on."""
    return _EXPECTED_WORLD_SIZE.substitute(size=size)


def script_words(job: Job) -> list[str]:
    """Return the script, found from ``$folder``, and its arguments, for the shell."""
    folder = "" if os.path.isabs(job.script) else '"$folder"/'
    return [folder + quote(job.script), *map(quote, job.script_arguments), '"$@"']


def command_lines(words: Iterable[str]) -> str:
    """Return a command with a word on each line."""
    return " \\\n    ".join(words) + "\n"
