"""Launch target ``jobset``: a JobSet, which starts all its Jobs again when a pod fails."""

from __future__ import annotations

from transpile.launch.job import Job
from transpile.launch.manifests import kubectl, peers
from transpile.launch.manifests.kubernetes import indexed, template
from transpile.launch.manifests.manifest import Object, manifest
from transpile.launch.manifests.peers import Peers
from transpile.launch.manifests.pod import Pods, metadata, refuse_elastic

FRAMEWORKS = peers.FRAMEWORKS


def files(job: Job) -> dict[str, str]:
    """Return the manifest under its name.

    Raises:
        ValueError: the job is none for this target.
    """
    refuse_elastic(job)
    names = Peers(
        host=lambda role, index: f"{job.label}-{role}-0-{index}.{job.label}",
        index=peers.COMPLETION_INDEX,
        index_source=peers.COMPLETION_INDEX_SOURCE,
    )
    roles = peers.pods(job, names)
    counts = [(pods.role, pods.count) for pods in roles]
    notes = [kubectl.start(job), kubectl.logs(job, counts, peers.logs(job))]
    text = manifest(job, "a JobSet (v1alpha2)", notes, [_jobset(job, roles)])
    return {f"{job.stem}.jobset.yaml": text}


def _jobset(job: Job, roles: list[Pods]) -> Object:
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": metadata(job),
        "spec": {
            "network": {
                "enableDNSHostnames": True,
                "subdomain": job.label,
                "publishNotReadyAddresses": True,
            },
            "failurePolicy": {"maxRestarts": job.restarts},
            # Servers may not end by themselves.
            "successPolicy": {"operator": "All", "targetReplicatedJobs": ["worker"]},
            "replicatedJobs": [_replicated(job, pods) for pods in roles],
        },
    }


def _replicated(job: Job, pods: Pods) -> Object:
    return {
        "name": pods.role,
        "replicas": 1,
        "template": {
            "spec": {
                **indexed(pods),
                "backoffLimit": 0,
                **({"activeDeadlineSeconds": job.time_limit} if job.time_limit else {}),
                "template": template(job, pods),
            }
        },
    }
