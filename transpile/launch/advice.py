"""Warnings about a job that starts, but will not do what is hoped for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from transpile.finding import Finding, Level
from transpile.launch.job import Job
from transpile.launch.quantity import memory_text
from transpile.launch.roles import cpus_amount

#: Bytes a second through the link of one machine.
NETWORKS = {"10GbE": 10e9 / 8, "25GbE": 25e9 / 8, "100Gb-IB": 100e9 / 8}

SMALL_SERVERS = "DT801"
NETWORK_BOUND = "DT802"
UNEVEN_BATCH = "DT803"
OLD_IMAGE = "DT804"
MANY_LOADERS = "DT805"
NOT_DISTRIBUTED = "DT806"

CODES = {
    SMALL_SERVERS: "the servers' memory is smaller than the model that they hold",
    NETWORK_BOUND: "how long the network takes for the gradients of a step",
    UNEVEN_BATCH: "the batch size does not divide by the number of processes",
    OLD_IMAGE: "the image has an MXNet whose workers cannot share a store",
    MANY_LOADERS: "more workers load data on a machine than it has CPUs",
    NOT_DISTRIBUTED: "the script that is launched trains in one process",
}
_BYTES_OF_A_PARAMETER = 4
# A forward pass multiplies and adds once with each parameter of a dense layer, a backward pass
# twice; and this is what a GPU of the data centre sustains in single precision.
_FLOP_OF_A_PARAMETER = 6
_FLOPS_OF_A_GPU = 10e12
#: The first version whose packages are built with USE_DIST_KVSTORE.
_OLDEST_MXNET = (1, 2, 1)


@dataclass(frozen=True)
class Workload:
    """What is known of the training itself.

    Args:
        parameters: of the model; None where nobody has said.
        batch_size: that the script divides among all processes; None where it is not known.
        step_seconds: how long one process computes a step; None where nobody has said.
        network: what connects the machines, one of `NETWORKS`; empty where nobody has said.
        loader_workers: what each process starts to load its data; None where it is not known.
        is_single: the script trains in one process.
    """

    parameters: int | None = None
    batch_size: int | None = None
    step_seconds: float | None = None
    network: str = ""
    loader_workers: int | None = None
    is_single: bool = False

    @property
    def size(self) -> int:
        """Bytes of all parameters, and so of all gradients, in single precision."""
        return (self.parameters or 0) * _BYTES_OF_A_PARAMETER


def advice(job: Job, workload: Workload, path: str) -> Iterator[Finding]:
    """Yield what a person should look at before starting `job`.

    Args:
        job: what is started.
        workload: what is known of the training.
        path: how findings name the script.
    """

    def finding(code: str, level: Level, message: str, todo: str = "") -> Finding:
        return Finding(code, level, path, 0, 0, message, todo)

    if workload.is_single:
        yield finding(
            NOT_DISTRIBUTED,
            Level.WARNING,
            "the script is not distributed: every process that is started would train the whole "
            "model by itself, and write the same files",
            "Convert it first, and launch what is written: disttranspile SCRIPT -o OUTPUT --launch "
            "TARGET does both.",
        )
    server = job.role("server")
    held = workload.size // max(job.server_count, 1)
    if server and workload.parameters and server.resources.memory is not None:
        if server.resources.memory < held:
            yield finding(
                SMALL_SERVERS,
                Level.WARNING,
                f"each of {job.server_count} servers holds {_gigabytes(held)} of parameters in "
                f"{memory_text(server.resources.memory)} of memory",
                "Give them more --memory server=SIZE, or the job more --servers.",
            )
    if workload.network:
        yield finding(NETWORK_BOUND, *_network(job, workload))
    version = _mxnet_of(job.image or job.container) if job.framework == "mxnet" else ()
    if version and version < _OLDEST_MXNET[: len(version)]:
        yield finding(
            OLD_IMAGE,
            Level.WARNING,
            f"{job.image or job.container} has MXNet {'.'.join(map(str, version))} by its tag",
            "Take an image with MXNet 1.2.1 or later, built with USE_DIST_KVSTORE.",
        )
    processes, cpus = job.processes_per_node, job.worker_resources.cpus
    loaders = (processes or 0) * (workload.loader_workers or 0)
    if processes and cpus is not None and loaders > cpus:
        yield finding(
            MANY_LOADERS,
            Level.NOTE,
            f"{processes} processes with {workload.loader_workers} loader workers each are "
            f"{loaders} workers on a machine of {cpus_amount(cpus)}",
            f"Give each loader at most {int(cpus // processes)} workers, or the machines more "
            "--cpus.",
        )
    size, batch = job.world_size, workload.batch_size
    if size and batch and batch % size:
        nearest = max(1, round(batch / size)) * size
        yield finding(
            UNEVEN_BATCH,
            Level.WARNING,
            f"the batch size {batch} does not divide by {size} processes, and the script will not "
            "start with it",
            f"The nearest that does is {nearest}.",
        )


def _mxnet_of(image: str) -> tuple[int, ...]:
    """The version of MXNet that an image names in its tag; empty where it says none.

    NVIDIA's images are counted by year and month.
    """
    found = re.match(r"(?P<name>.*mxnet[^:@]*):v?(?P<version>\d+\.\d+(?:\.\d+)?)(?![\d.])", image)
    if found is None or found["name"].startswith("nvcr.io/"):
        return ()
    return tuple(int(part) for part in found["version"].split("."))


def _network(job: Job, workload: Workload) -> tuple[Level, str, str]:
    """What the network takes, against what a step computes; with the reasoning."""
    machines = job.worker_count + job.server_count
    if machines == 1:
        return Level.NOTE, f"one machine needs no {workload.network} to train", ""
    if workload.parameters is None:
        return (
            Level.NOTE,
            f"whether training waits for {workload.network} depends on the size of the model",
            "Say how many --parameters it has.",
        )
    moved, why = _moved(job, workload.size)
    seconds = moved / NETWORKS[workload.network]
    reasoning = (
        f"{workload.parameters} parameters of {_BYTES_OF_A_PARAMETER} bytes are "
        f"{_gigabytes(workload.size)}; {why}, {_gigabytes(moved)} a step, which takes "
        f"{seconds:.3g} s at the {NETWORKS[workload.network] / 1e9:.3g} GB/s of {workload.network}"
    )
    computed, how = _computed(job, workload)
    if computed is None:
        return (
            Level.NOTE,
            f"training waits for the network unless a step computes longer: {reasoning}",
            "Say with --step-time how many seconds one process computes a step.",
        )
    if seconds > computed:
        return (
            Level.WARNING,
            f"training waits for the network: {reasoning}, and {how} {computed:.3g} s",
            "Use a faster network, larger batches or accumulated gradients, or compress them.",
        )
    return Level.NOTE, f"the network keeps up: {reasoning}, and {how} {computed:.3g} s", ""


def _moved(job: Job, size: int) -> tuple[float, str]:
    """Bytes through the busiest link in a step, and why."""
    if job.has_servers:
        share = max(1.0, job.worker_count / job.server_count)
        return 2 * share * size, (
            f"{job.worker_count} workers push them to {job.server_count} servers and pull the "
            "result, through the busiest link"
        )
    return 2 * (job.nodes - 1) / job.nodes * size, (
        f"a ring over {job.nodes} nodes moves 2 (n - 1) / n of that through every link"
    )


def _computed(job: Job, workload: Workload) -> tuple[float | None, str]:
    """Seconds in which a step is computed, and how that is known."""
    if workload.step_seconds is not None:
        return workload.step_seconds, "a step is said to compute for"
    if workload.batch_size is None or workload.parameters is None:
        return None, ""
    share = workload.batch_size / (job.world_size or job.worker_count)
    flop = _FLOP_OF_A_PARAMETER * workload.parameters * share
    return flop / _FLOPS_OF_A_GPU, (
        f"{share:g} samples of {_FLOP_OF_A_PARAMETER} operations on each parameter, as in dense "
        f"layers, compute at {_FLOPS_OF_A_GPU / 1e12:g} TFLOP/s for"
    )


def _gigabytes(amount: float) -> str:
    return f"{amount / 1e9:.3g} GB"
