"""Launch target ``volcano``: a Job of Volcano, which starts all pods at once or none."""

from __future__ import annotations

from transpile.launch.job import Job
from transpile.launch.manifests import kubectl, peers
from transpile.launch.manifests.kubernetes import template
from transpile.launch.manifests.manifest import Noted, Object, manifest
from transpile.launch.manifests.peers import Peers
from transpile.launch.manifests.pod import Pods, metadata, refuse_elastic

FRAMEWORKS = peers.FRAMEWORKS


def files(job: Job) -> dict[str, str]:
    """Return the manifest under its name.

    Raises:
        ValueError: the job is none for this target.
    """
    refuse_elastic(job)
    # The plugin svc gives the pods these names, the plugin env the index.
    names = Peers(
        host=lambda role, index: f"{job.label}-{role}-{index}.{job.label}",
        index="VC_TASK_INDEX",
    )
    roles = peers.pods(job, names)
    counts = [(pods.role, pods.count) for pods in roles]
    notes = [kubectl.start(job), kubectl.logs(job, counts, peers.logs(job))]
    text = manifest(job, "a Job of Volcano", notes, [_job(job, roles)])
    return {f"{job.stem}.volcano.yaml": text}


def _job(job: Job, roles: list[Pods]) -> Object:
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": metadata(job),
        "spec": {
            "schedulerName": "volcano",
            "minAvailable": Noted(
                sum(pods.count for pods in roles), "all pods: fewer would wait for the others"
            ),
            "maxRetry": max(job.restarts, 1),
            "plugins": {"env": [], "svc": ["--publish-not-ready-addresses=true"]},
            "policies": _policies(job),
            "tasks": [_task(job, pods) for pods in roles],
        },
    }


def _policies(job: Job) -> list[Object]:
    failed = "RestartJob" if job.restarts else "AbortJob"
    return [{"events": ["PodFailed", "PodEvicted"], "action": failed}]


def _task(job: Job, pods: Pods) -> Object:
    # Servers may not end by themselves.
    policies = [{"event": "TaskCompleted", "action": "CompleteJob"}]
    deadline: Object = {"activeDeadlineSeconds": job.time_limit} if job.time_limit else {}
    return {
        "name": pods.role,
        "replicas": pods.count,
        **({"policies": policies} if pods.role == "worker" else {}),
        "template": template(job, pods, deadline),
    }
