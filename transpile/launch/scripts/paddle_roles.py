"""Processes of Paddle that are told their role and addresses one by one.

The launchers of Paddle start servers and workers in equal numbers or on one machine only, and that
of 1.3 and older neither passes variables on nor tells of a failure.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from string import Template

from transpile.launch.job import Job
from transpile.launch.scripts.local_processes import START_PROCESSES, WAIT_FOR_WORKERS
from transpile.launch.scripts.paddle_nodes import UNSET, arguments_usage, nodes_options, nodes_usage
from transpile.launch.scripts.script import (
    FOLDER,
    THREADS,
    count_processes,
    environment,
    expected_world_size,
    options,
    script_words,
)

_LOGS = """\
# Lines of the output are marked with the role and number of the process that wrote them, such as
# [worker-0]; DIR (paddle-logs), or LOG_DIR in the environment, has a file for each.
"""
_HERE = """\
# Usage: sh THIS_FILE [--port PORT] [--log-dir DIR] [--] [ARGUMENT...]
# It starts all servers and workers on this machine, the servers on PORT (6170) and those after it.
"""
_EACH = """\
# Run it once for each process, on any machine, the servers first:
#   sh THIS_FILE --role ROLE --index INDEX --servers LIST [--log-dir DIR] [--] [ARGUMENT...]
# ROLE is server or worker, INDEX its number from 0, LIST the IP:PORT of all servers with commas in
# between. ROLE, INDEX and SERVERS in the environment do the same. Servers do not end by themselves:
# stop them once the workers have ended.
"""

_CHECK_PORT = """\
case $port in
    '' | *[!0-9]*) usage "the port is no number: $port" ;;
esac
endpoints=127.0.0.1:$port
index=1
while [ "$index" -lt $servers ]; do
    endpoints=$endpoints,127.0.0.1:$((port + index))
    index=$((index + 1))
done
"""
_CHECK_ROLE = Template("""\
endpoints=$$servers
count=0
endpoint=
rest=$$servers,
while [ -n "$$rest" ]; do
    case $${rest%%,*} in
        ?*:[0-9]*) ;;
        *) usage "the addresses of the servers are missing, or are not IP:PORT,...: $$servers" ;;
    esac
    [ "$$count" != "$$index" ] || endpoint=$${rest%%,*}
    rest=$${rest#*,}
    count=$$((count + 1))
done
[ "$$count" -eq $servers ] || usage "these are not the addresses of $servers servers: $$servers"
case $$index in
    '' | *[!0-9]*) usage "the index of this process is no number: $$index" ;;
esac
case $$role in
    server) most=$servers ;;
    worker) most=$workers ;;
    *) usage "the role of this process is server or worker, not: $$role" ;;
esac
[ "$$index" -lt "$$most" ] || usage "the index of a $$role is less than $$most: $$index"
""")

_ROLES = Template("""\
server() {
    index=$$1
    endpoint=$$2
    shift 2
    start server "$$index" env \\
        TRAINING_ROLE=PSERVER \\
        PADDLE_PSERVERS_IP_PORT_LIST="$$endpoints" \\
        PADDLE_TRAINERS_NUM=$workers \\
        POD_IP="$${endpoint%:*}" \\
        PADDLE_PORT="$${endpoint##*:}" \\
        PADDLE_CURRENT_ENDPOINT="$$endpoint" \\
        $command
}

worker() {
    index=$$1
    shift
    start worker "$$index" env \\
        TRAINING_ROLE=TRAINER \\
        PADDLE_PSERVERS_IP_PORT_LIST="$$endpoints" \\
        PADDLE_TRAINERS_NUM=$workers \\
        PADDLE_TRAINER_ID="$$index" \\
        $command
    workers="$$workers $$pid"
}

workers=
""")
_START_ALL = Template("""\
number=0
while [ "$$number" -lt $servers ]; do
    server "$$number" "127.0.0.1:$$((port + number))" "$$@"
    number=$$((number + 1))
done
number=0
while [ "$$number" -lt $workers ]; do
    worker "$$number" "$$@"
    number=$$((number + 1))
done
""")
_START_ONE = """\
if [ "$role" = server ]; then
    server "$index" "$endpoint" "$@"
    workers=$pid
else
    worker "$index" "$@"
fi
"""

_COLLECTIVE = Template("""\
# NCCL2 mode of Fluid reads these.
endpoints=
rest=$$nodes,
while [ -n "$$rest" ]; do
    local_rank=0
    while [ "$$local_rank" -lt "$$processes" ]; do
        endpoints=$$endpoints$${endpoints:+,}$${rest%%,*}:$$((port + local_rank))
        local_rank=$$((local_rank + 1))
    done
    rest=$${rest#*,}
done
workers=
local_rank=0
while [ "$$local_rank" -lt "$$processes" ]; do
    rank=$rank
    start worker "$$rank" env \\
        FLAGS_selected_gpus="$$local_rank" \\
        PADDLE_TRAINER_ID="$$rank" \\
        PADDLE_CURRENT_ENDPOINT="$$node:$$((port + local_rank))" \\
        PADDLE_TRAINERS_NUM="$$EXPECTED_WORLD_SIZE" \\
        PADDLE_TRAINER_ENDPOINTS="$$endpoints" \\
        $command
    workers="$$workers $$pid"
    local_rank=$$((local_rank + 1))
done
""")


def servers_and_workers(job: Job) -> tuple[str, list[str]]:
    """Return usage and parts of a script that starts parameter servers and workers."""
    return (_HERE if job.nodes == 1 else _EACH) + arguments_usage(_LOGS), list(_ps_parts(job))


def collective(job: Job) -> tuple[str, list[str]]:
    """Return usage and parts of a script that starts processes for Paddle 1.3 and older."""
    return nodes_usage(job, _LOGS), list(_collective_parts(job))


def _ps_parts(job: Job) -> Iterator[str]:
    numbers = {"servers": str(job.server_count), "workers": str(job.worker_count)}
    if not os.path.isabs(job.script):
        yield FOLDER
    yield UNSET
    log = ("log_dir", "paddle-logs")
    if job.nodes == 1:
        reading = options("[--port PORT] [--log-dir DIR]", (("port", "6170"), log))
        yield reading + _CHECK_PORT.replace("$servers", numbers["servers"])
    else:
        usage = "--role ROLE --index INDEX --servers LIST [--log-dir DIR]"
        variables = (("role", ""), ("index", ""), ("servers", ""), log)
        yield options(usage, variables) + _CHECK_ROLE.substitute(numbers)
    yield environment(job) + "export PYTHONUNBUFFERED=1\n"
    yield expected_world_size(job.worker_count)
    yield START_PROCESSES
    yield _ROLES.substitute(numbers, command=_command(job))
    yield _START_ALL.substitute(numbers) if job.nodes == 1 else _START_ONE
    yield WAIT_FOR_WORKERS


def _collective_parts(job: Job) -> Iterator[str]:
    if not os.path.isabs(job.script):
        yield FOLDER
    yield UNSET
    yield nodes_options(job)
    yield environment(job) + "export PYTHONUNBUFFERED=1\n"
    yield count_processes(job)
    yield THREADS
    yield expected_world_size(f"$(({job.nodes} * processes))")
    yield START_PROCESSES
    rank = '"$local_rank"' if job.nodes == 1 else "$((node_rank * processes + local_rank))"
    yield _COLLECTIVE.substitute(rank=rank, command=_command(job))
    yield WAIT_FOR_WORKERS


def _command(job: Job) -> str:
    return " \\\n        ".join(("python3", *script_words(job)))
