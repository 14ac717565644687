"""What the jobs of Kubeflow's training-operator (v1) have in common."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from transpile.launch.job import Job
from transpile.launch.manifests import kubectl
from transpile.launch.manifests.manifest import Noted, Object, Value, manifest
from transpile.launch.manifests.pod import Pods, metadata, pod_template


@dataclass(frozen=True)
class Kind:
    """A kind of jobs.

    Args:
        name: such as ``PyTorchJob``.
        replicas: the field with the roles.
        container: what the operator wants the container called.
        port: what it wants the port called.
        port_number: the port.
    """

    name: str
    replicas: str
    container: str
    port: str
    port_number: int


def kubeflow_manifest(
    job: Job,
    kind: Kind,
    roles: Mapping[str, Pods],
    explanation: str,
    **fields: Value,
) -> str:
    """Return the manifest of a job of training-operator.

    Args:
        job: what is started.
        kind: as what.
        roles: its pods, by their roles as the operator spells them.
        explanation: how a reader of the logs tells the processes apart.
        fields: what else its specification holds.
    """
    counts = [(pods.role, pods.count) for pods in roles.values()]
    notes = [kubectl.start(job), kubectl.logs(job, counts, explanation)]
    document: Object = {
        "apiVersion": "kubeflow.org/v1",
        "kind": kind.name,
        "metadata": metadata(job),
        "spec": {
            **fields,
            "runPolicy": _run_policy(job, sum(pods.count for pods in roles.values())),
            kind.replicas: {role: _replica(job, kind, pods) for role, pods in roles.items()},
        },
    }
    return manifest(job, f"a {kind.name} of Kubeflow's training-operator", notes, [document])


def _run_policy(job: Job, total: int) -> Mapping[str, Value]:
    least = job.min_nodes if job.is_elastic and job.min_nodes else total
    return {
        # Those that have ended stay, so that their logs can be read.
        "cleanPodPolicy": "Running",
        "backoffLimit": job.restarts,
        **({"activeDeadlineSeconds": job.time_limit} if job.time_limit else {}),
        "schedulingPolicy": {
            "minAvailable": Noted(least, "where a gang scheduler starts all pods or none")
        },
    }


def _replica(job: Job, kind: Kind, pods: Pods) -> Object:
    return {
        "replicas": pods.count,
        "restartPolicy": "OnFailure" if job.restarts else "Never",
        "template": pod_template(
            job,
            pods,
            kind.container,
            ports=[{"name": kind.port, "containerPort": kind.port_number}],
        ),
    }
