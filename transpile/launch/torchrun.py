"""Launch target ``torchrun``: a POSIX shell script that is started on every node.

On one node, torchrun meets with itself. Several nodes of a fixed number meet at the node with rank
0; with restarts, or where nodes may come and go, c10d lets them meet again.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from string import Template

from transpile.launch.job import Job
from transpile.launch.shell import quote, quote_on_one_line

FRAMEWORKS = ("pytorch",)

_HEAD = Template("""\
#!/bin/sh
# Starts $script with torchrun: $total.
#
# This command makes this file again, byte for byte:
#   $command
#
""")

_ONE_NODE_USAGE = """\
# Usage: sh THIS_FILE [ARGUMENT...]
# The arguments go to the training script, after those written below.
"""

_STATIC_USAGE = Template("""\
# Run it on each of the $nodes nodes, with the node's own rank from 0 to $last_node:
#   sh THIS_FILE --node-rank RANK --master-addr HOST [--master-port PORT] [--] [ARGUMENT...]
# HOST is how the others reach the node with rank 0. NODE_RANK, MASTER_ADDR and MASTER_PORT in the
# environment do the same. The arguments go to the training script, after those written below.
""")

_C10D_USAGE = Template("""\
# Run it on each of the $number nodes:
#   sh THIS_FILE --master-addr HOST [--master-port PORT] [--] [ARGUMENT...]
# HOST is one of the nodes, the same for all: the name or address by which it knows itself and the
# others reach it. MASTER_ADDR and MASTER_PORT in the environment do the same. The arguments go to
# the training script, after those written below.
""")

_TYPOGRAPHIC_QUOTES = """\
# Typographic quotes are meant.
# shellcheck disable=SC1111
"""

_FOLDER = """\
case $0 in
    /*) folder=${0%/*} ;;
    */*) folder=./${0%/*} ;;
    *) folder=. ;;
esac
"""

_OPTIONS = Template("""\
usage() {
    printf '%s\\n' "$$0: $$1" "usage: $$0 $usage [--master-port PORT] [--] [ARGUMENT...]" >&2
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

_CHECK_NODE_RANK = Template("""\
case $$node_rank in
    '') usage 'the rank of this node is missing' ;;
    *[!0-9]*) usage "the rank of this node is no number: $$node_rank" ;;
esac
[ "$$node_rank" -lt $nodes ] || usage "the rank of a node is less than $nodes: $$node_rank"
""")

_CHECK_MASTER = """\
case $master_addr in
    '') usage 'the address of the node where all meet is missing' ;;
    \\[*) ;;
    *:*) master_addr="[$master_addr]" ;;
esac
case $master_port in
    '' | *[!0-9]*) usage "the port is no number: $master_port" ;;
esac
"""

_COUNT_GPUS = """\
# One process for each GPU that PyTorch will see, one process without.
if [ -n "${CUDA_VISIBLE_DEVICES+set}" ]; then
    processes=$(printf '%s\\n' "$CUDA_VISIBLE_DEVICES" | tr ',' '\\n' | grep -c '^ *[0-9GM]') || :
else
    processes=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU ') || :
fi
[ "$processes" -gt 0 ] || processes=1
"""

_THREADS = """\
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

_ELASTIC_WORLD_SIZE = """\
# Nodes may come and go: there is no number of processes to insist on.
unset EXPECTED_WORLD_SIZE
"""


def files(job: Job) -> dict[str, str]:
    """Return the launch script under its name."""
    return {f"{job.stem}.torchrun.sh": "\n".join(_parts(job))}


def _parts(job: Job) -> Iterator[str]:
    rest = list(_body(job))
    directive = _TYPOGRAPHIC_QUOTES if re.search("[\u201c-\u201f]", "".join(rest)) else ""
    yield _head(job) + _usage(job) + directive + "set -eu\n"
    yield from rest


def _body(job: Job) -> Iterator[str]:
    if not os.path.isabs(job.script):
        yield _FOLDER
    if job.nodes > 1:
        yield _options(job)
    yield _environment(job)
    yield _COUNT_GPUS if job.gpus_per_node is None else f"processes={job.gpus_per_node}\n"
    yield _THREADS
    if job.is_elastic:
        yield _ELASTIC_WORLD_SIZE
    else:
        size = '"$processes"' if job.nodes == 1 else f"$(({job.nodes} * processes))"
        yield _EXPECTED_WORLD_SIZE.substitute(size=size)
    yield _command(job)


def _head(job: Job) -> str:
    return _HEAD.substitute(
        script=quote_on_one_line([os.path.basename(job.script)]),
        total=job.total,
        command=quote_on_one_line(job.command),
    )


def _usage(job: Job) -> str:
    if job.nodes == 1:
        return _ONE_NODE_USAGE
    if job.meeting == "static":
        return _STATIC_USAGE.substitute(nodes=job.nodes, last_node=job.nodes - 1)
    number = f"{job.min_nodes} to {job.nodes}" if job.is_elastic else f"{job.nodes}"
    return _C10D_USAGE.substitute(number=number)


def _options(job: Job) -> str:
    """The reading of what differs from node to node."""
    defaults = {"master_addr": "", "master_port": "29500"}
    usage = "--master-addr HOST"
    checks = _CHECK_MASTER
    if job.meeting == "static":
        defaults = {"node_rank": "", **defaults}
        usage = f"--node-rank RANK {usage}"
        checks = _CHECK_NODE_RANK.substitute(nodes=job.nodes) + checks
    options = {variable: f"--{variable.replace('_', '-')}" for variable in defaults}
    return (
        _OPTIONS.substitute(
            usage=usage,
            defaults="\n".join(
                f"{variable}=${{{variable.upper()}:-{value}}}"
                for variable, value in defaults.items()
            ),
            assigned=" | ".join(f"{option}=*" for option in options.values()),
            separate=" | ".join(options.values()),
            cases="\n".join(
                f"        {option}) {variable}=$value ;;" for variable, option in options.items()
            ),
        )
        + checks
    )


def _environment(job: Job) -> str:
    lines = ['export NCCL_DEBUG="${NCCL_DEBUG:-WARN}"']
    if job.nccl_socket_interface:
        lines.append(f"export NCCL_SOCKET_IFNAME={quote(job.nccl_socket_interface)}")
    if job.nccl_disable_infiniband:
        lines.append("export NCCL_IB_DISABLE=1")
    lines += [f"export {variable}={quote(value)}" for variable, value in job.environment]
    return "\n".join(lines) + "\n"


def _command(job: Job) -> str:
    words = ["exec torchrun", *_torchrun_options(job)]
    folder = "" if os.path.isabs(job.script) else '"$folder"/'
    # Without this, torchrun takes a first argument -- of the script for its own.
    words.append("--")
    words.append(folder + quote(job.script))
    words += [quote(argument) for argument in job.script_arguments]
    words.append('"$@"')
    return " \\\n    ".join(words) + "\n"


def _torchrun_options(job: Job) -> Iterator[str]:
    if job.nodes == 1:
        yield "--standalone"
    else:
        least = f"{job.min_nodes}:" if job.is_elastic else ""
        yield f"--nnodes={least}{job.nodes}"
    yield '--nproc-per-node="$processes"'
    if job.restarts:
        yield f"--max-restarts={job.restarts}"
    if job.nodes > 1 and job.meeting == "static":
        yield '--node-rank="$node_rank"'
        yield '--master-addr="$master_addr"'
        yield '--master-port="$master_port"'
    elif job.nodes > 1:
        yield "--rdzv-backend=c10d"
        yield '--rdzv-endpoint="$master_addr:$master_port"'
        yield f"--rdzv-id={quote(job.title)}"
