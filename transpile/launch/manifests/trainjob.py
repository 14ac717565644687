"""Launch target ``trainjob``: a TrainJob of Kubeflow Trainer (v2).

The runtime ``torch-distributed`` tells torchrun in each pod what it needs to know. Every minor
version spells differently what is changed in its pods.
"""

from __future__ import annotations

from transpile.launch.job import Job
from transpile.launch.manifests import kubectl, torchrun_pod
from transpile.launch.manifests.manifest import Object, Value, manifest
from transpile.launch.manifests.pod import (
    Pods,
    environment,
    image,
    literal,
    metadata,
    mounts,
    refuse_elastic,
    resources_of,
    training_pods,
    volumes,
)

FRAMEWORKS = ("pytorch",)

# The runtime's name for its pods, and for the container in them.
_NODE = "node"
_MANAGER = "disttranspile.example.com/launch"
_LABELS = "jobset.sigs.k8s.io/jobset-name={label},jobset.sigs.k8s.io/replicatedjob-name=node"
_RESERVED = frozenset(
    f"OMPI_MCA_{name}"
    for name in (
        "orte_default_hostfile",
        "plm_rsh_args",
        "orte_keep_fqdn_hostnames",
        "orte_set_default_slots",
    )
)
_WITHOUT_TIME_LIMIT = ("2.0", "2.1")
_IN_WORK_DIRECTORY = ("sh", "-c", 'cd "$0" && exec "$@"')


def files(job: Job) -> dict[str, str]:
    """Return the manifest under its name.

    Raises:
        ValueError: the job is none for this target.
    """
    refuse_elastic(job)
    if job.rendezvous == "c10d":
        raise ValueError("a TrainJob meets at its first node: the rendezvous is static")
    if job.time_limit and job.trainer_version in _WITHOUT_TIME_LIMIT:
        raise ValueError(f"a TrainJob of version {job.trainer_version} has no time limit")
    for name, _ in job.environment:
        if name in _RESERVED:
            raise ValueError(f"{name} is for the launcher to set")
    logs = kubectl.selected_logs(job, _LABELS.format(label=job.label), job.nodes)
    notes = [
        kubectl.start(job),
        "The cluster has the runtime torch-distributed, which comes with Kubeflow Trainer.",
        f"Logs, each line with the name of its pod:\n{logs}\n{torchrun_pod.LOGS}",
    ]
    with_what = f"a TrainJob of Kubeflow Trainer {job.trainer_version}"
    return {f"{job.stem}.trainjob.yaml": manifest(job, with_what, notes, [_trainjob(job)])}


def _trainjob(job: Job) -> Object:
    restarts = [f"--max-restarts={job.restarts}"] if job.restarts else []
    program = torchrun_pod.told_by_operator(job, restarts)
    pods = training_pods(job, _NODE, job.nodes, program)
    folder = (*_IN_WORK_DIRECTORY, literal(job.work_directory)) if job.work_directory else ()
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": metadata(job),
        "spec": {
            "runtimeRef": {"name": "torch-distributed"},
            **({"activeDeadlineSeconds": job.time_limit} if job.time_limit else {}),
            "trainer": {
                "image": image(job),
                "command": [*folder, *program.words],
                "args": [literal(word) for word in program.arguments],
                "env": environment(job, program),
                "numNodes": job.nodes,
                "numProcPerNode": job.processes_per_node or 1,
                **_resources(pods),
            },
            **_changed_pods(job, pods),
        },
    }


def _resources(pods: Pods) -> dict[str, Value]:
    return {f"{name}PerNode": value for name, value in resources_of(pods).items()}


def _changed_pods(job: Job, pods: Pods) -> dict[str, Value]:
    """What is mounted into the runtime's pods, as the version spells it."""
    changes: Object = {
        "containers": [{"name": _NODE, "volumeMounts": mounts(job)}],
        "volumes": volumes(job, pods.resources),
    }
    target: Object = {"targetJobs": [{"name": _NODE}]}
    if job.trainer_version == "2.0":
        return {"podSpecOverrides": [{**target, **changes}]}
    if job.trainer_version == "2.1":
        return {"podTemplateOverrides": [{**target, "spec": changes}]}
    changed_job: Object = {
        "name": _NODE,
        "template": {"spec": {"template": {"spec": changes}}},
    }
    runtime: Object = {"template": {"spec": {"replicatedJobs": [changed_job]}}}
    return {"runtimePatches": [{"manager": _MANAGER, "trainingRuntimeSpec": runtime}]}
