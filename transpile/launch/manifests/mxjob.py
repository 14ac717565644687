"""Launch target ``mxjob``: an MXJob of Kubeflow's training-operator up to 1.8.1.

Version 1.9.0 has none any more; the targets ``kubernetes``, ``jobset`` and ``volcano`` start the
same script.
"""

from __future__ import annotations

from transpile.launch.job import Job
from transpile.launch.manifests import peers
from transpile.launch.manifests.pod import Pods, expected_world_size
from transpile.launch.manifests.training_operator import Kind, kubeflow_manifest
from transpile.launch.scripts.mxnet_check import checked_program

FRAMEWORKS = ("mxnet",)

_KIND = Kind("MXJob", "mxReplicaSpecs", "mxnet", "mxjob-port", 9091)
_VERSIONS = """

Only training-operator 1.8.1 and older knows MXJobs: 1.9.0 and later rejects this file. The target
kubernetes needs no operator."""


def files(job: Job) -> dict[str, str]:
    """Return the manifest under its name.

    Raises:
        ValueError: something cannot be in a manifest.
    """
    program = checked_program(job, expected_world_size(job))
    roles = {
        role.name.capitalize(): Pods(role.name, role.count, program, role.gpus or 0, role.resources)
        for role in job.roles
    }
    text = kubeflow_manifest(job, _KIND, roles, peers.logs(job) + _VERSIONS, jobMode="MXTrain")
    return {f"{job.stem}.mxjob.yaml": text}
