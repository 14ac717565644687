"""Launch target ``tfjob``: a TFJob of Kubeflow's training-operator (v1), which sets TF_CONFIG."""

from __future__ import annotations

from transpile.launch.job import Job
from transpile.launch.manifests import peers
from transpile.launch.manifests.pod import Program, expected_world_size, script_words, training_pods
from transpile.launch.manifests.training_operator import Kind, kubeflow_manifest

FRAMEWORKS = ("tensorflow",)

_KIND = Kind("TFJob", "tfReplicaSpecs", "tensorflow", "tfjob-port", 2222)


def files(job: Job) -> dict[str, str]:
    """Return the manifest under its name.

    Raises:
        ValueError: something cannot be in a manifest.
    """
    program = Program(("python",), script_words(job), expected_world_size(job))
    roles = {"Worker": training_pods(job, "worker", job.worker_count, program)}
    text = kubeflow_manifest(job, _KIND, roles, peers.logs(job), successPolicy="AllWorkers")
    return {f"{job.stem}.tfjob.yaml": text}
