"""The launch script for torchrun: its text, and what it does."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from launching import COMMAND, SHELLS, FakeTorchrun, torchrun_script

from transpile.launch.job import Job

EXPECTED = Path(__file__).parent / "expected"
SHELLCHECK = Path(sys.executable).parent / "shellcheck"
JOBS: dict[str, dict[str, Any]] = {
    "one_node": {},
    "one_node_of_four": {"gpus_per_node": 4, "script_arguments": ("--epochs", "3", "--tag", "a b")},
    "static": {
        "nodes": 2,
        "gpus_per_node": 8,
        "environment": (("DATA", "/data/it's here"),),
        "nccl_socket_interface": "eth0",
        "nccl_disable_infiniband": True,
    },
    "c10d": {"nodes": 3, "max_restarts": 2, "name": "night run"},
    "elastic": {"nodes": 4, "min_nodes": 2, "gpus_per_node": 8},
    "elsewhere": {"script": "/opt/my scripts/train_dist.py", "nodes": 2, "rendezvous": "c10d"},
}
HOSTILE = (
    "",
    "-",
    "--",
    "--nnodes=9",
    "a b",
    "$(touch broken)",
    "`touch broken`",
    "${HOME}",
    "'; touch broken; '",
    '"; touch broken; "',
    "\\",
    "\\'",
    "a\\\n",
    "\n",
    "\n# a comment\n",
    "\r\n",
    "\t",
    "*",
    "~",
    "~root",
    "!!",
    "key: value",
    "{a,b}",
    "é ü 漢字 \u200b\u2028\u00a0\ufeff",
    "\u201cquoted\u201d \u2018so\u2019 \u2013 and",
    "\x01\x1b[31m\x7f\x81\x88",
    "\udcff\udc80",
)

words = st.one_of(
    st.sampled_from(HOSTILE),
    st.text(st.sampled_from("ab '\"\\$`(){}!#*?~&|;<>\n\t-=:é“"), max_size=12),
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=8),
)
names = st.text(
    st.characters(exclude_characters="\0/", exclude_categories=["Cs"]), min_size=1, max_size=8
).filter(lambda name: name not in (".", ".."))


def job(**choices: Any) -> Job:
    return Job(**{"script": "train_dist.py", "command": COMMAND, **choices})


@st.composite
def hostile_jobs(draw: st.DrawFn) -> Job:
    nodes = draw(st.integers(1, 3))
    return job(
        script=draw(names),
        command=tuple(draw(st.lists(words, min_size=1, max_size=4))),
        name=draw(words),
        script_arguments=tuple(draw(st.lists(words, max_size=5))),
        nodes=nodes,
        min_nodes=draw(st.none() | st.integers(1, nodes)),
        gpus_per_node=draw(st.integers(1, 8)),
        environment=tuple({"FIRST": draw(words), "SECOND": draw(words)}.items()),
        nccl_socket_interface=draw(words),
    )


@pytest.fixture
def fake(tmp_path: Path) -> FakeTorchrun:
    return FakeTorchrun(tmp_path / "fake")


@pytest.fixture(scope="module")
def shared_fake(tmp_path_factory: pytest.TempPathFactory) -> FakeTorchrun:
    return FakeTorchrun(tmp_path_factory.mktemp("shared") / "fake")


def shellcheck(text: str) -> str:
    done = subprocess.run(
        [str(SHELLCHECK), "--shell=sh", "--severity=style", "-"],
        input=text.encode("utf-8", "surrogateescape"),
        capture_output=True,
        env={"LC_ALL": "C.UTF-8"},
        timeout=60,
    )
    return done.stdout.decode() + done.stderr.decode() or "?" * done.returncode


@pytest.mark.parametrize("name", JOBS)
def test_the_script_is_the_expected_one(name: str) -> None:
    expected = (EXPECTED / f"{name}.sh").read_text("utf-8")
    assert torchrun_script(job(**JOBS[name])) == expected


@pytest.mark.parametrize("path", sorted(EXPECTED.glob("*.sh")), ids=lambda path: path.stem)
def test_every_expected_script_belongs_to_a_job_and_passes_shellcheck(path: Path) -> None:
    assert path.stem in JOBS
    assert shellcheck(path.read_text("utf-8")) == ""


def test_shellcheck_sees_a_mistake() -> None:
    assert "SC2086" in shellcheck("#!/bin/sh\necho $1\n")


def test_the_file_is_named_after_the_script() -> None:
    from transpile.launch import targets

    assert list(targets()["torchrun"](job(script="a/b.c.py"))) == ["b.c.torchrun.sh"]


def expected_words(hostile: Job, arguments: list[str]) -> list[str]:
    """What torchrun gets on the node with rank 0 at ``host``."""
    nodes = f"{hostile.min_nodes}:{hostile.nodes}" if hostile.is_elastic else str(hostile.nodes)
    found = ["--standalone"] if hostile.nodes == 1 else [f"--nnodes={nodes}"]
    found.append(f"--nproc-per-node={hostile.gpus_per_node}")
    found += ["--role=worker", "--log-dir=torchrun-logs", "--redirects=3", "--tee=3"]
    found += [f"--max-restarts={hostile.restarts}"] if hostile.restarts else []
    if hostile.nodes > 1 and hostile.meeting == "static":
        found += ["--node-rank=0", "--master-addr=host", "--master-port=29500"]
    elif hostile.nodes > 1:
        found += ["--rdzv-backend=c10d", "--rdzv-endpoint=host:29500"]
        found.append(f"--rdzv-id={hostile.title}")
    return [*found, "--", f"./{hostile.script}", *hostile.script_arguments, *arguments]


@settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))
@given(hostile_jobs(), st.lists(words, max_size=3), st.sampled_from(SHELLS))
def test_nothing_escapes(
    shared_fake: FakeTorchrun, hostile: Job, arguments: list[str], shell: str
) -> None:
    own = []
    if hostile.nodes > 1:
        own = ["--master-addr", "host", "--"]
        own = ["--node-rank=0", *own] if hostile.meeting == "static" else own
    before = set(shared_fake.folder.iterdir()) | {shared_fake.folder / "launch.sh"}
    call = shared_fake.run_job(hostile, *own, *arguments, shell=shell)
    assert (call.status, call.errors) == (0, "")
    assert call.words == expected_words(hostile, arguments)
    assert call.environment["FIRST"] == dict(hostile.environment)["FIRST"]
    assert call.environment["SECOND"] == dict(hostile.environment)["SECOND"]
    interface = hostile.nccl_socket_interface
    assert call.environment.get("NCCL_SOCKET_IFNAME", "") == interface
    assert set(shared_fake.folder.iterdir()) - before <= {shared_fake.folder / "record.json"}


@settings(deadline=None, max_examples=40, suppress_health_check=list(HealthCheck))
@given(hostile_jobs())
def test_scripts_with_hostile_words_pass_the_checks(hostile: Job) -> None:
    text = torchrun_script(hostile)
    try:
        data = text.encode()
    except UnicodeEncodeError:
        return
    checked = subprocess.run(["sh", "-n"], input=data, capture_output=True, timeout=60)
    assert (checked.returncode, checked.stderr) == (0, b"")
    assert shellcheck(text) == ""


@pytest.mark.parametrize("word", HOSTILE)
@pytest.mark.parametrize("shell", SHELLS)
def test_a_hostile_word_stays_one_word(fake: FakeTorchrun, word: str, shell: str) -> None:
    call = fake.run_job(job(script_arguments=(word, "end")), word, shell=shell)
    assert call.words is not None
    assert call.words[-3:] == [word, "end", word]


def test_the_head_holds_nothing_but_comments() -> None:
    text = torchrun_script(job(command=("x", "\ntouch broken\n", "\r", "\u2028"), script="a\nb.py"))
    head = text.split("set -eu")[0]
    assert all(line.startswith("#") for line in head.splitlines())
    assert r"x $'\ntouch broken\n' $'\r' $'\342\200\250'" in head


@pytest.mark.parametrize(
    ("environment", "nvidia_smi", "processes"),
    [
        ({}, "exit 9", 1),
        ({}, "printf 'GPU 0: A (UUID: GPU-1)\\nGPU 1: A (UUID: GPU-2)\\n'", 2),
        ({"CUDA_VISIBLE_DEVICES": "3"}, "printf 'GPU 0: A\\nGPU 1: A\\n'", 1),
        ({"CUDA_VISIBLE_DEVICES": "0,2, GPU-7,MIG-4"}, "exit 9", 4),
        ({"CUDA_VISIBLE_DEVICES": ""}, "printf 'GPU 0: A\\nGPU 1: A\\n'", 1),
        ({"CUDA_VISIBLE_DEVICES": "-1"}, "printf 'GPU 0: A\\nGPU 1: A\\n'", 1),
    ],
)
def test_a_process_for_each_gpu(
    fake: FakeTorchrun, environment: dict[str, str], nvidia_smi: str, processes: int
) -> None:
    fake.program("nvidia-smi", f"#!/bin/sh\n{nvidia_smi}\n")
    call = fake.run_job(job(nodes=2), NODE_RANK="0", MASTER_ADDR="host", **environment)
    assert call.words is not None
    assert f"--nproc-per-node={processes}" in call.words
    assert call.environment["EXPECTED_WORLD_SIZE"] == str(2 * processes)
    assert call.environment["OMP_NUM_THREADS"] == str(12 // processes)


def test_threads_of_the_user_and_at_least_one(fake: FakeTorchrun) -> None:
    assert fake.run_job(job(), OMP_NUM_THREADS="7").environment["OMP_NUM_THREADS"] == "7"
    assert fake.run_job(job(gpus_per_node=99)).environment["OMP_NUM_THREADS"] == "1"


def test_an_elastic_job_expects_no_number_of_processes(fake: FakeTorchrun) -> None:
    elastic = job(nodes=2, min_nodes=1)
    call = fake.run_job(elastic, MASTER_ADDR="host", EXPECTED_WORLD_SIZE="5")
    assert call.words is not None
    assert "EXPECTED_WORLD_SIZE" not in call.environment


@pytest.mark.parametrize(
    ("arguments", "environment", "complaint"),
    [
        ((), {}, "the rank of this node is missing"),
        (("--node-rank", "0"), {}, "the address of the node where all meet is missing"),
        (("--node-rank=2", "--master-addr=h"), {}, "the rank of a node is less than 2: 2"),
        (("--node-rank=1x", "--master-addr=h"), {}, "the rank of this node is no number: 1x"),
        (("--master-addr", "h", "--node-rank"), {}, "--node-rank needs a value"),
        ((), {"NODE_RANK": "0", "MASTER_ADDR": "h", "MASTER_PORT": "x"}, "the port is no number"),
    ],
)
def test_what_is_missing_is_named(
    fake: FakeTorchrun,
    arguments: tuple[str, ...],
    environment: dict[str, str],
    complaint: str,
) -> None:
    call = fake.run_job(job(nodes=2), *arguments, **environment)
    assert (call.status, call.words) == (2, None)
    assert complaint in call.errors
    assert "usage: launch.sh --node-rank RANK --master-addr HOST" in call.errors


def test_options_win_over_the_environment_and_end_where_the_arguments_begin(
    fake: FakeTorchrun,
) -> None:
    call = fake.run_job(
        job(nodes=2),
        *("--node-rank=1", "--master-port", "7", "--master-addr=::1", "--lr", "--node-rank", "5"),
        NODE_RANK="0",
        MASTER_ADDR="other",
    )
    assert call.words is not None
    assert call.words[6:] == [
        *("--node-rank=1", "--master-addr=[::1]", "--master-port=7"),
        *("--", "./train_dist.py", "--lr", "--node-rank", "5"),
    ]


@pytest.mark.parametrize("folder", ["-n", "a b", "$HOME", "new\nline\n"])
def test_the_script_is_found_from_every_folder(fake: FakeTorchrun, folder: str) -> None:
    launch = fake.folder / folder / "launch.sh"
    launch.parent.mkdir()
    launch.write_text(torchrun_script(job(script="../x.py")))
    for path in (f"{folder}/launch.sh", str(launch)):
        called = fake.run("--", path) if path.startswith("-") else fake.run(path)
        assert called.words is not None
        found = fake.folder / called.words[-1]
        assert found == launch.parent / "../x.py"
        assert not called.words[-1].startswith("-")


@pytest.mark.parametrize(
    "wrong",
    [
        {"nodes": 0},
        {"nodes": 2, "min_nodes": 3},
        {"min_nodes": 0},
        {"gpus_per_node": 0},
        {"max_restarts": -1},
        {"nodes": 2, "min_nodes": 1, "rendezvous": "static"},
        {"script_arguments": ("a\0b",)},
        {"name": "\ud800"},
        {"script": "folder/"},
        {"environment": (("A B", ""),)},
        {"environment": (("A;touch x", ""),)},
        {"environment": (("RANK", "0"),)},
        {"environment": (("LOCAL_WORLD_SIZE", "0"),)},
        {"environment": (("PET_STANDALONE", ""),)},
        {"environment": (("EXPECTED_WORLD_SIZE", "1"),)},
    ],
    ids=str,
)
def test_a_job_that_cannot_be(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        job(**wrong)


@pytest.mark.parametrize(
    ("choices", "total"),
    [
        ({}, "1 node, one process for each GPU"),
        ({"gpus_per_node": 1}, "1 node, 1 process, 1 GPU"),
        ({"nodes": 2, "gpus_per_node": 4}, "2 nodes, 8 processes, 8 GPUs"),
        (
            {"nodes": 4, "min_nodes": 2, "gpus_per_node": 8},
            "2 to 4 nodes, 16 to 32 processes, 16 to 32 GPUs",
        ),
    ],
)
def test_total(choices: dict[str, Any], total: str) -> None:
    assert job(**choices).total == total
