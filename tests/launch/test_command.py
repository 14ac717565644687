"""``disttranspile launch`` and ``--launch``."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import pytest
from launching import FakeTorchrun

TRAINING = (
    Path(__file__).parents[2] / "fixtures" / "pytorch" / "main_sgd" / "train.py"
).read_bytes()
MADE_BY = re.compile(rb"^#   (disttranspile launch .*)$", re.MULTILINE)


class Run(Protocol):
    status: int
    output: bytes
    errors: str


Command = Callable[..., Run]


def made_by(data: bytes) -> list[str]:
    """The words of the command in the head of a file, as a shell reads them."""
    match = MADE_BY.search(data)
    assert match is not None
    done = subprocess.run(
        ["bash", "-c", b"printf '%s\\0' " + match[1]], capture_output=True, check=True, timeout=60
    )
    return [os.fsdecode(word) for word in done.stdout.split(b"\0")[1:-1]]


def script(path: str) -> Path:
    found = Path(path)
    found.parent.mkdir(parents=True, exist_ok=True)
    found.write_bytes(b"print()\n")
    return found


def test_the_total_comes_first_and_the_file_lies_beside_the_script(command: Command) -> None:
    script("jobs/train_dist.py")
    run = command(
        *("launch", "jobs/train_dist.py", "--target", "torchrun"),
        *("--nodes", "2", "--gpus-per-node", "4"),
    )
    assert (run.status, run.output) == (0, b"")
    assert run.errors.splitlines() == [
        "Total: 2 nodes, 8 processes, 8 GPUs",
        "jobs/train_dist.torchrun.sh",
    ]
    mode = os.stat("jobs/train_dist.torchrun.sh").st_mode
    assert stat.S_IMODE(mode) == 0o755
    assert sorted(os.listdir("jobs")) == ["train_dist.py", "train_dist.torchrun.sh"]


@pytest.mark.parametrize(
    "choices",
    [
        (),
        ("-o", "-"),
        ("-o", "else where/run it.sh"),
        ("-o", "else where/"),
        ("--nodes", "4", "--min-nodes", "2", "--max-restarts", "0", "--name=-x"),
        ("--nodes", "2", "--rendezvous", "c10d", "--nccl-ib-disable"),
        ("--env", "A=$(x)'\n", "--env=B==", "--nccl-socket-ifname", "eth0"),
        ("--gpus-per-node", "2", "--", "--lr", "1", "--", "a b", "", "\r\n'\"\\$`\u2028\udcff"),
    ],
    ids=str,
)
@pytest.mark.parametrize("name", ["train_dist.py", "a b/it's $x\n.py", "-x.py"])
def test_the_command_in_the_head_makes_the_file_again(
    command: Command, choices: tuple[str, ...], name: str
) -> None:
    script(name)
    os.mkdir("else where")
    named = f"./{name}" if name.startswith("-") else name
    first = command("launch", named, "--target", "torchrun", *choices)
    assert first.status == 0, first.errors

    def written() -> dict[str, bytes]:
        return {str(path): path.read_bytes() for path in Path().rglob("*.sh")}

    before = written()
    assert len(before) == (0 if "-" in choices else 1)
    (data,) = before.values() or [first.output]
    for path in before:
        os.unlink(path)
    again = command(*made_by(data))
    assert again.status == 0, again.errors
    assert (again.output, written()) == (first.output, before)


def test_no_restart_is_a_choice(command: Command) -> None:
    script("x.py")
    words = ("launch", "x.py", "--target", "torchrun", "--nodes=3", "--min-nodes=1", "-o", "-")
    assert b"--max-restarts=3" in command(*words).output
    without = command(*words, "--max-restarts=0").output
    assert b"    --max-restarts" not in without
    assert made_by(without)[-2:] == ["--max-restarts", "0"]


@pytest.mark.parametrize("output", ["deep/er/run.sh", "deep/er/", "run.sh", "link/run.sh"])
@pytest.mark.parametrize("absolute", [False, True])
def test_the_file_finds_the_script_from_where_it_is(
    command: Command, tmp_path: Path, output: str, absolute: bool
) -> None:
    home = script("home/train_dist.py").resolve()
    os.makedirs("deep/er")
    os.symlink("deep/er", "link")
    given = str(home) if absolute else "home/train_dist.py"
    assert command("launch", given, "--target", "torchrun", "-o", output).status == 0
    written = next(tmp_path.rglob("*.sh"))
    call = FakeTorchrun(tmp_path / "fake").run(written)
    assert call.words is not None
    assert os.path.samefile(call.words[-1], home)


def test_what_is_the_users_stays(command: Command) -> None:
    script("x.py")
    theirs = Path("x.torchrun.sh")
    theirs.write_text("mine")
    refused = command("launch", "x.py", "--target", "torchrun")
    assert refused.status == 2
    assert "x.torchrun.sh: exists and holds something else" in refused.errors
    assert theirs.read_text() == "mine"
    assert command("launch", "x.py", "--target", "torchrun", "--force").status == 0
    assert theirs.read_text() != "mine"


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--target", "torchrum"), "torchrum"),
        ((), "--target"),
        (("--target", "torchrun", "--nodes", "0"), "0"),
        (("--target", "torchrun", "--min-nodes", "2"), "least number of nodes"),
        (("--target", "torchrun", "--env", "A"), "NAME=VALUE"),
        (("--target", "torchrun", "--env", "RANK=1"), "RANK is for the launcher"),
        (("--target", "torchrun", "-o", "missing/x.sh"), "cannot be written"),
    ],
)
def test_wrong_usage(command: Command, words: tuple[str, ...], complaint: str) -> None:
    script("x.py")
    run = command("launch", "x.py", *words)
    assert run.status == 2
    assert complaint in run.errors
    assert os.listdir() == ["x.py"]


def test_beside_a_conversion(command: Command) -> None:
    Path("train.py").write_bytes(TRAINING)
    converting = ("train.py", "-o", "out/train_dist.py", "--launch", "torchrun")
    os.mkdir("out")
    run = command(*converting, "--launch", "torchrun")
    assert run.status in (0, 1), run.errors
    launch = Path("out/train_dist.torchrun.sh")
    data = launch.read_bytes()
    assert stat.S_IMODE(launch.stat().st_mode) == 0o755
    assert b'"$folder"/train_dist.py' in data
    assert made_by(data) == ["launch", "out/train_dist.py", "--target", "torchrun"]
    assert command(*made_by(data)).status == 0
    assert command(*converting).status == run.status
    assert launch.read_bytes() == data


def test_a_conversion_leaves_the_users_launch_file_and_then_writes_nothing(
    command: Command,
) -> None:
    Path("train.py").write_bytes(TRAINING)
    Path("train.torchrun.sh").write_text("mine")
    run = command("train.py", "--in-place", "--launch", "torchrun")
    assert run.status == 2
    assert "train.torchrun.sh:1:1: DT903 exists" in run.errors
    assert Path("train.py").read_bytes() == TRAINING
    assert Path("train.torchrun.sh").read_text() == "mine"
    assert command("train.py", "--in-place", "--launch", "torchrun", "--force").status in (0, 1)
    assert Path("train.py").read_bytes() != TRAINING
    assert Path("train.torchrun.sh").read_text() != "mine"


def test_nothing_is_launched_that_does_not_train(command: Command) -> None:
    script("tool.py")
    assert command("tool.py", "--in-place", "--launch", "torchrun").status == 0
    assert os.listdir() == ["tool.py"]


@pytest.mark.parametrize("mode", [(), ("--diff",), ("--check",), ("--plan",), ("-o", "-")])
def test_launch_files_need_an_output(command: Command, mode: tuple[str, ...]) -> None:
    script("x.py")
    run = command("x.py", *mode, "--launch", "torchrun")
    assert run.status == 2
    assert "--launch writes files" in run.errors
    unknown = command("x.py", "--in-place", "--launch", "abacus")
    assert unknown.status == 2
    assert "'abacus' is not one of" in unknown.errors
    assert os.listdir() == ["x.py"]


@pytest.mark.slow
def test_two_processes_train_to_the_end(command: Command) -> None:
    Path("train.py").write_bytes(TRAINING)
    assert command("train.py", "-o", "train_dist.py").status in (0, 1)
    made = command(
        *("launch", "train_dist.py", "--target", "torchrun", "--gpus-per-node", "2"),
        *("--", "--epochs", "1"),
    )
    assert made.status == 0, made.errors
    with open("train_dist.py", "a") as stream:
        stream.write(
            'import os\nopen("rank" + os.environ["RANK"], "w").write(os.environ["WORLD_SIZE"])\n'
        )
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["./train_dist.torchrun.sh"],
        env={**os.environ, "PATH": path, "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
        timeout=150,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert [Path(f"rank{rank}").read_text() for rank in range(2)] == ["2", "2"]
    assert not Path("rank2").exists()
    assert len(re.findall("train loss", done.stdout)) == 1


def test_a_script_of_one_process_is_pointed_out(command: Command) -> None:
    Path("train.py").write_bytes(TRAINING)
    run = command("launch", "train.py", "--target", "torchrun")
    assert run.status == 1 and "DT806 the script is not distributed" in run.errors
    assert command("train.py", "-o", "train_dist.py").status == 0
    run = command("launch", "train_dist.py", "--target", "torchrun")
    assert run.status == 0 and "DT806" not in run.errors
