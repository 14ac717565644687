"""Launch target ``mpijob``: an MPIJob (v2beta1) of Kubeflow's mpi-operator.

One pod starts ``mpirun``, which starts the processes in the pods of the workers through ssh.
"""

from __future__ import annotations

from transpile.launch.job import Job
from transpile.launch.manifests import kubectl
from transpile.launch.manifests.manifest import Noted, Object, manifest
from transpile.launch.manifests.pod import (
    Pods,
    Program,
    expected_world_size,
    metadata,
    pod_template,
    script_words,
    training_pods,
    variables_of,
)

FRAMEWORKS = ("singa",)

_HOST_FILE = "/etc/mpi/hostfile"
_LOGS = """\
The launcher's log is that of all processes{prefix}; the workers' only that of sshd.

The image needs mpirun and sshd, and ssh that asks nothing: StrictHostKeyChecking no and
UserKnownHostsFile /dev/null in /etc/ssh/ssh_config."""
_PREFIXES = {
    "openmpi": ", each line with its rank, such as [1,0] for rank 0",
    "mpich": ", each line with its rank, such as [0]",
}


def files(job: Job) -> dict[str, str]:
    """Return the manifest under its name.

    Raises:
        ValueError: something cannot be in a manifest.
    """
    dialect = job.mpi or "mpich"
    notes = [
        kubectl.start(job),
        kubectl.logs(
            job,
            [("launcher", 1), ("worker", job.nodes)],
            _LOGS.format(prefix=_PREFIXES[dialect]),
        ),
    ]
    text = manifest(job, "an MPIJob (v2beta1) of mpi-operator", notes, [_mpijob(job, dialect)])
    return {f"{job.stem}.mpijob.yaml": text}


def _mpijob(job: Job, dialect: str) -> Object:
    slots = job.processes_per_node or 1
    return {
        "apiVersion": "kubeflow.org/v2beta1",
        "kind": "MPIJob",
        "metadata": metadata(job),
        "spec": {
            "slotsPerWorker": slots,
            "mpiImplementation": {"openmpi": "OpenMPI", "mpich": "MPICH"}[dialect],
            "launcherCreationPolicy": "WaitForWorkersReady",
            "runPolicy": {
                "cleanPodPolicy": "Running",
                "backoffLimit": job.restarts,
                **({"activeDeadlineSeconds": job.time_limit} if job.time_limit else {}),
                "schedulingPolicy": {
                    "minAvailable": Noted(job.nodes, "all workers: the launcher waits for them")
                },
            },
            "mpiReplicaSpecs": {
                "Launcher": {
                    "replicas": 1,
                    "restartPolicy": "OnFailure" if job.restarts else "Never",
                    "template": _launcher(job, dialect, slots),
                },
                "Worker": {
                    "replicas": job.nodes,
                    "restartPolicy": "Never",
                    "template": _worker(job),
                },
            },
        },
    }


def _launcher(job: Job, dialect: str, slots: int) -> Object:
    variables = expected_world_size(job)
    names = ["PATH", *variables_of(job, Program((), (), variables))]
    # The file is named, since Open MPI 5 does not read the operator's variables and would start
    # all processes in the launcher.
    common = ("--hostfile", _HOST_FILE, "-np", str(job.nodes * slots))
    options: tuple[str, ...]
    if dialect == "openmpi":
        options = ("--allow-run-as-root", "--bind-to", "none", "--tag-output", *common)
        passed = [word for name in names for word in ("-x", name)]
        options = ("mpirun", *options, *passed)
    else:
        options = ("-bind-to", "none", "-prepend-rank", *common)
        options = ("mpiexec", *options, "-genvlist", ",".join(names))
    program = Program((*options, "python"), script_words(job), variables)
    return pod_template(job, Pods("launcher", 1, program), "launcher")


def _worker(job: Job) -> Object:
    """Pods that wait for ssh: without a command, the operator starts sshd."""
    workers = training_pods(job, "worker", job.nodes, Program((), ()))
    # The launcher comes once the workers are ready: then sshd must answer.
    return pod_template(
        job, workers, "worker", readinessProbe={"tcpSocket": {"port": 22}, "periodSeconds": 2}
    )
