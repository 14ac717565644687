"""Every launch script: its checks, and what reaches the training script through it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_torchrun import HOSTILE, SHELLCHECK, names, words

from transpile.launch import targets
from transpile.launch.job import Job
from transpile.launch.manifests.volumes import Volume
from transpile.launch.roles import Resources
from transpile.launch.scripts.shell import quote

SHELL_TARGETS = ("dmlc", "mpi", "paddle-launch", "slurm", "tf-multi-worker", "torchrun")
CASES: list[tuple[str, str, dict[str, Any]]] = [
    *(
        (name, framework, {})
        for name in SHELL_TARGETS
        for framework in sorted(targets()[name].frameworks)
    ),
    ("slurm", "paddle", {"mode": "pserver", "servers": 3}),
    ("slurm", "fluid", {"mode": "pserver", "workers": 4}),
    ("slurm", "fluid", {"paddle_version": "1.8", "gpus_per_node": 2}),
    ("dmlc", "mxnet", {"dmlc_launcher": "ssh"}),
    ("dmlc", "mxnet", {"dmlc_launcher": "mpi", "workers": 4}),
    ("paddle-launch", "paddle", {"paddle_version": "1.8", "gpus_per_node": 2}),
    ("paddle-launch", "paddle", {"mode": "pserver", "servers": 3}),
    ("paddle-launch", "fluid", {"mode": "pserver", "workers": 2}),
    ("paddle-launch", "fluid", {"paddle_version": "1.3"}),
]
_SEEN = f"""#!{sys.executable} -SIE
import json, os, subprocess, sys
if "--launcher" in sys.argv:
    # As launch.py does it: words are joined, and read by one or two shells.
    line = " ".join(sys.argv[sys.argv.index("sh"):])
    if "ssh" in sys.argv:
        line = "bash -c '" + line + "'"
    told = dict(os.environ, DMLC_ROLE="worker", DMLC_TASK_ID="1")
    sys.exit(subprocess.call(line, shell=True, executable="bash", env=told))
if not any(word.endswith(".py") for word in sys.argv):
    sys.exit(0)
if os.environ["PSERVERS"] and os.environ.get("TRAINING_ROLE") == "PSERVER":
    # Beside a trainer, which is the one to look at.
    sys.exit(0)
words = [os.fsencode(word).decode("utf-8", "surrogateescape") for word in sys.argv]
own = os.environ["RECORD"] + str(os.getpid())
with open(own, "w") as stream:
    json.dump([words, dict(os.environ)], stream)
os.replace(own, os.environ["RECORD"])
"""
# These run the rest of their words as one process: that with rank 1, or on the second node.
_SRUN = """#!/bin/sh
: >"$RECORD.options"
while [ "$1" != sh ]; do
    printf '%s\\n' "$1" >>"$RECORD.options"
    shift
done
SLURM_NODEID=1 SLURM_PROCID=1 SLURM_LOCALID=1 exec "$@"
"""
_MPIRUN = """#!/bin/sh
[ "$1" != --version ] || { echo 'mpirun (Open MPI) 4.1.4'; exit; }
: >"$RECORD.options"
while [ "$1" != env ]; do
    printf '%s\\n' "$1" >>"$RECORD.options"
    [ "$1" != --hostfile ] || cat -- "$2" >>"$RECORD.options"
    shift
done
if grep -qx -e -prepend-rank "$RECORD.options"; then
    PMI_RANK=1 PMI_SIZE=2 MPI_LOCALRANKID=1 exec "$@"
fi
OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_RANK=1 exec "$@"
"""
_PROGRAMS = {
    "torchrun": _SEEN,
    "python3": _SEEN,
    "srun": _SRUN,
    "mpirun": _MPIRUN,
    "nvidia-smi": "#!/bin/sh\nexit 9\n",
    "nproc": "#!/bin/sh\necho 12\n",
    # Between looks at the processes that were started; these end at once.
    "sleep": "#!/bin/sh\nexec /bin/sleep 0.1\n",
    "scontrol": "#!/bin/sh\nprintf 'n0\\nn1\\n'\n",
}
_TOLD = {
    "SLURM_JOB_NODELIST": "n[0-1]",
    "SLURM_JOB_NUM_NODES": "2",
    "SLURM_JOB_ID": "17",
    "SLURM_JOB_NAME": "job",
    "SLURM_CPUS_PER_TASK": "3",
    "NODE_RANK": "1",
    "MASTER_ADDR": "host",
    "MASTER": "10.0.0.1:7000",
    "NODES": "10.0.0.1,10.0.0.2",
    "NODE": "10.0.0.2",
    "ROLE": "worker",
    "INDEX": "1",
    "PADDLE_TRAINERS_NUM": "99",
    "TRAINING_ROLE": "PSERVER",
    "DMLC_ROLE": "server",
}


@dataclass(frozen=True)
class Seen:
    """What the training script would see."""

    status: int
    errors: str
    words: list[str]
    environment: Mapping[str, str]
    options: list[str]


class FakeMachine:
    """A folder with programs that pass everything on to a recorder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        programs = folder / "programs"
        programs.mkdir(parents=True)
        for name, text in _PROGRAMS.items():
            (programs / name).write_text(text)
            (programs / name).chmod(0o755)
        (folder / "machines").write_text("n0\nn1\n")
        self._programs = programs

    def run(self, job: Job, target: str, arguments: list[str], **told: str) -> Seen:
        """Run the launch script of a job in the folder."""
        (text,) = targets()[target](job).values()
        launch = self.folder / "launch.sh"
        launch.write_bytes(os.fsencode(text))
        script = self.folder / os.fsdecode(os.fsencode(job.script))
        script.touch()
        record = self.folder / "record.json"
        record.unlink(missing_ok=True)
        shell = "bash" if text.startswith("#!/bin/bash") else "sh"
        done = subprocess.run(
            [os.fsencode(word) for word in (shell, "launch.sh", *arguments)],
            env={
                "PATH": f"{self._programs}{os.pathsep}/usr/bin:/bin",
                "RECORD": str(record),
                "PSERVERS": "yes" if job.mode == "pserver" else "",
                "MACHINES": str(self.folder / "machines"),
                "SERVERS": ",".join(f"10.0.0.{n}:1" for n in range(job.server_count)),
                "LAUNCH_PY": str(self.folder / "machines"),
                "SLURM_SUBMIT_DIR": str(self.folder),
                **_TOLD,
                **told,
            },
            cwd=self.folder,
            capture_output=True,
            timeout=60,
        )
        script.unlink()
        seen, environment = json.loads(record.read_text()) if record.exists() else ([], {})
        options = record.with_name("record.json.options")
        starter = options.read_text().splitlines() if options.exists() else []
        errors = done.stderr.decode("utf-8", "replace")
        return Seen(done.returncode, errors, seen, environment, starter)


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> FakeMachine:
    return FakeMachine(tmp_path_factory.mktemp("machine") / "fake")


def job(**choices: Any) -> Job:
    return Job(**{"script": "train_dist.py", "command": ("disttranspile",), **choices})


@st.composite
def jobs(draw: st.DrawFn, framework: str, extra: dict[str, Any]) -> Job:
    """Jobs with everything that a target can be told."""
    nodes = draw(st.sampled_from([1, 2]))
    script = draw(names.map(lambda name: f"{name}.py"))
    found: dict[str, Any] = {
        "script": script,
        "framework": framework,
        "command": tuple(draw(st.lists(words, min_size=1, max_size=4))),
        "name": draw(words),
        "script_arguments": tuple(draw(st.lists(words, max_size=4))),
        "nodes": nodes,
        "environment": tuple({"FIRST": draw(words), "SECOND": draw(words)}.items()),
        "nccl_socket_interface": draw(words),
        "nccl_disable_infiniband": draw(st.booleans()),
        "worker_resources": Resources(
            draw(st.none() | st.just(Decimal("3.5"))), draw(st.none() | st.just(10**9))
        ),
        "time_limit": draw(st.none() | st.integers(1, 10**6)),
        "partition": draw(st.sampled_from(["", "gpu"])),
        "container": draw(st.sampled_from(["", "r.io#a/b:c", "it's $(touch broken)"])),
        "work_directory": draw(st.sampled_from(["", "/a b", "$(touch broken)"])),
        "volumes": draw(st.sampled_from([(), (Volume("/a b", "/$(touch broken)", True),)])),
        "mpi": draw(st.sampled_from([None, "openmpi", "mpich"])),
    }
    if "gpus_per_node" not in extra:
        counts = (
            ["gpus_per_node"]
            if framework == "fluid"
            else ["gpus_per_node", "processes_without_gpus"]
        )
        found[draw(st.sampled_from(counts))] = 2
    return job(**{**found, **extra})


def shellcheck(text: str) -> str:
    shell = "bash" if text.startswith("#!/bin/bash") else "sh"
    done = subprocess.run(
        [str(SHELLCHECK), f"--shell={shell}", "--severity=style", "-"],
        input=os.fsencode(text),
        capture_output=True,
        env={"LC_ALL": "C.UTF-8"},
        timeout=60,
    )
    return done.stdout.decode() + done.stderr.decode() or "?" * done.returncode


@pytest.mark.parametrize(("target", "framework", "extra"), CASES, ids=str)
def test_nothing_escapes(
    machine: FakeMachine, target: str, framework: str, extra: dict[str, Any]
) -> None:
    @settings(deadline=None, max_examples=12, suppress_health_check=list(HealthCheck))
    @given(jobs(framework, extra), st.lists(words, max_size=3))
    def check(hostile: Job, arguments: list[str]) -> None:
        before = set(machine.folder.iterdir())
        seen = machine.run(hostile, target, ["--", *arguments] if target != "slurm" else arguments)
        assert (seen.status, seen.errors) == (0, "")
        given = [*hostile.script_arguments, *arguments]
        if target == "torchrun" and hostile.nodes == 1:
            given = [*hostile.script_arguments, "--", *arguments]
        script = seen.words[-len(given) - 1]
        assert os.path.basename(script) == hostile.script
        assert seen.words[len(seen.words) - len(given) :] == given
        for variable, value in hostile.environment:
            assert seen.environment[variable] == value
        if hostile.nccl_socket_interface:
            assert seen.environment["NCCL_SOCKET_IFNAME"] == hostile.nccl_socket_interface
        assert seen.environment.get("NCCL_IB_DISABLE") == (
            "1" if hostile.nccl_disable_infiniband else None
        )
        size = hostile.world_size
        assert size is not None
        if target == "tf-multi-worker":
            # One worker for each GPU: manifests start one for each pod.
            size *= hostile.processes_without_gpus or hostile.gpus_per_node or 1
        # Two nodes are what Slurm gives here, whatever it was asked for.
        counts_nodes = target == "slurm" and not hostile.has_servers
        expected = size * (2 // hostile.nodes) if counts_nodes else size
        assert seen.environment["EXPECTED_WORLD_SIZE"] == str(expected)
        if framework in ("paddle", "fluid") and target == "paddle-launch":
            assert seen.environment.get("PADDLE_TRAINERS_NUM", str(size)) == str(size)
            role = "TRAINER" if hostile.has_servers else None
            assert seen.environment.get("TRAINING_ROLE") == role
        left = {path.name for path in set(machine.folder.iterdir()) - before}
        # A process may still be writing its record, under another name, as the last one leaves.
        left = {name for name in left if not re.fullmatch(r"record\.json\d+", name)}
        assert left <= {
            "launch.sh",
            "record.json",
            "record.json.options",
            "paddle-logs",
            "dmlc-logs",
            "tensorflow-logs",
            "job-17",
        }

    check()


@pytest.mark.parametrize(("target", "framework", "extra"), CASES, ids=str)
def test_the_checks_of_shells_pass(target: str, framework: str, extra: dict[str, Any]) -> None:
    @settings(deadline=None, max_examples=8, suppress_health_check=list(HealthCheck))
    @given(jobs(framework, extra))
    def check(hostile: Job) -> None:
        (text,) = targets()[target](hostile).values()
        try:
            text.encode()
        except UnicodeEncodeError:
            return
        assert shellcheck(text) == ""

    check()


def test_words_of_the_shell_itself_are_quoted() -> None:
    words = ("then", "do", "done", "fi", "in", "case", "esac", "time", "function", "select")
    lines = [f"export NAME_{number}={quote(word)}" for number, word in enumerate(words)]
    assert shellcheck("\n".join(["#!/bin/sh", *lines, ""])) == ""


@pytest.mark.parametrize(("target", "framework", "extra"), CASES, ids=str)
def test_the_head_says_what_it_starts_and_where_the_output_is(
    target: str, framework: str, extra: dict[str, Any]
) -> None:
    choices = {"framework": framework, "nodes": 2, "gpus_per_node": 2, **extra}
    made = job(name="x\n#SBATCH --nodes=7", **choices)
    (text,) = targets()[target](made).values()
    head = text.split("\nset -eu\n")[0]
    assert all(line.startswith("#") for line in head.splitlines())
    # Manifests of TensorFlow start one worker in each pod, this script one for each GPU.
    total = "2 nodes, 4 workers" if target == "tf-multi-worker" else made.total
    assert f": {total}." in head
    assert "byte for byte:\n#   disttranspile\n" in head
    assert re.search("output|lines come here|log", head)
    assert "\n#SBATCH --nodes=7" not in text


def test_ranks_are_those_of_mpirun(machine: FakeMachine) -> None:
    for dialect in ("openmpi", "mpich"):
        made = job(framework="singa", processes_without_gpus=2, mpi=dialect)
        seen = machine.run(made, "mpi", [])
        told = {name: seen.environment[name] for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK")}
        assert told == {"RANK": "1", "WORLD_SIZE": "2", "LOCAL_RANK": "1"}


@pytest.mark.parametrize(
    ("dialect", "options"),
    [
        (
            "openmpi",
            [
                *("--hostfile", "n0 slots=2", "n1 slots=2"),
                *("-np", "4", "--tag-output", "--bind-to", "none"),
            ],
        ),
        ("mpich", ["--hostfile", "n0:2", "n1:2", "-np", "4", "-prepend-rank"]),
    ],
)
def test_mpirun_is_told_all_machines_in_its_own_words(
    machine: FakeMachine, dialect: Any, options: list[str]
) -> None:
    made = job(framework="singa", nodes=2, gpus_per_node=2, mpi=dialect)
    found = machine.run(made, "mpi", []).options
    assert [found[0], *found[1:3], *found[4:]] == options


def test_srun_is_told_what_the_job_is_not(machine: FakeMachine) -> None:
    full = {
        "nodes": 2,
        "gpus_per_node": 2,
        "worker_resources": Resources(Decimal(3)),
        "container": "r.io#a/b:c",
        "volumes": (Volume("/data", "/it's", read_only=True),),
        "work_directory": "/work",
    }
    seen = machine.run(job(**full), "slurm", [], MASTER_ADDR="")
    here = str(machine.folder)
    assert seen.options == [
        *("--kill-on-bad-exit=1", "--label", "--cpus-per-task=3"),
        "--container-image=r.io#a/b:c",
        f"--container-mounts={here}:{here},{here}:{here},/data:/it's:ro",
        "--container-workdir=/work",
    ]
    assert seen.words[1:] == [
        *("--nnodes=2", "--node-rank=1", "--log-dir=job-17/node1", "--nproc-per-node=2"),
        *("--role=worker", "--redirects=3", "--tee=3"),
        *("--master-addr=n0", "--master-port=20017", "--", f"{here}/train_dist.py"),
    ]
    assert "--cpus-per-task=3" not in machine.run(job(), "slurm", []).options


PADDLE_WORDS: list[tuple[dict[str, Any], list[str]]] = [
    (
        {"framework": "paddle", "nodes": 2, "gpus_per_node": 2},
        [
            *("--master=10.0.0.1:7000", "--nnodes=2", "--rank=1", "--max_restart=0"),
            *("--nproc_per_node=2", "--log_dir=paddle-logs"),
        ],
    ),
    (
        {"framework": "paddle", "gpus_per_node": 2, "max_restarts": 5},
        ["--max_restart=5", "--nproc_per_node=2", "--log_dir=paddle-logs"],
    ),
    (
        {"framework": "fluid", "nodes": 2, "gpus_per_node": 3},
        [
            *("--cluster_node_ips=10.0.0.1,10.0.0.2", "--node_ip=10.0.0.2"),
            *("--started_port=6170", "--selected_gpus=0,1,2", "--log_dir=paddle-logs"),
        ],
    ),
]


@pytest.mark.parametrize(("choices", "expected"), PADDLE_WORDS, ids=str)
def test_each_launcher_of_paddle_in_its_own_words(
    machine: FakeMachine, choices: dict[str, Any], expected: list[str]
) -> None:
    seen = machine.run(job(**choices), "paddle-launch", [])
    assert seen.errors == ""
    assert seen.words[1:3] == ["-m", "paddle.distributed.launch"]
    assert seen.words[3:-1] == expected


def test_paddle_1_3_is_told_what_its_launcher_would_say(machine: FakeMachine) -> None:
    made = job(framework="fluid", nodes=2, gpus_per_node=1, paddle_version="1.3")
    told = machine.run(made, "paddle-launch", []).environment
    assert told["PADDLE_TRAINER_ID"] == "1"
    assert told["PADDLE_CURRENT_ENDPOINT"] == "10.0.0.2:6170"
    assert told["PADDLE_TRAINER_ENDPOINTS"] == "10.0.0.1:6170,10.0.0.2:6170"
    assert told["FLAGS_selected_gpus"] == "0"


@pytest.mark.parametrize(
    ("names", "complaint"),
    [
        ("n0\n", "names not 2 machines"),
        ("n0\nn1\nn2\n", "names not 2 machines"),
        ("n0\nn1 slots=2\n", "a line is no name of a machine"),
        ("n0\n-x\n", "a line is no name of a machine"),
        ("n0 # first\n\n# none\nn1\n", ""),
    ],
)
def test_the_machines_of_mpirun(machine: FakeMachine, names: str, complaint: str) -> None:
    (machine.folder / "machines").write_text(names)
    seen = machine.run(job(framework="singa", nodes=2, gpus_per_node=1), "mpi", [])
    (machine.folder / "machines").write_text("n0\nn1\n")
    assert complaint in seen.errors
    assert seen.status == (2 if complaint else 0)


PLATFORM: dict[str, Any] = {
    "framework": "mxnet",
    "workers": 2,
    "servers": 1,
    "gpus_per_node": 2,
    "worker_resources": Resources(Decimal(12), 120 * 10**9),
    "server_resources": Resources(Decimal(2), 12 * 10**9),
}
DIRECTIVES: dict[str, tuple[dict[str, Any], list[str]]] = {
    "as little as can be": (
        {},
        ["job-name=train_dist", "output=%x-%j.log", "nodes=1", "ntasks-per-node=1"],
    ),
    "all": (
        {
            "nodes": 4,
            "min_nodes": 2,
            "gpus_per_node": 8,
            "name": "it's $(x)\n#SBATCH 漢字",
            "worker_resources": Resources(Decimal("12.5"), 120 * 10**9),
            "time_limit": 26 * 3600,
            "partition": "a,b",
        },
        [
            *("job-name=it-s-x-SBATCH", "output=%x-%j.log", "nodes=2-4", "ntasks-per-node=1"),
            *("gpus-per-node=8", "cpus-per-task=12", "mem=114441M", "time=1-02:00:00"),
            "partition=a,b",
        ],
    ),
    "a node with its share of every role": (
        {**PLATFORM, "nodes": 2},
        [
            *("job-name=train_dist", "output=%x-%j.log", "nodes=2", "ntasks-per-node=1"),
            *("gpus-per-node=2", "cpus-per-task=14", "mem=125886M"),
        ],
    ),
    "a task for each rank": (
        {"framework": "singa", "gpus_per_node": 4, "worker_resources": Resources(Decimal(8))},
        [
            *("job-name=train_dist", "output=%x-%j.log", "nodes=1", "ntasks-per-node=4"),
            *("gpus-per-node=4", "cpus-per-task=2"),
        ],
    ),
}


@pytest.mark.parametrize("name", DIRECTIVES)
def test_directives_of_slurm(name: str) -> None:
    choices, expected = DIRECTIVES[name]
    (text,) = targets()["slurm"](job(**choices)).values()
    assert re.findall(r"^#SBATCH --(.*)$", text, re.MULTILINE) == expected


@pytest.mark.parametrize(("cores", "said"), [(1, "4 processes share 1 CPUs"), (4, "")])
def test_processes_that_share_a_cpu_of_slurm_are_told(
    cores: int, said: str, tmp_path: Path
) -> None:
    (text,) = targets()["slurm"](job(gpus_per_node=4)).values()
    test = text[text.index('if [ "$(nproc') :]
    test = "processes=4\n" + test[: test.index("fi\n") + 3]
    (tmp_path / "nproc").write_text(f"#!/bin/sh\necho {cores}\n")
    (tmp_path / "nproc").chmod(0o755)
    search = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-eu", "-c", test], env={"PATH": search}, capture_output=True, text=True
    )
    assert done.returncode == 0
    assert done.stderr.startswith(said) and bool(done.stderr) is bool(said)
    (enough,) = targets()["slurm"](
        job(gpus_per_node=4, worker_resources=Resources(Decimal(8)))
    ).values()
    assert "nproc)" not in enough.replace("$(nproc 2>", "") and "--cpus-per-task." not in enough


@pytest.mark.parametrize(
    ("target", "wrong", "complaint"),
    [
        ("slurm", {"partition": "a b"}, "cannot be a partition"),
        ("slurm", {"partition": "a;b"}, "cannot be a partition"),
        ("slurm", {"framework": "fluid", "paddle_version": "1.3"}, "use paddle-launch"),
        ("slurm", {"framework": "mxnet", "max_restarts": 1}, "only torchrun"),
        ("slurm", {"framework": "paddle", "nodes": 2, "min_nodes": 1}, "a range of nodes"),
        ("slurm", {"framework": "singa"}, "say --gpus-per-node"),
        ("mpi", {"nodes": 2, "min_nodes": 1}, "no elastic jobs"),
        ("mpi", {"max_restarts": 1}, "does not start processes again"),
    ],
)
def test_what_a_target_cannot(target: str, wrong: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        targets()[target](job(**wrong))


def test_a_hostile_word_in_each_place_of_slurm(machine: FakeMachine) -> None:
    for word in HOSTILE:
        seen = machine.run(job(script_arguments=(word, "end")), "slurm", [word])
        assert seen.words[-3:] == [word, "end", word]
