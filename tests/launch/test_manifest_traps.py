"""What manifests written by hand get wrong, each of which platforms accept or explain badly."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from clusters import Document, Pod, documents, pods
from test_manifests import FITTING, FITTING_IDS, MANIFESTS, WITH_SERVERS, full, job, manifest

from transpile.launch import targets
from transpile.launch.manifests.volumes import Volume
from transpile.launch.roles import Resources

each_fitting = pytest.mark.parametrize(("target", "choices"), FITTING, ids=FITTING_IDS)
PYTORCH = ("jobset", "kubernetes", "pytorchjob", "trainjob", "volcano")
G = 10**9


def only(target: str, **choices: Any) -> Document:
    (found,) = documents(manifest(target, job(**choices)))
    return found


def training(target: str, **choices: Any) -> list[Pod]:
    return [pod for pod in pods(manifest(target, job(**choices))) if pod.role != "launcher"]


@pytest.mark.parametrize("nodes", [1, 3])
@pytest.mark.parametrize("target", PYTORCH)
def test_torchrun_starts_every_process_of_a_pod(target: str, nodes: int) -> None:
    found = training(target, nodes=nodes, gpus_per_node=4)
    assert len(found) == nodes
    for pod in found:
        assert pod.words[0] == "torchrun"
        told = f"--nproc-per-node={pod.environment.get('PET_NPROC_PER_NODE', 4)}"
        assert told == "--nproc-per-node=4"
        assert told in pod.words or "PET_NPROC_PER_NODE" in pod.environment
        # What torchrun is told stands before these hyphens, what the script is told behind.
        assert pod.words.index("--") < pod.words.index("train_dist.py")


@pytest.mark.parametrize(
    ("target", "field", "container"),
    [
        ("pytorchjob", "pytorchReplicaSpecs", "pytorch"),
        ("paddlejob", "paddleReplicaSpecs", "paddle"),
        ("tfjob", "tfReplicaSpecs", "tensorflow"),
        ("mxjob", "mxReplicaSpecs", "mxnet"),
    ],
)
def test_containers_are_called_what_the_operator_looks_for(
    target: str, field: str, container: str
) -> None:
    framework = sorted(targets()[target].frameworks)[0]
    for replica in only(target, framework=framework, nodes=2)["spec"][field].values():
        assert [each["name"] for each in replica["template"]["spec"]["containers"]] == [container]


def test_a_pytorchjob_has_one_master_and_counts_processes_in_a_text() -> None:
    spec = only("pytorchjob", nodes=3, gpus_per_node=4)["spec"]
    assert spec["nprocPerNode"] == "4"
    assert {role: each["replicas"] for role, each in spec["pytorchReplicaSpecs"].items()} == {
        "Master": 1,
        "Worker": 2,
    }
    (world,) = {pod.environment["WORLD_SIZE"] for pod in training("pytorchjob", nodes=3)}
    assert world == "3"
    assert list(only("pytorchjob")["spec"]["pytorchReplicaSpecs"]) == ["Master"]
    head = manifest("pytorchjob", job(nodes=3)).partition("---\n")[0]
    assert "the pod called master" in head and "index 0" not in head


def test_an_elastic_pytorchjob_has_only_workers_and_is_never_alone() -> None:
    for choices in ({"min_nodes": 2}, {"max_restarts": 1}):
        spec = only("pytorchjob", nodes=4, gpus_per_node=2, **choices)["spec"]
        assert list(spec["pytorchReplicaSpecs"]) == ["Worker"]
        policy = spec["elasticPolicy"]
        assert (policy["minReplicas"], policy["maxReplicas"]) == (choices.get("min_nodes", 4), 4)
        assert not {"standalone", "nProcPerNode"} & set(policy)
        assert spec["nprocPerNode"] == "2"


@each_fitting
def test_all_pods_start_or_none(target: str, choices: dict[str, Any]) -> None:
    wanted = job(**full(target, choices))
    total = len(pods(manifest(target, wanted)))
    spec = documents(manifest(target, wanted))[0]["spec"]
    if target == "volcano":
        assert spec["minAvailable"] == total
    elif "runPolicy" in spec:
        # The launcher of MPI waits for the workers: it cannot be one of those waited for.
        least = total - (target == "mpijob")
        assert spec["runPolicy"]["schedulingPolicy"]["minAvailable"] == least


@each_fitting
def test_shared_memory_is_more_than_the_default_and_fits_the_memory(
    target: str, choices: dict[str, Any]
) -> None:
    for amount, size in ((None, "8Gi"), (120 * G, "8Gi"), (12 * G, "5722Mi")):
        wanted = job(**{**choices, "worker_resources": Resources(memory=amount)})
        for pod in pods(manifest(target, wanted)):
            (mount,) = [m for m in pod.container["volumeMounts"] if m["mountPath"] == "/dev/shm"]
            (volume,) = [v for v in pod.spec["volumes"] if v["name"] == mount["name"]]
            assert volume["emptyDir"]["medium"] == "Memory"
            trains = pod.role not in ("scheduler", "server", "launcher") and not (
                pod.role == "master" and choices.get("mode") == "pserver"
            )
            assert volume["emptyDir"]["sizeLimit"] == (size if trains else "8Gi")
    wanted = job(**{**choices, "shared_memory": 2**30})
    assert "sizeLimit: 1Gi" in manifest(target, wanted).replace('"', "")


@each_fitting
def test_the_script_is_told_how_many_processes_train(target: str, choices: dict[str, Any]) -> None:
    wanted = job(**full(target, choices))
    one_process = choices["framework"] in ("mxnet", "tensorflow") or choices.get("mode")
    processes = 1 if one_process else wanted.gpus_per_node or 1
    for pod in pods(manifest(target, wanted)):
        if pod.words:
            assert pod.environment["EXPECTED_WORLD_SIZE"] == str(3 * processes)
    for pod in pods(manifest(target, job(**{**full(target, choices), "gpus_per_node": 1}))):
        if pod.words:
            assert pod.environment["EXPECTED_WORLD_SIZE"] == "3"


@each_fitting
def test_only_those_that_train_have_gpus(target: str, choices: dict[str, Any]) -> None:
    wanted = job(**full(target, choices))
    found = []
    for pod in pods(manifest(target, wanted)):
        resources = pod.container.get("resources") or pod.container.get("resourcesPerNode", {})
        gpus = resources.get("limits", {}).get("nvidia.com/gpu", 0)
        assert "nvidia.com/gpu" not in resources.get("requests", {})
        found.append((gpus, resources.get("requests", {})))
    trains = {"cpu": "12500m", "memory": "120G"}
    serves = {"cpu": "2", "memory": "12G"}
    servers = [(0, serves)] * (wanted.server_count)
    others: list[tuple[int, dict[str, str]]] = [(0, {})] * (
        wanted.has_scheduler or target == "mpijob"
    )
    gpus = wanted.gpus_per_node
    assert sorted(found, key=str) == sorted([*others, *servers, *[(gpus, trains)] * 3], key=str)
    if "gpus_per_node" not in choices:
        assert "nvidia.com/gpu" not in manifest(target, job(**choices))


@pytest.mark.parametrize("target", MANIFESTS)
def test_what_the_launcher_sets_is_not_for_the_user(target: str) -> None:
    framework = sorted(targets()[target].frameworks)[-1]
    for name in ("RANK", "PET_NNODES", "MASTER_ADDR", "EXPECTED_WORLD_SIZE"):
        with pytest.raises(ValueError, match=f"^{name} is for the launcher to set$"):
            manifest(target, job(framework=framework, environment=((name, "1"),)))


@pytest.mark.parametrize(
    ("target", "name", "choices"),
    [
        ("kubernetes", "TF_CLUSTER", {"framework": "tensorflow"}),
        ("volcano", "DMLC_NODE_HOST", {"framework": "mxnet"}),
        ("jobset", "SERVER_HOSTS", {"framework": "fluid", "mode": "pserver"}),
        ("kubernetes", "MASTER_HOST", {"framework": "paddle", "nodes": 2}),
        ("trainjob", "OMPI_MCA_plm_rsh_args", {}),
        ("paddlejob", "REPLICA_INDEX", {"framework": "paddle", "mode": "pserver"}),
    ],
)
def test_nor_is_what_this_target_sets(target: str, name: str, choices: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"^{name} is for the launcher to set$"):
        manifest(target, job(environment=((name, "1"),), **choices))


@each_fitting
def test_the_user_has_the_last_word_on_settings(target: str, choices: dict[str, Any]) -> None:
    chosen = {"PYTHONUNBUFFERED": "0", "NCCL_DEBUG": "INFO", "OMP_NUM_THREADS": "3"}
    if target in ("pytorchjob", "paddlejob"):
        # The operator adds the first itself.
        del chosen["PYTHONUNBUFFERED"]
    wanted = job(**{**full(target, choices), "environment": tuple(chosen.items())})
    for pod in pods(manifest(target, wanted)):
        assert {name: pod.environment[name] for name in chosen} == chosen


@pytest.mark.parametrize("target", PYTORCH)
def test_nccl_and_threads_are_set_for_a_pod(target: str) -> None:
    resources = Resources(Decimal(13))
    for pod in training(target, nodes=2, gpus_per_node=4, worker_resources=resources):
        assert pod.environment["OMP_NUM_THREADS"] == "3"
        assert pod.environment["NCCL_DEBUG"] == "WARN"
        assert pod.environment["NCCL_SOCKET_IFNAME"] == "eth0"
        assert "NCCL_IB_DISABLE" not in pod.environment
    assert "value: eth0 # change" in manifest(target, job())
    assert "value: ib0\n" in manifest(target, job(nccl_socket_interface="ib0"))
    for pod in training(target, nccl_socket_interface="ib0", nccl_disable_infiniband=True):
        assert pod.environment["NCCL_SOCKET_IFNAME"] == "ib0"
        assert pod.environment["NCCL_IB_DISABLE"] == "1"


@pytest.mark.parametrize("dialect", ["openmpi", "mpich"])
def test_mpirun_is_told_the_hosts_the_number_and_what_to_pass_on(dialect: str) -> None:
    wanted = job(
        framework="singa", mpi=dialect, nodes=2, gpus_per_node=4, environment=(("MINE", "1"),)
    )
    document = documents(manifest("mpijob", wanted))[0]
    (launcher,) = [pod for pod in pods(manifest("mpijob", wanted)) if pod.role == "launcher"]
    words = launcher.words
    assert words[words.index("--hostfile") + 1] == "/etc/mpi/hostfile"
    assert words[words.index("-np") + 1] == "8"
    assert document["spec"]["slotsPerWorker"] == 4
    if dialect == "openmpi":
        passed = {words[place + 1] for place, word in enumerate(words) if word == "-x"}
        assert "--allow-run-as-root" in words
    else:
        passed = set(words[words.index("-genvlist") + 1].split(","))
    assert {"PATH", "MINE", "EXPECTED_WORLD_SIZE", "NCCL_DEBUG"} <= passed
    assert document["spec"]["mpiImplementation"].lower() == dialect
    worker = document["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]
    assert "command" not in worker and "args" not in worker
    assert worker["readinessProbe"]["tcpSocket"] == {"port": 22}


def test_an_mxjob_says_which_operators_know_it() -> None:
    text = manifest("mxjob", job(framework="mxnet", **WITH_SERVERS))
    assert "Only training-operator 1.8.1 and older knows MXJobs" in text
    assert documents(text)[0]["spec"]["jobMode"] == "MXTrain"
    roles = {pod.role: pod.environment["DMLC_ROLE"] for pod in pods(text)}
    assert roles == {role: role for role in ("scheduler", "server", "worker")}


@pytest.mark.parametrize("target", ["kubernetes", "jobset", "volcano"])
def test_every_mxnet_pod_has_one_role_and_the_schedulers_name(target: str) -> None:
    found = pods(manifest(target, job(**full(target, {"framework": "mxnet"}))))
    roles = [pod.environment["DMLC_ROLE"] for pod in found]
    assert roles == ["scheduler", "server", "server", "worker", "worker", "worker"]
    for pod in found:
        assert pod.environment["DMLC_PS_ROOT_URI"] == found[0].name
        assert pod.environment["DMLC_NUM_SERVER"] == "2"
        assert pod.environment["DMLC_NUM_WORKER"] == "3"
        assert pod.environment["DMLC_USE_KUBERNETES"] == "1"
        assert ("DMLC_NODE_HOST" in pod.environment) == (pod.role != "scheduler")
        assert pod.words[:2] == ["sh", "-c"]
        assert "env -u DMLC_ROLE python -c" in pod.words[2] and "DIST_KVSTORE" in pod.words[2]
        assert pod.words[3:5] == ["sh", "train_dist.py"]


@pytest.mark.parametrize("target", ["kubernetes", "jobset", "volcano", "paddlejob"])
def test_no_pod_of_paddle_is_both_server_and_worker(target: str) -> None:
    choices = full(target, {"framework": "paddle", "mode": "pserver"})
    found = pods(manifest(target, job(**choices)))
    roles = [pod.environment["TRAINING_ROLE"] for pod in found]
    assert roles == ["PSERVER", "PSERVER", "TRAINER", "TRAINER", "TRAINER"]
    names = " ".join(f"{pod.name}:6170" for pod in found[:2])
    for pod in found:
        assert "paddle.distributed.launch" not in " ".join(pod.words)
        assert pod.environment["SERVER_HOSTS"] == names
        assert pod.environment["PADDLE_TRAINERS_NUM"] == "3"


@pytest.mark.parametrize(
    ("target", "choices", "complaint"),
    [
        ("pytorchjob", {"framework": "mxnet"}, "pytorchjob does not start scripts of mxnet"),
        ("mxjob", {}, "mxjob does not start scripts of pytorch"),
        ("trainjob", {"framework": "singa"}, "which these do: .*mpijob"),
        ("paddlejob", {"framework": "fluid"}, "paddlejob does not start scripts of fluid"),
        ("tfjob", {"framework": "mxnet"}, "tfjob does not start scripts of mxnet"),
        ("mpijob", {}, "mpijob does not start scripts of pytorch"),
        ("jobset", {"nodes": 2, "min_nodes": 1}, "the number of nodes is fixed here"),
        ("volcano", {"nodes": 2, "min_nodes": 1}, "the number of nodes is fixed here"),
        ("trainjob", {"nodes": 2, "min_nodes": 1}, "the number of nodes is fixed here"),
        ("trainjob", {"rendezvous": "c10d"}, "the rendezvous is static"),
        ("trainjob", {"time_limit": 9, "trainer_version": "2.1"}, "2.1 has no time limit"),
        (
            "kubernetes",
            {"framework": "paddle", "nodes": 2, "min_nodes": 1},
            "elastic jobs of paddle need etcd",
        ),
        ("kubernetes", {"framework": "fluid"}, "on GPUs only"),
        ("kubernetes", {"framework": "mxnet", "max_restarts": 1}, "jobset and volcano start all"),
        ("kubernetes", {"framework": "paddle", "paddle_version": "1.3"}, "launcher of Paddle 1.3"),
        ("paddlejob", {"framework": "paddle", "paddle_version": "1.8"}, "Paddle 2.3 and later"),
        ("kubernetes", {"namespace": "Team A"}, "'Team A' cannot be a namespace"),
        ("kubernetes", {"image": "a b"}, "'a b' cannot be an image"),
        ("kubernetes", {"volumes": (Volume("a_b", "/x"),)}, "'a_b' cannot be a claim"),
        ("kubernetes", {"volumes": (Volume("/a/../b", "/x"),)}, "cannot be a path of a host"),
        ("kubernetes", {"volumes": (Volume("a", "/dev/shm/"),)}, "two volumes cannot both be at"),
        ("volcano", {"volumes": (Volume("a", "/x"), Volume("b", "/x"))}, "two volumes cannot"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(
    target: str, choices: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(ValueError, match=complaint) as refused:
        manifest(target, job(**choices))
    assert "\n" not in str(refused.value)


def test_the_pods_of_an_elastic_job_end_with_the_first() -> None:
    text = manifest("kubernetes", job(nodes=4, min_nodes=2, gpus_per_node=2))
    (spec,) = [each["spec"] for each in documents(text) if each["kind"] == "Job"]
    assert spec["successPolicy"] == {"rules": [{"succeededIndexes": "0"}]}
    for pod in pods(text):
        assert "--nnodes=2:4" in pod.words
        assert "EXPECTED_WORLD_SIZE" not in pod.environment
    fixed = manifest("kubernetes", job(nodes=4))
    assert "successPolicy" not in fixed


@pytest.mark.parametrize("target", ["jobset", "volcano"])
def test_workers_end_a_job_whose_servers_stay(target: str) -> None:
    wanted = job(framework="fluid", mode="pserver", nodes=2)
    spec = documents(manifest(target, wanted))[0]["spec"]
    if target == "jobset":
        assert spec["successPolicy"] == {"operator": "All", "targetReplicatedJobs": ["worker"]}
    else:
        policies = {task["name"]: task.get("policies") for task in spec["tasks"]}
        ending = {"event": "TaskCompleted", "action": "CompleteJob"}
        assert policies == {"server": None, "worker": [ending]}


def test_without_an_operator_the_head_says_how_servers_end() -> None:
    for mode, said in (("pserver", True), ("collective", False)):
        text = manifest("kubernetes", job(framework="paddle", mode=mode))
        assert ("wait --for=condition=complete" in text) is said
    assert "wait --for" not in manifest("kubernetes", job(framework="mxnet"))


@each_fitting
def test_the_head_says_how_the_log_of_each_role_is_read(
    target: str, choices: dict[str, Any]
) -> None:
    text = manifest(target, job(**full(target, choices)))
    head = text[: text.index("---\n")]
    for role in {pod.role for pod in pods(text)}:
        selector = f"app.kubernetes.io/component={role}"
        assert selector in head or "replicatedjob-name=node" in head
    if choices["framework"] == "pytorch":
        assert "[rank 0]" in head
        with_master = "master" in {pod.role for pod in pods(text)}
        assert ("in\n# the pod called master" in head) == with_master
        for pod in pods(text):
            assert "--tee=3" in pod.words
            template = pod.environment["TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE"]
            assert template == "[rank ${rank}] "


@pytest.mark.parametrize("target", ["kubernetes", "jobset", "volcano"])
def test_pods_are_found_before_they_are_ready(target: str) -> None:
    document = documents(manifest(target, job(nodes=2)))[0]
    spec = document["spec"]
    if target == "volcano":
        assert spec["plugins"]["svc"] == ["--publish-not-ready-addresses=true"]
        assert "env" in spec["plugins"]
    else:
        assert spec.get("network", spec)["publishNotReadyAddresses"] is True
    if target == "kubernetes":
        assert (document["kind"], spec["clusterIP"]) == ("Service", "None")
        assert document["metadata"]["name"] == "train-dist"


def test_a_time_limit_ends_the_job() -> None:
    for target, choices in FITTING:
        if choices.get("trainer_version") not in ("2.0", "2.1"):
            text = manifest(target, job(**{**choices, "time_limit": 3600}))
            assert "activeDeadlineSeconds: 3600" in text, target


@pytest.mark.parametrize("name", ["", "A b", "9", "训练", "x" * 200, "-", "Ünï"])
@pytest.mark.parametrize("target", MANIFESTS)
def test_names_are_what_all_platforms_accept(target: str, name: str) -> None:
    framework = sorted(targets()[target].frameworks)[0]
    text = manifest(target, job(framework=framework, gpus_per_node=1, nodes=12, name=name))
    for pod in pods(text):
        host = pod.name.split(".")[0]
        assert host[0].isalpha() and len(host) + 6 <= 63
        assert all(c.isdigit() or "a" <= c <= "z" or c == "-" for c in host)
