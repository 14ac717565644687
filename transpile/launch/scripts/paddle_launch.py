"""Launch target ``paddle-launch``: a shell script around ``paddle.distributed.launch``.

The options of that program changed with 2.3. Where it cannot start what a job wants, the script
starts the processes itself, with the variables that the program would have set.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from string import Template

from transpile.launch.job import Job
from transpile.launch.scripts import paddle_roles
from transpile.launch.scripts.paddle_nodes import UNSET, arguments_usage, nodes_options, nodes_usage
from transpile.launch.scripts.script import (
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

FRAMEWORKS = ("fluid", "paddle")

_LOGS = """\
# DIR (paddle-logs), or LOG_DIR in the environment, has a file for each process: workerlog.0,
# workerlog.1 and so on, by its local rank. What comes here is from the first of them, if any.
"""
_HERE = """\
# Usage: sh THIS_FILE [--log-dir DIR] [--] [ARGUMENT...]
# It starts all processes on this machine.
"""
_MASTER = Template("""\
# Run it on each of the $nodes nodes, with the node's own rank from 0 to $last_node:
#   sh THIS_FILE --node-rank RANK --master IP:PORT [--log-dir DIR] [--] [ARGUMENT...]
# IP is the address of the node with rank 0. NODE_RANK and MASTER in the environment do the same.
""")
_ETCD = Template("""\
# Run it on each of the $number nodes:
#   sh THIS_FILE --master etcd://HOST:PORT [--log-dir DIR] [--] [ARGUMENT...]
# That server of etcd, which is yours to start, knows which nodes are there. MASTER in the
# environment does the same.
""")

_CHECK_MASTER = Template("""\
case $$node_rank in
    '') usage 'the rank of this node is missing' ;;
    *[!0-9]*) usage "the rank of this node is no number: $$node_rank" ;;
esac
[ "$$node_rank" -lt $nodes ] || usage "the rank of a node is less than $nodes: $$node_rank"
case $$master in
    ?*:[0-9]*) ;;
    *) usage "where all meet is missing, or is not IP:PORT: $$master" ;;
esac
""")
_CHECK_ETCD = """\
case $master in
    etcd://?*:[0-9]*) ;;
    *) usage "where all meet is missing, or is not etcd://HOST:PORT: $master" ;;
esac
"""

_GPUS = """\
gpus=0
while [ "${gpus##*,}" -lt $((processes - 1)) ]; do
    gpus=$gpus,$((${gpus##*,} + 1))
done
"""
_NO_GPU = """\
# An empty list of GPUs is a GPU without a name to the launcher.
if [ -z "${CUDA_VISIBLE_DEVICES-0}" ] && ! nvidia-smi -L >/dev/null 2>&1; then
    unset CUDA_VISIBLE_DEVICES
fi
"""
_LAUNCHER = "exec python3 -m paddle.distributed.launch"


def files(job: Job) -> dict[str, str]:
    """Return the launch script under its name.

    Raises:
        ValueError: the job has no form here.
    """
    version = job.paddle_version or ("1.8" if job.framework == "fluid" else "3")
    if job.is_elastic and version != "3":
        raise ValueError(f"Paddle {version} has no elastic jobs: their number is fixed")
    if job.restarts and (version != "3" or job.has_servers):
        raise ValueError("only Paddle 3 without servers starts processes again after a failure")
    starter = "Paddle's launcher"
    if job.has_servers:
        starter = "a role for each process"
        usage, parts = paddle_roles.servers_and_workers(job)
    elif version == "3":
        usage, parts = _usage_3(job), list(_parts_3(job))
    elif job.processes_without_gpus is not None:
        raise ValueError("Fluid trains without servers on GPUs alone: say --gpus-per-node")
    elif version == "1.8":
        usage, parts = nodes_usage(job, _LOGS), list(_parts_1(job))
    else:
        starter = "a role for each process"
        usage, parts = paddle_roles.collective(job)
    return {f"{job.stem}.paddle.sh": shell_script(job, starter, usage, parts)}


def _usage_3(job: Job) -> str:
    if job.nodes == 1:
        usage = _HERE
    elif job.is_elastic:
        usage = _ETCD.substitute(number=f"{job.min_nodes} to {job.nodes}")
    else:
        usage = _MASTER.substitute(nodes=job.nodes, last_node=job.nodes - 1)
    return usage + arguments_usage(_LOGS)


def _parts_3(job: Job) -> Iterator[str]:
    """The launcher of 2.3 and later: all meet at a master, or at etcd."""
    if not os.path.isabs(job.script):
        yield FOLDER
    yield UNSET
    yield _options_3(job)
    yield environment(job)
    yield count_processes(job)
    yield THREADS
    yield _NO_GPU
    size = f"$(({job.nodes} * processes))"
    yield NO_EXPECTED_WORLD_SIZE if job.is_elastic else expected_world_size(size)
    yield command_lines([_LAUNCHER, *_words_3(job), *script_words(job)])


def _options_3(job: Job) -> str:
    log = ("log_dir", "paddle-logs")
    if job.nodes == 1:
        return options("[--log-dir DIR]", (log,))
    if job.is_elastic:
        reading = options("--master etcd://HOST:PORT [--log-dir DIR]", (("master", ""), log))
        return reading + _CHECK_ETCD
    usage = "--node-rank RANK --master IP:PORT [--log-dir DIR]"
    reading = options(usage, (("node_rank", ""), ("master", ""), log))
    return reading + _CHECK_MASTER.substitute(nodes=job.nodes)


def _words_3(job: Job) -> Iterator[str]:
    if job.is_elastic:
        yield from ('--master="$master"', f"--nnodes={job.min_nodes}:{job.nodes}")
        yield from ("--elastic_level=1", f"--job_id={job.label}")
    elif job.nodes > 1:
        yield from ('--master="$master"', f"--nnodes={job.nodes}", '--rank="$node_rank"')
    # Left to itself, the launcher starts all again three times.
    yield f"--max_restart={job.restarts}"
    yield '--nproc_per_node="$processes"'
    yield '--log_dir="$log_dir"'


def _parts_1(job: Job) -> Iterator[str]:
    """The launcher of 1.4 to 2.2: every node is told the addresses of all."""
    if not os.path.isabs(job.script):
        yield FOLDER
    yield UNSET
    yield nodes_options(job)
    yield environment(job)
    yield count_processes(job)
    yield _GPUS
    yield THREADS
    yield expected_world_size(f"$(({job.nodes} * processes))")
    words = ['--cluster_node_ips="$nodes"', '--node_ip="$node"', '--started_port="$port"']
    words += ['--selected_gpus="$gpus"', '--log_dir="$log_dir"']
    yield command_lines([_LAUNCHER, *words, *script_words(job)])
