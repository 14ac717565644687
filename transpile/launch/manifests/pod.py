"""What the pods of all Kubernetes targets have in common."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from transpile.launch.job import PLACEHOLDER_IMAGE, Job
from transpile.launch.manifests.manifest import Block, Noted, Object, Value
from transpile.launch.quantity import cpus_text, memory_text
from transpile.launch.roles import Resources

#: What holds the job's name and the role on each pod: labels that Kubernetes recommends.
NAME_LABEL = "app.kubernetes.io/instance"
ROLE_LABEL = "app.kubernetes.io/component"

#: Texts, in which ``$(NAME)`` stands for another variable, or where else a value comes from.
Variables = Mapping[str, str | Object]

_INTERFACE = "NCCL_SOCKET_IFNAME"
_USUAL_INTERFACE = "eth0"
_MOST_SHARED_MEMORY = 8 * 2**30
_SHARED_MEMORY_PATH = "/dev/shm"
#: A reference as container engines read it: registry, path, tag and digest.
_IMAGE = re.compile(r"[A-Za-z0-9\[][A-Za-z0-9._/:@\[\]-]*")
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_SUBDOMAIN = re.compile(r"(?=.{1,253}$)[a-z0-9]([-a-z0-9.]*[a-z0-9])?")


@dataclass(frozen=True)
class Program:
    """What a container runs.

    Args:
        words: the command, up to the arguments of the script; may refer to variables.
        arguments: the script and its arguments, passed on as they are.
        variables: what the command and the script need to know.
        injected: variables that the operator adds.
    """

    words: tuple[str | Block, ...]
    arguments: tuple[str, ...]
    variables: Variables = field(default_factory=dict)
    injected: tuple[str, ...] = ()


@dataclass(frozen=True)
class Pods:
    """Pods that do the same.

    Args:
        role: what they do, as their labels say it.
        count: how many there are; of an elastic job, the most.
        program: what they run.
        gpus: GPUs of each.
        resources: what else each is asked for.
    """

    role: str
    count: int
    program: Program
    gpus: int = 0
    resources: Resources = field(default_factory=Resources)


def literal(text: str) -> str:
    """Return `text` such that Kubernetes, which replaces ``$(NAME)`` in it, leaves it as it is.

    Two dollar signs stand for one, a single one before anything but a parenthesis for itself.
    """
    return re.sub(r"\$+(?=\()|\$\$+", lambda match: match[0] * 2, text)


def shell_program(script: str, arguments: Iterable[str], variables: Variables) -> Program:
    """Return a program that is a shell script, which gets `arguments` as its own.

    Args:
        script: the text of the shell script.
        arguments: what it finds in ``"$@"``.
        variables: what it needs to know.
    """
    words = ("sh", "-c", Block(literal(script)), "sh")
    return Program(words, tuple(arguments), variables)


def training_pods(job: Job, role: str, count: int, program: Program) -> Pods:
    """Return pods of those that train."""
    return Pods(role, count, program, job.gpus_per_node or 0, job.worker_resources)


def script_words(job: Job) -> tuple[str, ...]:
    """The script and its arguments, as a Python in the container takes them."""
    script = job.script_in_image
    return (f"./{script}" if script.startswith("-") else script, *job.script_arguments)


def variable(path: str) -> Object:
    """What a variable holds that is a field of the pod."""
    return {"valueFrom": {"fieldRef": {"fieldPath": path}}}


def metadata(job: Job) -> dict[str, Value]:
    """Name and namespace of an object.

    Raises:
        ValueError: the namespace cannot be one.
    """
    found: dict[str, Value] = {"name": job.label}
    if job.namespace:
        if not _LABEL.fullmatch(job.namespace):
            raise ValueError(f"{job.namespace!r} cannot be a namespace of Kubernetes")
        found["namespace"] = job.namespace
    return {**found, "labels": {NAME_LABEL: job.label}}


def pod_template(
    job: Job, pods: Pods, container: str, of_pod: Object | None = None, **of_container: Value
) -> Object:
    """Return the template of the pods of a role.

    Args:
        job: what is started.
        pods: what they do.
        container: the name of their container.
        of_pod: what else the pod holds.
        of_container: what else the container holds.

    Raises:
        ValueError: something cannot be in a pod.
    """
    program = pods.program
    words: dict[str, Value] = {
        "command": list(program.words),
        "args": [literal(word) for word in program.arguments],
    }
    return {
        "metadata": {"labels": {NAME_LABEL: job.label, ROLE_LABEL: pods.role}},
        "spec": {
            **(of_pod or {}),
            "containers": [
                {
                    "name": container,
                    "image": image(job),
                    **({"workingDir": job.work_directory} if job.work_directory else {}),
                    **{key: value for key, value in words.items() if value},
                    "env": environment(job, program),
                    **of_container,
                    **resources_of(pods),
                    "volumeMounts": mounts(job),
                }
            ],
            "volumes": volumes(job, pods.resources),
        },
    }


def refuse_elastic(job: Job) -> None:
    """Say that a target has no elastic jobs.

    Raises:
        ValueError: the job is elastic.
    """
    if job.is_elastic:
        raise ValueError(
            "the number of nodes is fixed here: kubernetes and pytorchjob start elastic jobs"
        )


def image(job: Job) -> Value:
    """The container image, or a placeholder that says so."""
    if job.image is None:
        return Noted(PLACEHOLDER_IMAGE, "change: an image with the framework and the script")
    if not _IMAGE.fullmatch(job.image):
        raise ValueError(f"{job.image!r} cannot be an image")
    return job.image


def environment(job: Job, program: Program) -> list[Value]:
    """Return the variables of a container as it holds them."""
    return [{"name": name, **value} for name, value in variables_of(job, program).items()]


def variables_of(job: Job, program: Program) -> dict[str, Object]:
    """Return the variables of a container, those of the user last.

    Raises:
        ValueError: the user sets one that the launch files set.
    """
    found: dict[str, Object] = {}
    for name, value in program.variables.items():
        found[name] = {"value": value} if isinstance(value, str) else value
    for name, _ in job.environment:
        if name in found:
            raise ValueError(f"{name} is for the launcher to set")
    settings = {"PYTHONUNBUFFERED": "1", **_settings(job)}
    settings = {name: settings[name] for name in settings if name not in program.injected}
    settings |= dict(job.environment)
    found |= {name: {"value": literal(value)} for name, value in settings.items()}
    if found.get(_INTERFACE) == {"value": _USUAL_INTERFACE} and not job.nccl_socket_interface:
        found[_INTERFACE] = {"value": Noted(_USUAL_INTERFACE, "change: what pods call theirs")}
    return found


def _settings(job: Job) -> dict[str, str]:
    """What users may set otherwise."""
    found = {}
    if job.framework != "mxnet" and not job.has_servers:
        found["NCCL_DEBUG"] = "WARN"
        found[_INTERFACE] = job.nccl_socket_interface or _USUAL_INTERFACE
        if job.nccl_disable_infiniband:
            found["NCCL_IB_DISABLE"] = "1"
    cpus = job.worker_resources.cpus
    if cpus is not None and job.framework == "pytorch":
        found["OMP_NUM_THREADS"] = str(max(1, int(cpus // (job.processes_per_node or 1))))
    return found


def expected_world_size(job: Job) -> dict[str, str]:
    """What the script compares with the number of processes; nothing where that may change."""
    if job.is_elastic:
        return {}
    return {"EXPECTED_WORLD_SIZE": str(job.worker_count * (job.processes_per_node or 1))}


def resources_of(pods: Pods) -> dict[str, Value]:
    """What a container is asked for and limited to; nothing where all is open."""
    amounts: dict[str, Value] = {}
    if pods.resources.cpus is not None:
        amounts["cpu"] = cpus_text(pods.resources.cpus)
    if pods.resources.memory is not None:
        amounts["memory"] = memory_text(pods.resources.memory)
    limits = dict(amounts)
    if pods.gpus:
        limits["nvidia.com/gpu"] = Noted(
            pods.gpus, "change: what the cluster calls its GPUs, or remove it for CPUs"
        )
    if not limits:
        return {}
    return {"resources": {**({"requests": amounts} if amounts else {}), "limits": limits}}


def mounts(job: Job) -> list[Value]:
    """Where the volumes are in a container.

    Raises:
        ValueError: two are at one place.
    """
    found: list[Value] = [{"name": "shm", "mountPath": _SHARED_MEMORY_PATH}]
    taken = {_SHARED_MEMORY_PATH}
    for number, volume in enumerate(job.volumes):
        path = posixpath.normpath(volume.path)
        if path in taken:
            raise ValueError(f"two volumes cannot both be at {volume.path}")
        taken.add(path)
        read_only: dict[str, Value] = {"readOnly": True} if volume.read_only else {}
        found.append({"name": f"volume-{number}", "mountPath": volume.path, **read_only})
    return found


def volumes(job: Job, resources: Resources) -> list[Value]:
    """Shared memory, which NCCL and data loaders need more of than 64 MiB, and the user's volumes.

    Raises:
        ValueError: a volume cannot be one of Kubernetes.
    """
    size = memory_text(shared_memory(job, resources))
    found: list[Value] = [
        {
            "name": "shm",
            "emptyDir": {
                "medium": "Memory",
                "sizeLimit": Noted(size, "counts as memory of the container"),
            },
        }
    ]
    for number, volume in enumerate(job.volumes):
        source: Object
        if volume.is_host_path:
            if ".." in volume.source.split("/"):
                raise ValueError(f"{volume.source!r} cannot be a path of a host in Kubernetes")
            source = {"hostPath": {"path": volume.source}}
        else:
            if not _SUBDOMAIN.fullmatch(volume.source):
                raise ValueError(f"{volume.source!r} cannot be a claim of Kubernetes")
            source = {"persistentVolumeClaim": {"claimName": volume.source}}
        found.append({"name": f"volume-{number}", **source})
    return found


def shared_memory(job: Job, resources: Resources) -> int:
    """Bytes of ``/dev/shm``: a few, and never more than half the container's memory."""
    if job.shared_memory is not None:
        return job.shared_memory
    if resources.memory is None:
        return _MOST_SHARED_MEMORY
    half = resources.memory // 2
    return min(_MOST_SHARED_MEMORY, half // 2**20 * 2**20 or half or 1)
