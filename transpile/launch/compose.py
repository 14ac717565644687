"""Launch target ``compose``: the containers of a job on one machine, for trying it.

Every pod that the job would have on Kubernetes is a service here, under a name that the others know
it by.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Mapping

from transpile.launch.job import Job
from transpile.launch.manifests import peers
from transpile.launch.manifests.manifest import Block, Noted, Object, Value, manifest
from transpile.launch.manifests.peers import Peers
from transpile.launch.manifests.pod import Pods, image, shared_memory, variables_of
from transpile.launch.quantity import mebibytes

FRAMEWORKS = peers.FRAMEWORKS

_FOLDER = "/workspace"
_MOST_CONTAINERS = 512
_INDEX = "SERVICE_INDEX"
_START = """\
Start it in the folder of this file; stop it with Ctrl-C, and remove it with `down`:
  docker compose -f THIS_FILE up --abort-on-container-failure"""
_SERVERS_STAY = """\
The servers do not end by themselves; when the workers have ended:
  docker compose -f THIS_FILE down"""
_LOGS = """\
Each line of the output begins with the service that wrote it, such as {service}; one alone, and
later:
  docker compose -f THIS_FILE logs {service}"""
_MOUNTED = """\
The containers see the folder of the script as /workspace."""
# An address is known to a container only once it runs.
_OWN_ADDRESS = "export {name}=$(hostname -i | cut -d ' ' -f 1)\n"
_REFERENCE = re.compile(r"\$\$|\$\(([A-Za-z_][A-Za-z0-9_]*)\)")


def files(job: Job) -> dict[str, str]:
    """Return the file for ``docker compose`` under its name.

    Raises:
        ValueError: the job has no form here.
    """
    if job.is_elastic:
        raise ValueError("the number of containers is fixed here")
    if job.namespace:
        raise ValueError("compose has no namespaces")
    roles = peers.pods(job, Peers(host=lambda role, index: f"{role}-{index}", index=_INDEX))
    if sum(pods.count for pods in roles) > _MOST_CONTAINERS:
        raise ValueError(f"one machine has at most {_MOST_CONTAINERS} containers here")
    services: dict[str, Value] = {
        f"{pods.role}-{index}": _service(job, pods, index)
        for pods in roles
        for index in range(pods.count)
    }
    named: dict[str, Value] = {
        volume.source: {} for volume in job.volumes if not volume.is_host_path
    }
    document: dict[str, Value] = {"name": job.label, "services": services}
    if named:
        document["volumes"] = named
    notes = [_START]
    if job.has_servers and job.framework != "mxnet":
        notes.append(_SERVERS_STAY)
    if _is_mounted(job):
        notes.append(_MOUNTED)
    service = f"{roles[-1].role}-0"
    notes += [_LOGS.format(service=service), _of_services(peers.logs(job))]
    text = manifest(job, "Docker Compose on one machine", notes, [document])
    return {f"{job.stem}.compose.yaml": text}


def _of_services(text: str) -> str:
    """What is said of pods, said of services."""
    text = text.replace("kubectl exec POD --", "docker compose -f THIS_FILE exec SERVICE")
    return re.sub(r"\bpod(?=s?\b)", "service", text)


def _is_mounted(job: Job) -> bool:
    return not job.work_directory and not os.path.isabs(job.script)


def _service(job: Job, pods: Pods, index: int) -> Object:
    variables, addresses = _variables(job, pods, index)
    words = list(pods.program.words)
    if addresses:
        exports = "".join(_OWN_ADDRESS.format(name=name) for name in addresses)
        words = ["sh", "-c", Block(f'{exports}exec "$@"\n'), "sh", *words]
    found: dict[str, Value] = {
        "image": image(job),
        "entrypoint": [_word(word, variables) for word in words],
        "command": list(map(_literal, pods.program.arguments)),
        "environment": {name: _literal(value) for name, value in variables.items()},
        "shm_size": f"{mebibytes(shared_memory(job, pods.resources))}m",
        "restart": "no",
    }
    if job.work_directory or _is_mounted(job):
        found["working_dir"] = _literal(job.work_directory or _FOLDER)
    if mounts := _mounts(job):
        found["volumes"] = mounts
    if deploy := _resources(pods, index):
        found["deploy"] = {"resources": deploy}
    return found


def _variables(job: Job, pods: Pods, index: int) -> tuple[dict[str, str], list[str]]:
    """The variables of a service, and those that hold its own address."""
    found, addresses = {_INDEX: str(index)}, []
    for name, value in variables_of(job, pods.program).items():
        text = value.get("value")
        if isinstance(text, Noted):
            # Networks of Docker Compose have the usual name of the interface.
            text = str(text.value)
        if isinstance(text, str):
            found[name] = _expanded(text, found)
        else:
            addresses.append(name)
    return found, addresses


def _mounts(job: Job) -> list[Value]:
    found: list[Value] = []
    if _is_mounted(job):
        folder = posixpath.join(".", os.path.dirname(job.script))
        found.append({"type": "bind", "source": _literal(folder), "target": _FOLDER})
    for volume in job.volumes:
        kind = "bind" if volume.is_host_path else "volume"
        one: dict[str, Value] = {
            "type": kind,
            "source": _literal(volume.source),
            "target": _literal(volume.path),
        }
        found.append({**one, "read_only": True} if volume.read_only else one)
    return found


def _resources(pods: Pods, index: int) -> Object:
    limits: dict[str, Value] = {}
    if pods.resources.cpus is not None:
        limits["cpus"] = f"{pods.resources.cpus.normalize():f}"
    if pods.resources.memory is not None:
        limits["memory"] = f"{mebibytes(pods.resources.memory)}m"
    found: dict[str, Value] = {"limits": limits} if limits else {}
    if pods.gpus:
        first = index * pods.gpus
        devices = [str(first + number) for number in range(pods.gpus)]
        device: Object = {"driver": "nvidia", "device_ids": devices, "capabilities": ["gpu"]}
        found["reservations"] = {"devices": [device]}
    return found


def _word(word: str | Block, variables: Mapping[str, str]) -> str | Block:
    if isinstance(word, Block):
        return Block(_literal(_expanded(word.text, variables)))
    return _literal(_expanded(word, variables))


def _expanded(text: str, variables: Mapping[str, str]) -> str:
    """What Kubernetes makes of a text that refers to variables."""

    def value(match: re.Match[str]) -> str:
        return "$" if match[1] is None else variables.get(match[1], match[0])

    return _REFERENCE.sub(value, text)


def _literal(text: str) -> str:
    """A text in which compose finds no variables."""
    return text.replace("$", "$$")
