"""Launch target ``slurm``: a batch script for ``sbatch``.

One task on each node starts the processes of that node, as the framework's own launcher does it;
with servers, each role is a step of its own.
Directives of Slurm know no variables and no quotes of a shell, so that what stands in them is made
of plain characters.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from string import Template

from transpile.launch.job import Job
from transpile.launch.quantity import mebibytes, time_text
from transpile.launch.scripts import slurm_roles
from transpile.launch.scripts.script import (
    THREADS,
    command_lines,
    count_processes,
    environment,
    expected_world_size,
    shell_script,
)
from transpile.launch.scripts.shell import quote
from transpile.launch.scripts.slurm_tasks import Task, task_of

FRAMEWORKS = ("pytorch", "mxnet", "paddle", "fluid", "tensorflow", "singa")

_USAGE = Template("""\
# Usage: sbatch [OPTION...] THIS_FILE [ARGUMENT...], in the folder where it is.
# The options win over the directives below. The arguments go to the training script, after those
# written below.
$output$gpus$cpus#
$directives""")
_OUTPUT = """\
# All output is in NAME-JOB.log in that folder, its lines marked with the number of the $marked.
"""
_NO_GPUS = """\
# To get GPUs, make this file again with --gpus-per-node.
"""
_NO_CPUS = """\
# Where Slurm gives a task one CPU by default, all processes of a node share it: make this file
# again with --cpus, or submit it with --cpus-per-task.
"""
_FEW_CPUS = """\
if [ "$(nproc 2>/dev/null || echo "$processes")" -lt "$processes" ]; then
    printf '%s\\n' "$processes processes share $(nproc) CPUs: submit it with --cpus-per-task" >&2
fi
"""

_FOLDER = Template("""\
# Slurm runs a copy of this file: the script is found from where the job was submitted.
folder=$$(cd "$${SLURM_SUBMIT_DIR:-.}"/$below && pwd)
if ! [ -f "$$folder"/$script ]; then
    printf '%s\\n' "$$folder: no training script: submit the job in the folder of its file" >&2
    exit 2
fi
""")

_MOUNTS = Template("""\
mounts=$$folder:$$folder,$$PWD:$$PWD$more
case $$folder$$PWD in
    *[:,]*)
        printf '%s\\n' "$$folder: containers see no folder with a colon or a comma" >&2
        exit 2
        ;;
esac
""")


def files(job: Job) -> dict[str, str]:
    """Return the batch script under its name.

    Raises:
        ValueError: a name cannot stand in a directive of Slurm, or the job has no form here.
    """
    if job.is_elastic and job.framework != "pytorch":
        raise ValueError(f"a range of nodes is not for {job.framework}: say how many")
    if job.restarts and job.framework != "pytorch":
        raise ValueError("only torchrun starts the processes of a job again after a failure")
    task = None if job.has_servers else task_of(job)
    marked = "task" if task is not None and task.tasks_per_node > 1 else "node"
    has_gpus = job.gpus_per_node or job.processes_without_gpus
    comment = _USAGE.substitute(
        output=_OUTPUT.replace("$marked", marked) + task.logs if task else slurm_roles.LOGS,
        gpus="" if has_gpus else _NO_GPUS,
        cpus=_NO_CPUS if is_bare(job, task) else "",
        directives="".join(_directives(job, task)),
    )
    parts = list(_parts(job, task))
    return {f"{job.stem}.sbatch": shell_script(job, "Slurm", comment, parts, "/bin/bash")}


def is_bare(job: Job, task: Task | None) -> bool:
    """Whether several processes are given what CPUs Slurm gives to one task."""
    return task is not None and task.tasks_per_node == 1 and job.worker_resources.cpus is None


def _directives(job: Job, task: Task | None) -> Iterator[str]:
    tasks = task.tasks_per_node if task is not None else 1
    resources = job.worker_resources if task is not None else slurm_roles.node_resources(job)
    found: list[tuple[str, object]] = [
        ("job-name", re.sub(r"[^A-Za-z0-9_.-]+", "-", job.title).strip("-.") or "train"),
        ("output", "%x-%j.log"),
        ("nodes", f"{job.min_nodes}-{job.nodes}" if job.is_elastic else job.nodes),
        ("ntasks-per-node", tasks),
    ]
    if job.gpus_per_node is not None:
        found.append(("gpus-per-node", job.gpus_per_node))
    if resources.cpus is not None:
        found.append(("cpus-per-task", max(1, int(resources.cpus / tasks))))
    if resources.memory is not None:
        found.append(("mem", f"{mebibytes(resources.memory)}M"))
    if job.time_limit is not None:
        found.append(("time", time_text(job.time_limit)))
    if job.partition:
        if not re.fullmatch(r"[A-Za-z0-9_.,+@-]+", job.partition):
            raise ValueError(f"{job.partition!r} cannot be a partition of Slurm")
        found.append(("partition", job.partition))
    for name, value in found:
        yield f"#SBATCH --{name}={value}\n"


def _parts(job: Job, task: Task | None) -> Iterator[str]:
    below, script = os.path.split(job.script)
    if os.path.isabs(job.script):
        yield f"folder={quote(below)}\n"
    else:
        yield _FOLDER.substitute(below=quote(below) if below else "", script=quote(script))
    yield environment(job)
    if task is None:
        yield expected_world_size(job.worker_count)
        yield slurm_roles.preparation(job)
    else:
        yield count_processes(job)
        yield THREADS
        if is_bare(job, task):
            yield _FEW_CPUS
        yield expected_world_size("$((SLURM_JOB_NUM_NODES * processes))")
        if task.preparation:
            yield task.preparation
    if job.container:
        yield _MOUNTS.substitute(more="".join(f",{each}" for each in _volumes(job)))
    words = [f'"$folder"/{quote(script)}', *map(quote, job.script_arguments), '"$@"']
    if task is None:
        yield from slurm_roles.steps(job, words, _container(job))
        return
    words = ["exec srun", *_srun_options(job, task), 'sh -c "$task" sh', *task.words, *words]
    yield (
        "# Every task expands this by itself.\n# shellcheck disable=SC2016\n"
        f"task='{task.program}'\n{command_lines(words)}"
    )


def _srun_options(job: Job, task: Task) -> Iterator[str]:
    yield from ("--kill-on-bad-exit=1", "--label")
    if job.worker_resources.cpus is not None:
        # Since Slurm 22.05, srun does not take it from the job.
        yield '--cpus-per-task="$SLURM_CPUS_PER_TASK"'
    yield from task.options
    yield from _container(job)


def _container(job: Job) -> list[str]:
    if not job.container:
        return []
    folder = quote(job.work_directory) if job.work_directory else '"$PWD"'
    return [
        f"--container-image={quote(job.container)}",
        '--container-mounts="$mounts"',
        f"--container-workdir={folder}",
    ]


def _volumes(job: Job) -> Iterator[str]:
    for volume in job.volumes:
        yield quote(f"{volume.source}:{volume.path}{':ro' if volume.read_only else ''}")
