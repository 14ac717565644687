"""What Kubernetes and its operators make of manifests: the processes of all pods.

What each operator adds is that of its documentation and source; see `_ADDED`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

Document = dict[str, Any]
Variable = dict[str, Any]


@dataclass(frozen=True)
class Pod:
    """One pod.

    Args:
        name: the name under which the others reach it.
        role: the role that its labels name.
        index: its index in its role.
        words: command and arguments.
        environment: the variables of its container.
        spec: what the manifest says of it.
    """

    name: str
    role: str
    index: int
    words: list[str]
    environment: dict[str, str]
    spec: Document

    @property
    def container(self) -> Document:
        """Its one container."""
        (found,) = self.spec["containers"]
        assert isinstance(found, dict)
        return found


class StrictLoader(yaml.SafeLoader):
    """YAML 1.1, as Kubernetes reads it: no key twice, no anchors' worth of surprises."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        assert len(keys) == len(set(keys)), keys
        return super().construct_mapping(node, deep)


def documents(text: str) -> list[Document]:
    """The objects of a manifest."""
    return [found for found in yaml.load_all(text, Loader=StrictLoader) if found is not None]


def pods(text: str) -> list[Pod]:
    """The pods that a cluster makes of a manifest."""
    return [pod for document in documents(text) for pod in _pods(document)]


def expand(text: str, variables: Mapping[str, str]) -> str:
    """What Kubernetes makes of a text of a container: see its ``expansion.Expand``."""
    found, cursor = [], 0
    while cursor < len(text):
        following = text[cursor + 1 : cursor + 2]
        if text[cursor] != "$" or not following:
            found.append(text[cursor])
            cursor += 1
        elif following == "$":
            found.append("$")
            cursor += 2
        elif following == "(" and ")" in text[cursor:]:
            end = text.index(")", cursor)
            name = text[cursor + 2 : end]
            found.append(variables.get(name, f"$({name})"))
            cursor = end + 1
        else:
            found.append(text[cursor : cursor + 2])
            cursor += 2
    return "".join(found)


def _pods(document: Document) -> Iterator[Pod]:
    name, spec, kind = document["metadata"]["name"], document["spec"], document["kind"]
    if document["apiVersion"] == "batch.volcano.sh/v1alpha1":
        for task in spec["tasks"]:
            for index in range(task["replicas"]):
                host = f"{name}-{task['name']}-{index}"
                added = {"VK_TASK_INDEX": str(index), "VC_TASK_INDEX": str(index)}
                yield _pod(task["template"], f"{host}.{name}", index, added)
    elif kind == "Job":
        for index in range(spec["completions"]):
            host = f"{name}-{index}.{spec['template']['spec']['subdomain']}"
            yield _pod(spec["template"], host, index, {})
    elif kind == "JobSet":
        for replicated in spec["replicatedJobs"]:
            job = replicated["template"]["spec"]
            for index in range(job["completions"]):
                host = f"{name}-{replicated['name']}-0-{index}.{spec['network']['subdomain']}"
                yield _pod(job["template"], host, index, {})
    elif kind == "TrainJob":
        yield from _train_job(name, spec)
    elif kind == "MPIJob":
        yield from _mpi_job(name, spec)
    elif kind in _ADDED:
        yield from _training_operator(name, spec, kind)


def _pod(template: Document, name: str, index: int, added: Mapping[str, str]) -> Pod:
    (container,) = template["spec"]["containers"]
    fields = {
        "metadata.annotations['batch.kubernetes.io/job-completion-index']": str(index),
        "metadata.labels['training.kubeflow.org/replica-index']": str(index),
        "status.podIP": name,
    }
    environment: dict[str, str] = {}
    variables: list[Variable] = container.get("env", [])
    names = [variable["name"] for variable in variables]
    assert len(names) == len(set(names)), "a variable stands twice"
    assert not set(names) & set(added), "the operator sets this itself"
    for variable in [*variables, *({"name": key, "value": added[key]} for key in added)]:
        if "valueFrom" in variable:
            value = fields[variable["valueFrom"]["fieldRef"]["fieldPath"]]
        else:
            # Only what stands before is known here.
            value = expand(variable["value"], environment)
        environment[variable["name"]] = value
    written = [*container.get("command", []), *container.get("args", [])]
    words = [expand(word, environment) for word in written]
    labels = template.get("metadata", {}).get("labels", {})
    role = labels.get("app.kubernetes.io/component", "")
    return Pod(name, role, index, words, environment, template["spec"])


def _training_operator(name: str, spec: Document, kind: str) -> Iterator[Pod]:
    (field,) = [key for key in spec if key.endswith("ReplicaSpecs")]
    for role, replica in spec[field].items():
        for index in range(replica["replicas"]):
            host = f"{name}-{role.lower()}-{index}"
            added = _ADDED[kind](name, spec, role, index)
            yield _pod(replica["template"], host, index, added)


def _pytorch(name: str, spec: Document, role: str, index: int) -> dict[str, str]:
    roles = spec["pytorchReplicaSpecs"]
    pods = sum(replica["replicas"] for replica in roles.values())
    processes = spec.get("nprocPerNode", "auto")
    found = {"PYTHONUNBUFFERED": "1", "PET_NPROC_PER_NODE": processes, "PET_NNODES": str(pods)}
    if "Master" in roles:
        rank = index + (role == "Worker")
        total = pods * (int(processes) if processes.isdigit() else 1)
        for prefix in ("", "PET_"):
            found |= {f"{prefix}MASTER_ADDR": f"{name}-master-0", f"{prefix}MASTER_PORT": "23456"}
        found |= {"WORLD_SIZE": str(total), "RANK": str(rank), "PET_NODE_RANK": str(rank)}
    if "elasticPolicy" in spec:
        policy = spec["elasticPolicy"]
        found |= {
            "PET_RDZV_ENDPOINT": f"{name}-worker-0:23456",
            "PET_RDZV_BACKEND": policy["rdzvBackend"],
            "PET_RDZV_ID": policy["rdzvId"],
            "PET_NNODES": f"{policy['minReplicas']}:{policy['maxReplicas']}",
            "PET_MAX_RESTARTS": str(policy["maxRestarts"]),
        }
        if policy.get("standalone"):
            found["PET_STANDALONE"] = ""
    return found


def _paddle(name: str, spec: Document, role: str, index: int) -> dict[str, str]:
    roles = spec["paddleReplicaSpecs"]
    pods = sum(replica["replicas"] for replica in roles.values())
    first = "Master" if "Master" in roles else "Worker"
    # The first pod has its own address there.
    found = {
        "PYTHONUNBUFFERED": "1",
        "PADDLE_JOB_ID": name,
        "PADDLE_NNODES": str(pods),
        "PADDLE_MASTER": f"{name}-{first.lower()}-0:36543",
    }
    if "Master" in roles:
        found["PADDLE_SERVER_NUM" if role == "Master" else "PADDLE_TRAINER_NUM"] = "1"
    return found


def _tensorflow(name: str, spec: Document, role: str, index: int) -> dict[str, str]:
    cluster = {
        each.lower(): [f"{name}-{each.lower()}-{number}:2222" for number in range(r["replicas"])]
        for each, r in spec["tfReplicaSpecs"].items()
    }
    task = {"type": role.lower(), "index": index}
    return {"TF_CONFIG": json.dumps({"cluster": cluster, "task": task, "environment": "cloud"})}


def _mxnet(name: str, spec: Document, role: str, index: int) -> dict[str, str]:
    roles = spec["mxReplicaSpecs"]
    worker = {"DMLC_WORKER_ID": str(index)} if role == "Worker" else {}
    return {
        "DMLC_PS_ROOT_PORT": "9091",
        "DMLC_PS_ROOT_URI": f"{name}-scheduler-0",
        "DMLC_NUM_SERVER": str(roles["Server"]["replicas"]),
        "DMLC_NUM_WORKER": str(roles["Worker"]["replicas"]),
        "DMLC_ROLE": role.lower(),
        "DMLC_USE_KUBERNETES": "1",
        **worker,
    }


def _train_job(name: str, spec: Document) -> Iterator[Pod]:
    trainer = spec["trainer"]
    volumes = list(_volumes_of_train_job(spec))
    template = {
        "metadata": {"labels": {"app.kubernetes.io/component": "node"}},
        "spec": {
            "containers": [{**trainer, "name": "node", "volumeMounts": volumes[0]}],
            "volumes": volumes[1],
        },
    }
    for index in range(trainer["numNodes"]):
        added = {
            "PET_NNODES": str(trainer["numNodes"]),
            "PET_NPROC_PER_NODE": str(trainer["numProcPerNode"]),
            "PET_NODE_RANK": str(index),
            "PET_MASTER_ADDR": f"{name}-node-0-0.{name}",
            "PET_MASTER_PORT": "29500",
        }
        yield _pod(template, f"{name}-node-0-{index}.{name}", index, added)


def _volumes_of_train_job(spec: Document) -> Iterator[list[Document]]:
    """The mounts of the container `node`, and the volumes, in whatever version."""
    if "podSpecOverrides" in spec:
        (changes,) = spec["podSpecOverrides"]
    elif "podTemplateOverrides" in spec:
        changes = spec["podTemplateOverrides"][0]["spec"]
    else:
        (patch,) = spec["runtimePatches"]
        (job,) = patch["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"]
        assert job["name"] == "node"
        changes = job["template"]["spec"]["template"]["spec"]
    (container,) = changes["containers"]
    assert container["name"] == "node"
    yield container["volumeMounts"]
    yield changes["volumes"]


def _mpi_job(name: str, spec: Document) -> Iterator[Pod]:
    for role, replica in spec["mpiReplicaSpecs"].items():
        for index in range(replica["replicas"]):
            yield _pod(replica["template"], f"{name}-{role.lower()}-{index}", index, {})


_ADDED: dict[str, Callable[[str, Document, str, int], dict[str, str]]] = {
    "PyTorchJob": _pytorch,
    "PaddleJob": _paddle,
    "TFJob": _tensorflow,
    "MXJob": _mxnet,
}
