"""Launch target ``sky``: a task for SkyPilot, and the shell script that each machine runs.

SkyPilot finds machines in a cloud, in Kubernetes or in Slurm, takes the folder of the script to
them, and tells each one its rank and the addresses of all.
"""

from __future__ import annotations

import re

from transpile.launch.job import Job
from transpile.launch.manifests.manifest import Block, Object, Value, manifest
from transpile.launch.scripts import node_script
from transpile.launch.scripts.node_script import FRAMEWORKS as FRAMEWORKS
from transpile.launch.scripts.shell import quote

_START = """\
Start it in the folder of this file, which SkyPilot takes to its machines; `down` gives them back:
  sky launch -c {name} THIS_FILE
  sky down {name}"""
_LOGS = """\
Each line of the output begins with the machine that wrote it; later:
  sky logs {name}
What the script writes stays on the machines: give it a path in a bucket or volume to keep it."""
_PACKAGES = """\
Machines need what the script imports: add `setup: pip install -r requirements.txt`, or name an
image with --image."""
_RUN = """\
export NODE_RANK="$SKYPILOT_NODE_RANK"
NODES=$(printf '%s\\n' "$SKYPILOT_NODE_IPS" | paste -s -d , -)
NODE=$(printf '%s\\n' "$SKYPILOT_NODE_IPS" | sed -n "$((NODE_RANK + 1))p")
MASTER_ADDR=${NODES%%,*}
MASTER_PORT=29500
MASTER=$MASTER_ADDR:$MASTER_PORT
export NODES NODE MASTER_ADDR MASTER_PORT MASTER
"""
_IMAGE = re.compile(r"[A-Za-z0-9\[][A-Za-z0-9._/:@\[\]-]*")
_GIBIBYTE = 2**30


def files(job: Job) -> dict[str, str]:
    """Return the task and the shell script of each machine, under their names.

    Raises:
        ValueError: the job has no form here.
    """
    job = node_script.counted(job, "SkyPilot")
    shell = f"{job.stem}.sky.sh"
    notes = [_START.format(name=job.label), _LOGS.format(name=job.label)]
    if job.image is None:
        notes.append(_PACKAGES)
    change = f"cd {quote(job.work_directory)}\n" if job.work_directory else ""
    run = f'{_RUN}{change}exec sh {"~/sky_workdir" if change else "."}/{quote(shell)}\n'
    document: dict[str, Value] = {"name": job.label, "workdir": ".", "num_nodes": job.nodes}
    if resources := _resources(job):
        document["resources"] = resources
    document |= _mounts(job)
    document["run"] = Block(run)
    return {
        f"{job.stem}.sky.yaml": manifest(job, "SkyPilot", notes, [document]),
        shell: node_script.node_script(job),
    }


def _resources(job: Job) -> Object:
    found: dict[str, Value] = {}
    if job.gpus_per_node is not None:
        if not job.gpu_type:
            raise ValueError("SkyPilot is asked for GPUs by their type: say --gpu-type, as in A100")
        found["accelerators"] = f"{job.gpu_type}:{job.gpus_per_node}"
    if job.worker_resources.cpus is not None:
        found["cpus"] = f"{job.worker_resources.cpus.normalize():f}+"
    if job.worker_resources.memory is not None:
        found["memory"] = f"{-(-job.worker_resources.memory // _GIBIBYTE)}+"
    if job.image is not None:
        if not _IMAGE.fullmatch(job.image):
            raise ValueError(f"{job.image!r} cannot be an image")
        found["image_id"] = f"docker:{job.image}"
    return found


def _mounts(job: Job) -> dict[str, Value]:
    """Folders of this machine, which are copied, and volumes of SkyPilot."""
    copied: dict[str, Value] = {}
    volumes: dict[str, Value] = {}
    for volume in job.volumes:
        if volume.is_host_path:
            copied[volume.path] = volume.source
        else:
            volumes[volume.path] = volume.source
    return {
        **({"file_mounts": copied} if copied else {}),
        **({"volumes": volumes} if volumes else {}),
    }
