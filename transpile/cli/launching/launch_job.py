"""From what was chosen to the job that launch targets are given."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from transpile.cli.launching.launch_options import split_role, split_variable
from transpile.cli.launching.launch_settings import ARGUMENTS
from transpile.launch.advice import Workload
from transpile.launch.job import Job
from transpile.launch.manifests.volumes import parse_volume
from transpile.launch.quantity import parse_count, parse_cpus, parse_memory, parse_time
from transpile.launch.roles import Framework, Resources

# Choices that the job has under the same or another name, as they are.
_PLAIN = {
    "name": "name",
    "nodes": "nodes",
    "min_nodes": "min_nodes",
    "gpus_per_node": "gpus_per_node",
    "processes_per_node": "processes_without_gpus",
    "gpu_type": "gpu_type",
    "workers": "workers",
    "servers": "servers",
    "max_restarts": "max_restarts",
    "rendezvous": "rendezvous",
    "nccl_socket_ifname": "nccl_socket_interface",
    "nccl_ib_disable": "nccl_disable_infiniband",
    "partition": "partition",
    "container": "container",
    "image": "image",
    "workdir": "work_directory",
    "namespace": "namespace",
    "trainer_version": "trainer_version",
    "paddle_version": "paddle_version",
    "mpi": "mpi",
    "dmlc_launcher": "dmlc_launcher",
}


def make_job(
    script: str,
    framework: Framework,
    choices: Mapping[str, Any],
    command: tuple[str, ...],
    arguments: tuple[str, ...],
    has_servers: bool,
) -> Job:
    """Return the job of a script.

    Args:
        script: as the launch file sees it.
        framework: what it trains with.
        choices: by the names of the options.
        command: the words that make the launch file again.
        arguments: of the script; where there are none, those of the project count.
        has_servers: the script shares gradients through parameter servers.

    Raises:
        ValueError: the choices contradict each other.
    """
    found: dict[str, Any] = {
        field: choices[name] for name, field in _PLAIN.items() if name in choices
    }
    for role, amounts in _amounts(choices).items():
        found[f"{role}_resources"] = Resources(*amounts)
    variables = dict(map(split_variable, choices.get("env", ())))
    return Job(
        script=script,
        command=command,
        framework=framework,
        mode="pserver" if has_servers else "collective",
        script_arguments=script_arguments(choices, arguments),
        environment=tuple(variables.items()),
        volumes=tuple(map(parse_volume, choices.get("volume", ()))),
        shared_memory=parse_memory(choices["shm"]) if "shm" in choices else None,
        time_limit=parse_time(choices["time"]) if "time" in choices else None,
        **found,
    )


def make_workload(
    choices: Mapping[str, Any],
    batch_size: int | None,
    loader_workers: int | None = None,
    *,
    is_single: bool = False,
) -> Workload:
    """Return what is known of the training itself."""
    return Workload(
        parameters=parse_count(choices["parameters"]) if "parameters" in choices else None,
        batch_size=batch_size,
        step_seconds=float(choices["step_time"]) if "step_time" in choices else None,
        network=choices.get("network", ""),
        loader_workers=loader_workers,
        is_single=is_single,
    )


def script_arguments(choices: Mapping[str, Any], arguments: tuple[str, ...]) -> tuple[str, ...]:
    """Return the arguments of the script: those given, or else the project's."""
    return arguments or choices.get(ARGUMENTS, ())


def _amounts(choices: Mapping[str, Any]) -> dict[str, tuple[Decimal | None, int | None]]:
    cpus = {role: parse_cpus(text) for role, text in map(split_role, choices.get("cpus", ()))}
    memory = {role: parse_memory(text) for role, text in map(split_role, choices.get("memory", ()))}
    return {role: (cpus.get(role), memory.get(role)) for role in {*cpus, *memory}}
