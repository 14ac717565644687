"""Launch target ``paddlejob``: a PaddleJob of Kubeflow's training-operator (v1)."""

from __future__ import annotations

from dataclasses import replace

from transpile.launch.job import Job
from transpile.launch.manifests import paddle_pod
from transpile.launch.manifests.pod import (
    Pods,
    Program,
    expected_world_size,
    refuse_elastic,
    script_words,
    training_pods,
    variable,
)
from transpile.launch.manifests.training_operator import Kind, kubeflow_manifest

FRAMEWORKS = ("paddle",)

_KIND = Kind("PaddleJob", "paddleReplicaSpecs", "paddle", "master", 36543)
_INDEX = "REPLICA_INDEX"
_INDEX_SOURCE = variable("metadata.labels['training.kubeflow.org/replica-index']")
_INJECTED = ("PYTHONUNBUFFERED",)
_SERVERS = """
The pods called master are the servers."""


def files(job: Job) -> dict[str, str]:
    """Return the manifest under its name.

    Raises:
        ValueError: the job is none for this target.
    """
    refuse_elastic(job)
    if job.paddle_version not in (None, "3"):
        raise ValueError("the operator tells only the launcher of Paddle 2.3 and later what to do")
    roles = _with_servers(job) if job.has_servers else {"Worker": _worker(job, _collective(job))}
    explanation = paddle_pod.logs(job) + (_SERVERS if job.has_servers else "")
    text = kubeflow_manifest(job, _KIND, roles, explanation)
    return {f"{job.stem}.paddlejob.yaml": text}


def _collective(job: Job) -> Program:
    """The launcher, which reads from the environment what the operator puts there."""
    words = paddle_pod.launcher_words(job)
    return Program(words, script_words(job), expected_world_size(job))


def _with_servers(job: Job) -> dict[str, Pods]:
    """Masters that are servers and nothing else, told so without the launcher."""
    hosts = [f"{job.label}-master-{index}" for index in range(job.server_count)]
    server, worker = (
        _indexed(paddle_pod.with_servers(job, role, hosts, _INDEX)) for role in ("server", "worker")
    )
    servers = Pods("master", job.server_count, server, 0, job.server_resources)
    return {"Master": servers, "Worker": _worker(job, worker)}


def _indexed(program: Program) -> Program:
    variables = {_INDEX: _INDEX_SOURCE, **program.variables}
    return replace(program, variables=variables, injected=_INJECTED)


def _worker(job: Job, program: Program) -> Pods:
    return training_pods(job, "worker", job.worker_count, replace(program, injected=_INJECTED))
