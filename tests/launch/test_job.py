"""What a job says of itself: roles, sums, amounts."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transpile.launch import targets
from transpile.launch.job import Job
from transpile.launch.manifests.volumes import Volume, parse_volume
from transpile.launch.quantity import (
    cpus_text,
    mebibytes,
    memory_text,
    parse_cpus,
    parse_memory,
    parse_time,
    time_text,
)
from transpile.launch.roles import Resources
from transpile.launch.words import dns_label

G = 10**9
PLATFORM: dict[str, Any] = {
    "framework": "mxnet",
    "servers": 1,
    "workers": 2,
    "gpus_per_node": 2,
    "server_resources": Resources(Decimal(2), 12 * G),
    "worker_resources": Resources(Decimal(12), 120 * G),
}


def job(**choices: Any) -> Job:
    return Job(**{"script": "train_dist.py", "command": ("x",), **choices})


@pytest.mark.parametrize(
    ("choices", "total"),
    [
        (
            PLATFORM,
            "26 CPUs, 252G, 4 GPUs (1 scheduler, 1 server of 2 CPUs and 12G and "
            "2 workers of 12 CPUs, 120G and 2 GPUs)",
        ),
        (
            {**PLATFORM, "scheduler_resources": Resources(Decimal("0.5"))},
            "26.5 CPUs, 252G, 4 GPUs (1 scheduler of 0.5 CPUs, 1 server of 2 CPUs and 12G and "
            "2 workers of 12 CPUs, 120G and 2 GPUs)",
        ),
        (
            {**PLATFORM, "server_resources": Resources()},
            "24 CPUs (not counting servers), 240G (not counting servers), 4 GPUs "
            "(1 scheduler, 1 server and 2 workers of 12 CPUs, 120G and 2 GPUs)",
        ),
        ({"framework": "mxnet"}, "1 scheduler, 1 server and 1 worker"),
        (
            {"nodes": 2, "gpus_per_node": 4, "worker_resources": Resources(Decimal(8), 64 * G)},
            "2 nodes, 8 processes, 16 CPUs, 128G, 8 GPUs",
        ),
        (
            {
                "nodes": 3,
                "min_nodes": 2,
                "gpus_per_node": 4,
                "worker_resources": Resources(Decimal(8)),
            },
            "2 to 3 nodes, 8 to 12 processes, at most 24 CPUs, 8 to 12 GPUs",
        ),
        (
            {"framework": "tensorflow", "nodes": 2, "gpus_per_node": 4},
            "2 nodes, 2 processes, 8 GPUs",
        ),
    ],
)
def test_the_total_is_what_platforms_ask_for(choices: dict[str, Any], total: str) -> None:
    assert job(**choices).total == total


@pytest.mark.parametrize(
    ("choices", "roles"),
    [
        ({}, [("master", 1)]),
        ({"nodes": 3}, [("master", 1), ("worker", 2)]),
        ({"framework": "mxnet", "nodes": 2}, [("scheduler", 1), ("server", 2), ("worker", 2)]),
        (PLATFORM, [("scheduler", 1), ("server", 1), ("worker", 2)]),
        ({"framework": "fluid", "mode": "pserver", "servers": 2}, [("server", 2), ("worker", 1)]),
        ({"framework": "paddle", "nodes": 2}, [("master", 1), ("worker", 1)]),
        ({"framework": "tensorflow", "nodes": 2}, [("worker", 2)]),
        ({"framework": "singa", "nodes": 2}, [("worker", 2)]),
    ],
)
def test_roles(choices: dict[str, Any], roles: list[tuple[str, int]]) -> None:
    assert [(role.name, role.count) for role in job(**choices).roles] == roles


@pytest.mark.parametrize(
    ("choices", "size"),
    [
        ({}, None),
        ({"nodes": 2, "gpus_per_node": 4}, 8),
        ({"nodes": 2, "gpus_per_node": 4, "min_nodes": 1}, None),
        ({"framework": "mxnet", "workers": 3, "gpus_per_node": 4}, 3),
        ({"framework": "paddle", "mode": "pserver", "nodes": 2}, 2),
        ({"framework": "tensorflow", "nodes": 2, "gpus_per_node": 4}, 2),
        ({"framework": "singa", "nodes": 2, "gpus_per_node": 4}, 8),
    ],
)
def test_world_size(choices: dict[str, Any], size: int | None) -> None:
    assert job(**choices).world_size == size


@pytest.mark.parametrize(
    "wrong",
    [
        {"servers": 1},
        {"workers": 2},
        {"framework": "mxnet", "servers": 0},
        {"framework": "mxnet", "workers": 0},
        {"framework": "mxnet", "min_nodes": 1},
        {"framework": "mxnet", "mode": "pserver"},
        {"framework": "tensorflow", "mode": "pserver"},
        {"framework": "paddle", "servers": 1},
        {"framework": "paddle", "server_resources": Resources(Decimal(1))},
        {"framework": "fluid", "mode": "pserver", "scheduler_resources": Resources(Decimal(1))},
        {"volumes": (Volume("/a", "/data"), Volume("b", "/data"))},
        *(
            {"environment": ((name, "0"),)}
            for name in ("TRAINING_ROLE", "TF_CONFIG", "DMLC_ROLE", "PADDLE_MASTER", "POD_IP")
        ),
        {"gpus_per_node": 1, "processes_without_gpus": 1},
        {"image": "a\nb"},
        {"partition": "a\nb"},
    ],
    ids=str,
)
def test_a_job_that_cannot_be(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        job(**wrong)


@pytest.mark.parametrize(
    ("text", "amount", "again"),
    [
        ("120G", 120 * G, "120G"),
        ("12GB", 12 * G, "12G"),
        ("64Gi", 64 * 2**30, "64Gi"),
        ("64GiB", 64 * 2**30, "64Gi"),
        ("1.5G", 15 * 10**8, "1500M"),
        ("8k", 8000, "8k"),
        ("1Ki", 1024, "1Ki"),
        ("17", 17, "17"),
    ],
)
def test_memory(text: str, amount: int, again: str) -> None:
    assert (parse_memory(text), memory_text(amount)) == (amount, again)


@given(st.integers(1, 2**60))
def test_memory_is_read_back(amount: int) -> None:
    assert parse_memory(memory_text(amount)) == amount
    assert (mebibytes(amount) - 1) * 2**20 < amount <= mebibytes(amount) * 2**20


@pytest.mark.parametrize("text", ["12", "0.5", "500m", "1.125"])
def test_cpus_are_read_back(text: str) -> None:
    assert parse_cpus(cpus_text(parse_cpus(text))) == parse_cpus(text)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 5400),
        ("90:30", 5430),
        ("12:00:00", 43200),
        ("2-12", 216000),
        ("2-12:30", 217800),
        ("2-12:00:05", 216005),
    ],
)
def test_times_are_slurms(text: str, seconds: int) -> None:
    assert parse_time(text) == seconds
    assert parse_time(time_text(seconds)) == seconds


@pytest.mark.parametrize("text", ["", "x", "-1", "1 G", "1X", "٣G", "0", "0G", "1e3"])
def test_no_amounts(text: str) -> None:
    for parse in (parse_memory, parse_cpus, parse_time):
        with pytest.raises(ValueError):
            parse(text)


def test_volumes() -> None:
    assert parse_volume("/data:/mnt:ro") == Volume("/data", "/mnt", True)
    assert parse_volume("claim:/mnt") == Volume("claim", "/mnt")
    assert parse_volume("/a:/b").is_host_path
    assert not parse_volume("a:/b").is_host_path


@pytest.mark.parametrize("text", ["", "a", "a:b", "a/b:/c", ":/b", "/a:/b:x", "/a,b:/c", "/a:/b\n"])
def test_no_volumes(text: str) -> None:
    with pytest.raises(ValueError):
        parse_volume(text)


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("train-dist", "train-dist"),
        ("Night run!", "night-run"),
        ("3d", "train-3d"),
        ("漢字", "train"),
        ("--a--", "a"),
    ],
)
def test_labels(text: str, label: str) -> None:
    assert dns_label(text) == label


def test_a_target_says_what_it_does_not_start() -> None:
    with pytest.raises(ValueError, match="torchrun does not start scripts of mxnet"):
        targets()["torchrun"](job(framework="mxnet"))
