"""Launch target ``tf-multi-worker``: a shell script that tells TensorFlow's workers of each other.

TensorFlow has no launcher: each worker reads from ``TF_CONFIG`` who the others are.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from string import Template

from transpile.launch.job import Job
from transpile.launch.roles import plural
from transpile.launch.scripts.local_processes import START_PROCESSES, WAIT_FOR_WORKERS
from transpile.launch.scripts.paddle_nodes import nodes_options, nodes_usage
from transpile.launch.scripts.script import (
    COUNT_GPUS,
    FOLDER,
    THREADS,
    environment,
    expected_world_size,
    script_words,
    shell_script,
)

FRAMEWORKS = ("tensorflow",)

_LOGS = """\
# Lines of the output are marked with the number of the worker that wrote them, such as [worker-0];
# DIR (tensorflow-logs), or LOG_DIR in the environment, has a file for each.
"""
_PORT = "12345"
_START = Template("""\
addresses=
rest=$$nodes,
while [ -n "$$rest" ]; do
    index=0
    while [ "$$index" -lt "$$processes" ]; do
        addresses="$$addresses$${addresses:+, }\\"$${rest%%,*}:$$((port + index))\\""
        index=$$((index + 1))
    done
    rest=$${rest#*,}
done
workers=
index=0
while [ "$$index" -lt "$$processes" ]; do
    rank=$rank
    task="{\\"type\\": \\"worker\\", \\"index\\": $$rank}"
    start worker "$$rank" env \\
        TF_CONFIG="{\\"cluster\\": {\\"worker\\": [$$addresses]}, \\"task\\": $$task}" \\
        $command
    workers="$$workers $$pid"
    index=$$((index + 1))
done
""")


def files(job: Job) -> dict[str, str]:
    """Return the launch script under its name.

    Raises:
        ValueError: the job has no form here.
    """
    if job.restarts:
        raise ValueError("tf-multi-worker does not start processes again after a failure")
    usage = nodes_usage(job, _LOGS, _PORT)
    each = job.processes_without_gpus or job.gpus_per_node
    nodes = plural(job.nodes, "node")
    total = f"{nodes}, " + (
        "one worker for each GPU" if each is None else plural(job.nodes * each, "worker")
    )
    parts = list(_parts(job))
    text = shell_script(job, "TF_CONFIG for each worker", usage, parts, total=total)
    return {f"{job.stem}.tf-multi-worker.sh": text}


def _parts(job: Job) -> Iterator[str]:
    if not os.path.isabs(job.script):
        yield FOLDER
    # A single node has no need of its own address.
    reading = nodes_options(job, _PORT, "tensorflow-logs")
    yield reading.replace("\nnode=127.0.0.1\n", "\n")
    yield environment(job) + "export PYTHONUNBUFFERED=1\n"
    processes = job.processes_without_gpus or job.gpus_per_node
    counted = COUNT_GPUS.replace("$framework", "TensorFlow")
    yield counted if processes is None else f"processes={processes}\n"
    yield THREADS
    yield expected_world_size(f"$(({job.nodes} * processes))")
    yield START_PROCESSES
    rank = '"$index"' if job.nodes == 1 else "$((node_rank * processes + index))"
    command = " \\\n        ".join(("python3", *script_words(job)))
    yield _START.substitute(rank=rank, command=command)
    yield WAIT_FOR_WORKERS
