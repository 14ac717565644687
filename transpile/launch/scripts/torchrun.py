"""Launch target ``torchrun``: a POSIX shell script that is started on every node.

On one node, torchrun meets with itself. Several nodes of a fixed number meet at the node with rank
0; with restarts, or where nodes may come and go, c10d lets them meet again.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from string import Template

from transpile.launch.job import Job
from transpile.launch.scripts.script import (
    CHECK_MASTER,
    FOLDER,
    NO_EXPECTED_WORLD_SIZE,
    THREADS,
    command_lines,
    count_processes,
    environment,
    expected_world_size,
    options,
    script_words,
    shell_script,
)
from transpile.launch.scripts.shell import quote

FRAMEWORKS = ("pytorch",)

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

_CHECK_NODE_RANK = Template("""\
case $$node_rank in
    '') usage 'the rank of this node is missing' ;;
    *[!0-9]*) usage "the rank of this node is no number: $$node_rank" ;;
esac
[ "$$node_rank" -lt $nodes ] || usage "the rank of a node is less than $nodes: $$node_rank"
""")

LOGS = """\
# Each process writes into a folder of its own below LOG_DIR ($default), and
# its lines come here marked [worker0], [worker1] and so on, by its local rank.
"""


def files(job: Job) -> dict[str, str]:
    """Return the launch script under its name."""
    return {
        f"{job.stem}.torchrun.sh": shell_script(job, "torchrun", _usage(job), list(_parts(job)))
    }


def _parts(job: Job) -> Iterator[str]:
    if not os.path.isabs(job.script):
        yield FOLDER
    if job.nodes > 1:
        yield _options(job)
    yield environment(job)
    yield count_processes(job)
    yield THREADS
    if job.is_elastic:
        yield NO_EXPECTED_WORLD_SIZE
    else:
        size = '"$processes"' if job.nodes == 1 else f"$(({job.nodes} * processes))"
        yield expected_world_size(size)
    # Without the hyphens, torchrun takes a first argument -- of the script for its own.
    yield command_lines(["exec torchrun", *_torchrun_options(job), "--", *script_words(job)])


def _usage(job: Job) -> str:
    logs = LOGS.replace("$default", "torchrun-logs")
    if job.nodes == 1:
        return _ONE_NODE_USAGE + logs
    if job.meeting == "static":
        return _STATIC_USAGE.substitute(nodes=job.nodes, last_node=job.nodes - 1) + logs
    number = f"{job.min_nodes} to {job.nodes}" if job.is_elastic else f"{job.nodes}"
    return _C10D_USAGE.substitute(number=number) + logs


def _options(job: Job) -> str:
    """The reading of what differs from node to node."""
    master = (("master_addr", ""), ("master_port", "29500"))
    usage = "--master-addr HOST [--master-port PORT]"
    if job.meeting != "static":
        return options(usage, master) + CHECK_MASTER
    checks = _CHECK_NODE_RANK.substitute(nodes=job.nodes) + CHECK_MASTER
    return options(f"--node-rank RANK {usage}", (("node_rank", ""), *master)) + checks


def _torchrun_options(job: Job) -> Iterator[str]:
    if job.nodes == 1:
        yield "--standalone"
    else:
        least = f"{job.min_nodes}:" if job.is_elastic else ""
        yield f"--nnodes={least}{job.nodes}"
    yield '--nproc-per-node="$processes"'
    yield from (
        "--role=worker",
        '--log-dir="${LOG_DIR:-torchrun-logs}"',
        "--redirects=3",
        "--tee=3",
    )
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
