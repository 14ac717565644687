"""Where the choices about a job come from, and what is said about them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from test_command import made_by

TRAINING = (
    Path(__file__).parents[2] / "fixtures" / "pytorch" / "mnist_arguments" / "train.py"
).read_bytes()


LOADING = """\
import argparse
import torch
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("-j", "--workers", type=int, default=5)
args = parser.parse_args()
count = torch.get_num_threads()
data = TensorDataset(torch.randn(24, 3), torch.randn(24, 1))
loader = DataLoader(data, batch_size=12, num_workers={workers})
model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in loader:
    optimizer.zero_grad()
    torch.nn.functional.mse_loss(model(x), y).backward()
    optimizer.step()
"""


def script(path: str, text: str = "import torch\n") -> Path:
    found = Path(path)
    found.parent.mkdir(parents=True, exist_ok=True)
    found.write_text(text)
    return found


ALL_OPTIONS = (
    *("--nodes", "3", "--gpus-per-node", "2", "--cpus", "4", "--memory=worker=8G"),
    *("--max-restarts", "1", "--rendezvous", "c10d", "--name", "a b", "--env", "A=$x"),
    *("--nccl-socket-ifname", "eth0", "--nccl-ib-disable", "--time", "1-02:03:04"),
    *("--partition", "gpu", "--container", "r#i:t", "--image", "i:t", "--workdir", "/w"),
    *("--volume", "/d:/d:ro", "--volume", "claim:/c", "--shm", "2Gi", "--namespace", "n"),
    *("--trainer-version", "2.1", "--mpi", "mpich", "--network", "10GbE"),
    *("--parameters", "25.6M", "--step-time", "0.1"),
)


def test_a_conversion_takes_the_same_options(command: Callable[..., Any]) -> None:
    Path("train.py").write_bytes(TRAINING)
    conversion = ("train.py", "-o", "out.py", "--launch", "torchrun")
    run = command(*conversion, *ALL_OPTIONS, "--", "--epochs", "1", "--", "-")
    assert run.status == 1, run.errors
    launch = Path("out.torchrun.sh")
    data = launch.read_bytes()
    launch.unlink()
    assert data.count(b"--epochs 1 -- -\n") == 1
    words = made_by(data)
    assert words[:4] == ["launch", "out.py", "--target", "torchrun"]
    again = command(*words)
    assert again.status == 1, again.errors
    assert launch.read_bytes() == data
    total = "Total: 3 nodes, 6 processes, 12 CPUs, 24G, 6 GPUs\n"
    assert total in run.errors
    assert again.errors.startswith(total)
    assert command(*conversion, "--check", "-o").status == 2


def test_options_of_a_launch_need_one(command: Callable[..., Any]) -> None:
    Path("train.py").write_bytes(TRAINING)
    run = command("train.py", "-o", "out.py", "--nodes", "2")
    assert run.status == 2
    assert "--nodes describes a job to launch: it needs --launch." in run.errors
    assert command("--check", "--framework", "pytorch", "--", "train.py").status == 1


def test_the_project_chooses_and_the_command_line_wins(command: Callable[..., Any]) -> None:
    Path("pyproject.toml").write_text(
        "[tool.disttranspile.launch]\n"
        'nodes = 2\ngpus-per-node = 4\nmemory = ["64G"]\nnccl-ib-disable = true\n'
        'script-arguments = ["--epochs", "9"]\nenv = {A = "1", B = "x y"}\n'
    )
    script("deep/er/x.py")
    run = command("launch", "deep/er/x.py", "--target", "torchrun", "--nodes", "3")
    assert run.status == 0, run.errors
    assert run.errors.startswith("Total: 3 nodes, 12 processes, 192G, 12 GPUs\n")
    launch = Path("deep/er/x.torchrun.sh")
    data = launch.read_bytes()
    assert b"export A=1\nexport B='x y'\n" in data
    assert b"NCCL_IB_DISABLE=1" in data
    assert b"    --epochs \\\n    9 \\\n" in data
    Path("pyproject.toml").unlink()
    assert command(*made_by(data)).status == 0
    assert launch.read_bytes() == data
    other = command(*made_by(data)[:4], "-o", "-", "--", "--epochs", "1")
    assert b"    --epochs \\\n    1 \\\n" in other.output


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("nodez = 2", "nodez: there is no such key; did you mean nodes?"),
        ("target = 'torchrun'", "target: there is no such key; did you mean targets?"),
        ("nodes = 'x'", "nodes: expected int, got str"),
        ("nodes = true", "nodes: expected int, got bool"),
        ("nccl-ib-disable = 1", "nccl-ib-disable: expected bool, got int"),
        ("memory = 'lots'", "memory: 'lots' is no amount of memory"),
        ("nodes = ", "cannot be read"),
    ],
)
def test_what_a_project_cannot_choose(
    command: Callable[..., Any], text: str, complaint: str
) -> None:
    Path("pyproject.toml").write_text(f"[tool.disttranspile.launch]\n{text}\n")
    script("x.py")
    run = command("launch", "x.py", "--target", "torchrun")
    assert run.status == 2
    assert "pyproject.toml" in run.errors
    assert complaint in run.errors


@pytest.mark.parametrize(
    ("text", "words", "complaint"),
    [
        ("import mxnet as mx", (), "torchrun does not start scripts of mxnet"),
        ("from paddle import fluid", (), "torchrun does not start scripts of fluid"),
        ("import paddle", (), "torchrun does not start scripts of paddle"),
        ("def f():\n    import keras", (), "scripts of tensorflow"),
        ("import torch", ("--framework", "singa"), "scripts of singa"),
        ("import torch", ("--servers", "2"), "pytorch has no servers"),
        ("import torch", ("--mode", "pserver"), "not pytorch's"),
        ("import torch", ("--memory", "chief=1G"), "'chief' is none of worker, server"),
        ("import torch", ("--cpus", "0"), "no CPU at all"),
        ("import torch", ("--time", "tomorrow"), "is no time"),
        ("import torch", ("--volume", "x"), "SOURCE:PATH"),
        ("import torch", ("--parameters", "many"), "no number such as"),
        ("import torch", ("--step-time", "-1"), "is no time"),
    ],
)
def test_choices_that_do_not_fit(
    command: Callable[..., Any], text: str, words: tuple[str, ...], complaint: str
) -> None:
    script("x.py", f"{text}\n")
    run = command("launch", "x.py", "--target", "torchrun", *words)
    assert run.status == 2
    assert complaint in run.errors
    assert not Path("x.torchrun.sh").exists()


@pytest.mark.parametrize(
    ("workers", "words", "finding"),
    [
        ("4", ("--gpus-per-node", "2", "--cpus", "8"), ""),
        ("4", ("--gpus-per-node", "2"), ""),
        ("4", ("--cpus", "2"), ""),
        ("count", ("--gpus-per-node", "2", "--cpus", "1"), ""),
        (
            "4",
            ("--gpus-per-node", "3", "--cpus", "8"),
            "DT805 3 processes with 4 loader workers each are 12 workers on a machine of 8 CPUs",
        ),
        ("4", ("--gpus-per-node", "3", "--cpus", "8"), "at most 2 workers, or the machines more"),
        ("args.workers", ("--gpus-per-node", "2", "--cpus", "9"), "2 processes with 5 loader"),
        ("args.workers", ("--gpus-per-node", "2", "--cpus", "9", "--", "-j", "4"), ""),
    ],
)
def test_loader_workers_are_weighed_against_the_cpus(
    command: Callable[..., Any], workers: str, words: tuple[str, ...], finding: str
) -> None:
    script("train.py", LOADING.format(workers=workers))
    run = command("launch", "train.py", "--target", "torchrun", *words)
    assert run.status == 1 and "DT806" in run.errors, run.errors
    assert finding in run.errors
    assert bool(finding) == ("DT805" in run.errors)


def test_a_conversion_that_does_not_fit_writes_nothing(command: Callable[..., Any]) -> None:
    Path("train.py").write_bytes(TRAINING)
    run = command("train.py", "-o", "out.py", "--launch", "torchrun", "--servers", "2")
    assert run.status == 2
    assert "pytorch has no servers" in run.errors
    assert not Path("out.py").exists()


@pytest.mark.parametrize(
    ("words", "finding"),
    [
        (("--gpus-per-node", "8"), "DT803 the batch size 60 does not divide by 8 processes"),
        (("--gpus-per-node", "8"), "The nearest that does is 64."),
        (("--gpus-per-node", "6"), ""),
        (("--gpus-per-node", "6", "--", "--batch-size", "32"), "DT803 the batch size 32"),
        (("--gpus-per-node", "6", "--", "--batch-size=32"), "DT803 the batch size 32"),
        (("--gpus-per-node", "8", "--", "--batch-size", "64"), ""),
        (
            ("--nodes", "2", "--network", "10GbE", "--parameters", "100M", "--step-time", "0.1"),
            "DT802 training waits for the network: 100000000 parameters of 4 bytes are 0.4 GB; a "
            "ring over 2 nodes moves 2 (n - 1) / n of that through every link, 0.4 GB a step, "
            "which takes 0.32 s at the 1.25 GB/s of 10GbE, and a step is said to compute for 0.1 s",
        ),
        (
            ("--nodes", "2", "--network", "100Gb-IB", "--parameters", "100M", "--step-time", "0.1"),
            "DT802 the network keeps up:",
        ),
        (
            ("--nodes", "2", "--network", "25GbE", "--parameters", "100M", "--gpus-per-node", "2"),
            "15 samples of 6 operations on each parameter, as in dense layers, compute at",
        ),
        (("--nodes", "2", "--network", "25GbE"), "Say how many --parameters it has."),
        (("--network", "25GbE"), "one machine needs no 25GbE"),
    ],
)
def test_advice(command: Callable[..., Any], words: tuple[str, ...], finding: str) -> None:
    Path("train.py").write_bytes(TRAINING)
    converted = command("train.py", "-o", "out.py", "--launch", "torchrun", *words)
    launched = command("launch", "out.py", "--target", "torchrun", "--force", *words)
    for run in (converted, launched):
        assert run.status in (0, 1), run.errors
        assert finding in run.errors
        if not finding:
            assert "DT80" not in run.errors
    assert launched.status == ("[warning]" in launched.errors)


@pytest.mark.parametrize(
    ("text", "words", "total"),
    [
        ("import paddle.fluid as fluid", (), "1 server and 1 worker"),
        ("import paddle.fluid as fluid", ("--mode", "auto", "--servers", "2"), "2 servers and"),
        ("import paddle.fluid as fluid", ("--mode", "nccl2"), "1 node, one process for each GPU"),
        ("from paddle import fluid\nmode = 'nccl2'", (), "1 node, one process for each GPU"),
        ("from paddle import fluid\nmode = 'nccl2'", ("--mode", "pserver"), "1 server and"),
        ("import paddle", (), "1 node, one process for each GPU"),
        ("import paddle", ("--mode", "pserver"), "1 server and 1 worker"),
    ],
)
def test_whether_there_are_servers(
    command: Callable[..., Any], text: str, words: tuple[str, ...], total: str
) -> None:
    script("x.py", f"{text}\n")
    run = command("launch", "x.py", "--target", "paddle-launch", *words)
    assert run.status == 0, run.errors
    assert run.errors.startswith(f"Total: {total}")


@pytest.mark.parametrize(
    ("image", "finding"),
    [
        ("mxnet/python:1.1.0_gpu_cuda9", "DT804 mxnet/python:1.1.0_gpu_cuda9 has MXNet 1.1.0"),
        ("registry.example.com:5000/team/mxnet-train:v0.11", "has MXNet 0.11 by its tag"),
        ("mxnet/python:1.9.1_cpu", ""),
        ("ava-mxnet:1.3.1", ""),
        ("mxnet/python:gpu", ""),
        ("nvcr.io/nvidia/mxnet:1.12", ""),
        ("team/train:1.1.0", ""),
    ],
)
def test_an_image_says_by_its_tag_whether_workers_can_share_a_store(
    command: Callable[..., Any], image: str, finding: str
) -> None:
    script("x.py", "import mxnet\n")
    run = command("launch", "x.py", "--target", "kubernetes", "--image", image)
    assert run.status == (1 if finding else 0), run.errors
    assert finding in run.errors
    assert bool(finding) == ("DT804" in run.errors)
