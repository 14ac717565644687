"""Launch target ``ray``: a job for a Ray cluster, and the shell script that each machine runs.

The job reserves as many machines as it needs, all or none, and starts the script's processes on
each with the launcher of its framework. It needs no Ray Train, and the script knows nothing of Ray.
When one machine fails, all are stopped and the job fails.
"""

from __future__ import annotations

import json
import os
from pprint import pformat
from string import Template

from transpile.launch.job import Job
from transpile.launch.scripts import node_script
from transpile.launch.scripts.node_script import FRAMEWORKS as FRAMEWORKS
from transpile.launch.scripts.shell import quote_on_one_line

_DRIVER = Template('''\
#!/usr/bin/env python3
# Starts $script on a Ray cluster: $total.
#
# This command makes this file again, byte for byte:
#   $command
#
# Usage, in the folder of this file, which Ray takes to its machines:
#   ray job submit --working-dir . -- python $driver [ARGUMENT...]
# The arguments go to the training script, after those written in $shell.
# Ray marks each line of the output with the machine that it comes from. What the script writes to
# relative paths stays in Ray's copy of the folder: give it paths that all machines share.
import ctypes
import os
import signal
import socket
import subprocess
import sys

import ray
from ray.util.placement_group import placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

NODES = $nodes
EACH_NODE = $bundle
THREADS = $threads
SCRIPT = $shell_literal
FOLDER = os.path.dirname(os.path.abspath(__file__))


@ray.remote(max_concurrency=2)
class Node:
    """One machine of the job."""

    def __init__(self):
        self.process = None

    def address(self):
        """The address of this machine, and a port that nobody listens on."""
        with socket.socket() as free:
            free.bind(("", 0))
            return ray.util.get_node_ip_address(), free.getsockname()[1]

    def run(self, rank, addresses, port, arguments):
        """Run the script of a machine to its end."""
        told = {
            "NODE_RANK": rank,
            "NODES": ",".join(addresses),
            "NODE": addresses[rank],
            "MASTER_ADDR": addresses[0],
            "MASTER_PORT": port,
            "MASTER": f"{addresses[0]}:{port}",
            # Ray would have each process take the cores of all.
            "OMP_NUM_THREADS": THREADS,
            "PATH": os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]]),
        }
        self.process = subprocess.Popen(
            ["sh", os.path.join("." if os.path.exists(SCRIPT) else FOLDER, SCRIPT), *arguments],
            env={**os.environ, **{name: str(value) for name, value in told.items()}},
            preexec_fn=end_with_ray,
        )
        return self.process.wait()

    def stop(self):
        """Ask the script to end."""
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            self.process.wait()


def end_with_ray():
    """Let the launcher be told to end when Ray ends this process, however it does."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGTERM)


def main(arguments):
    """Run all machines; return the exit status of the first that fails, or 0."""
    ray.init()
    group = placement_group([EACH_NODE] * NODES, "STRICT_SPREAD" if NODES > 1 else "STRICT_PACK")
    print("Waiting for", NODES, "of", EACH_NODE, flush=True)
    ray.get(group.ready())
    asked = {"num_cpus": EACH_NODE["CPU"], "num_gpus": EACH_NODE.get("GPU", 0)}
    nodes = [
        Node.options(
            **asked, scheduling_strategy=PlacementGroupSchedulingStrategy(group, index)
        ).remote()
        for index in range(NODES)
    ]
    found = ray.get([node.address.remote() for node in nodes])
    addresses, port = [address for address, _ in found], found[0][1]
    running = [node.run.remote(i, addresses, port, arguments) for i, node in enumerate(nodes)]
    status = 0
    while running and not status:
        ended, running = ray.wait(running)
        try:
            status = ray.get(ended[0])
        except ray.exceptions.RayError as error:
            print(error, file=sys.stderr)
            status = 1
    if running:
        ray.wait([node.stop.remote() for node in nodes], num_returns=NODES, timeout=60)
    return 128 - status if status < 0 else status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
''')


def files(job: Job) -> dict[str, str]:
    """Return the job and the shell script of each machine, under their names.

    Raises:
        ValueError: the job has no form here.
    """
    job = node_script.counted(job, "Ray")
    shell, driver = f"{job.stem}.ray.sh", f"{job.stem}.ray.py"
    count = node_script.processes(job)
    cpus = job.worker_resources.cpus
    bundle: dict[str, float] = {"CPU": count if cpus is None else float(cpus)}
    if job.gpus_per_node is not None:
        bundle["GPU"] = job.gpus_per_node
        if job.gpu_type:
            bundle[f"accelerator_type:{job.gpu_type}"] = 0.001
    if job.worker_resources.memory is not None:
        bundle["memory"] = job.worker_resources.memory
    text = _DRIVER.substitute(
        script=quote_on_one_line([os.path.basename(job.script)]),
        total=job.total,
        command=quote_on_one_line(job.command),
        driver=quote_on_one_line([driver]),
        shell=quote_on_one_line([shell]),
        nodes=job.nodes,
        bundle=pformat(bundle, sort_dicts=False, width=80).replace("'", '"'),
        threads=max(1, int(bundle["CPU"] // count)),
        shell_literal=json.dumps(shell, ensure_ascii=False),
    )
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{job.script!r} cannot stand in a job for Ray: it is no text") from None
    return {driver: text, shell: node_script.node_script(job)}
