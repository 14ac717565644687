"""Launch target ``pytorchjob``: a PyTorchJob of Kubeflow's training-operator (v1).

The operator tells torchrun in each pod what it needs to know. Where nodes may come and go, or start
again, all are workers, which meet at the first of them; else they meet at the master.
"""

from __future__ import annotations

from dataclasses import replace

from transpile.launch.job import Job
from transpile.launch.manifests import torchrun_pod
from transpile.launch.manifests.manifest import Value
from transpile.launch.manifests.pod import Pods, training_pods
from transpile.launch.manifests.training_operator import Kind, kubeflow_manifest

FRAMEWORKS = ("pytorch",)

_KIND = Kind("PyTorchJob", "pytorchReplicaSpecs", "pytorch", "pytorchjob-port", 23456)


def files(job: Job) -> dict[str, str]:
    """Return the manifest under its name.

    Raises:
        ValueError: something cannot be in a manifest.
    """
    elastic = job.nodes > 1 and job.meeting == "c10d"
    fields: dict[str, Value] = {"nprocPerNode": str(job.processes_per_node or 1)}
    if elastic:
        fields["elasticPolicy"] = {
            "rdzvBackend": "c10d",
            "rdzvId": job.label,
            "minReplicas": job.min_nodes or job.nodes,
            "maxReplicas": job.nodes,
            "maxRestarts": job.restarts,
        }
    explanation = torchrun_pod.LOGS if elastic else torchrun_pod.LOGS_OF_MASTER
    text = kubeflow_manifest(job, _KIND, _roles(job, elastic), explanation, **fields)
    return {f"{job.stem}.pytorchjob.yaml": text}


def _roles(job: Job, elastic: bool) -> dict[str, Pods]:
    options = [f"--max-restarts={job.restarts}"] if job.restarts and not elastic else []
    program = torchrun_pod.told_by_operator(job, options)
    program = replace(program, injected=("PYTHONUNBUFFERED",))
    counts = {"Worker": job.nodes} if elastic else {"Master": 1, "Worker": job.nodes - 1}
    return {
        role: training_pods(job, role.lower(), count, program)
        for role, count in counts.items()
        if count
    }
