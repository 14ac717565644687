"""Launch target ``kubernetes``: Indexed Jobs and a headless Service, which need no operator.

Each role is a Job whose pods have indices; the Service gives them names. Nothing starts all pods at
once or none, unless a queue such as Kueue does.
"""

from __future__ import annotations

from transpile.launch.job import Job
from transpile.launch.manifests import kubectl, peers
from transpile.launch.manifests.manifest import Object, Value, manifest
from transpile.launch.manifests.peers import Peers
from transpile.launch.manifests.pod import NAME_LABEL, Pods, metadata, pod_template

FRAMEWORKS = peers.FRAMEWORKS

_SERVERS_STAY = """\
The servers do not end by themselves; when the workers have ended:
  {kubectl} wait --for=condition=complete --timeout=-1s job/{label}-worker
  {kubectl} delete -f THIS_FILE"""
_FAILURES = """\
When a pod fails, those of other roles wait for it: end the job, and start it again."""
_LATE_PODS = """\
Pods may start late, or never: as soon as the first one has ended well, the Job is complete."""


def files(job: Job) -> dict[str, str]:
    """Return the manifest under its name.

    Raises:
        ValueError: the job is none for this target.
    """
    names = Peers(
        host=lambda role, index: f"{job.label}-{role}-{index}.{job.label}",
        index=peers.COMPLETION_INDEX,
        index_source=peers.COMPLETION_INDEX_SOURCE,
    )
    roles = peers.pods(job, names, job.restarts)
    if job.restarts and job.framework != "pytorch":
        raise ValueError(
            "a pod that starts again alone does not find the others: jobset and volcano start all"
        )
    notes = [kubectl.start(job)]
    if job.has_servers and job.framework != "mxnet":
        notes.append(_SERVERS_STAY.format(kubectl=kubectl.command(job), label=job.label))
    if job.has_servers:
        notes.append(_FAILURES)
    if job.is_elastic:
        notes.append(_LATE_PODS)
    counts = [(pods.role, pods.count) for pods in roles]
    notes.append(kubectl.logs(job, counts, peers.logs(job)))
    documents = [_service(job), *(_job(job, pods) for pods in roles)]
    text = manifest(job, "Kubernetes alone, without any operator", notes, documents)
    return {f"{job.stem}.kubernetes.yaml": text}


def _service(job: Job) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(job),
        # No address of its own: it only gives the pods names, also before they are ready.
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": True,
            "selector": {NAME_LABEL: job.label},
        },
    }


def _job(job: Job, pods: Pods) -> Object:
    names = metadata(job)
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {**names, "name": f"{job.label}-{pods.role}"},
        "spec": {
            **indexed(pods),
            "backoffLimit": job.restarts * pods.count,
            **_success(job),
            **({"activeDeadlineSeconds": job.time_limit} if job.time_limit else {}),
            "template": template(job, pods, {"subdomain": job.label}),
        },
    }


def _success(job: Job) -> dict[str, Value]:
    """Without this, the pods that come after the end would wait for others for ever."""
    return {"successPolicy": {"rules": [{"succeededIndexes": "0"}]}} if job.is_elastic else {}


def indexed(pods: Pods) -> dict[str, Value]:
    """The part of a Job that starts all pods of a role at once, each with an index."""
    return {"completionMode": "Indexed", "completions": pods.count, "parallelism": pods.count}


def template(job: Job, pods: Pods, of_pod: Object | None = None) -> Object:
    """The template of pods that are not started again where they are."""
    return pod_template(job, pods, pods.role, {"restartPolicy": "Never", **(of_pod or {})})
