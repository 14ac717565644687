"""Files for Docker Compose: what the containers get, as compose reads it."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import Any

import jsonschema
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_manifests import HOSTILE, words
from validation import VALIDATOR

from transpile.launch import targets
from transpile.launch.job import Job
from transpile.launch.manifests.volumes import Volume
from transpile.launch.roles import Resources

SCHEMA = VALIDATOR.parent / "data" / "compose-spec.json"
FULL: dict[str, Any] = {
    "nodes": 2,
    "gpus_per_node": 2,
    "worker_resources": Resources(Decimal("2.5"), 10**9),
    "volumes": (Volume("/data", "/$data", read_only=True), Volume("kept", "/kept")),
    "shared_memory": 2**30,
}
CASES: list[tuple[str, dict[str, Any]]] = [
    *((framework, {}) for framework in sorted(targets()["compose"].frameworks - {"fluid"})),
    ("fluid", {"gpus_per_node": 2}),
    ("pytorch", FULL),
    ("pytorch", {"nodes": 2, "max_restarts": 1}),
    ("mxnet", {**FULL, "servers": 1}),
    ("paddle", {"mode": "pserver", "servers": 2}),
    ("fluid", {"mode": "pserver", "workers": 3}),
    ("tensorflow", FULL),
    ("paddle", FULL),
]


def compose(**choices: Any) -> dict[str, Any]:
    """The file of a job, with variables as compose puts them in."""
    job = Job(**{"script": "train_dist.py", "command": ("disttranspile",), **choices})
    (text,) = targets()["compose"](job).values()
    document = yaml.safe_load(text)
    if SCHEMA.exists():
        jsonschema.Draft7Validator(json.loads(SCHEMA.read_text("utf-8"))).validate(document)
    found: dict[str, Any] = interpolated(document)
    return found


def interpolated(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: interpolated(each) for key, each in value.items()}
    if isinstance(value, list):
        return list(map(interpolated, value))
    if isinstance(value, str):
        assert re.fullmatch(r"(\$\$|[^$])*", value, re.DOTALL), value
        return value.replace("$$", "$")
    return value


@pytest.mark.parametrize(("framework", "choices"), CASES, ids=str)
def test_every_service_knows_its_place(framework: str, choices: dict[str, Any]) -> None:
    job = Job(script="x.py", command=(), framework=framework, **choices)  # type: ignore[arg-type]
    services = compose(framework=framework, **choices)["services"]
    workers = [name for name in services if name.startswith("worker-")]
    assert workers == [f"worker-{index}" for index in range(job.worker_count)]
    assert len(services) == job.worker_count + job.server_count + job.has_scheduler
    for name, service in services.items():
        environment = service["environment"]
        size = job.worker_count * (job.processes_per_node or 1)
        assert environment["EXPECTED_WORLD_SIZE"] == str(size)
        assert environment["SERVICE_INDEX"] == name.split("-")[1]
        assert service["command"][-1] == "train_dist.py"
        assert service["shm_size"].endswith("m")
        assert "$(" not in "".join(service["entrypoint"]).replace("$(resolve", "").replace(
            "$(hostname", ""
        )
        for host in re.findall(r"(?:master-addr=|endpoint=|HOST=)(\S+?)(?::|$)", str(service)):
            assert host in services


def test_machines_and_what_they_hold() -> None:
    document = compose(**FULL)
    first, second = document["services"].values()
    assert first["entrypoint"][:1] == ["torchrun"]
    assert "--node-rank=0" in first["entrypoint"]
    assert "--node-rank=1" in second["entrypoint"]
    assert first["deploy"]["resources"]["limits"] == {"cpus": "2.5", "memory": "954m"}
    (device,) = second["deploy"]["resources"]["reservations"]["devices"]
    assert device["device_ids"] == ["2", "3"]
    assert first["shm_size"] == "1024m"
    assert first["volumes"] == [
        {"type": "bind", "source": "./", "target": "/workspace"},
        {"type": "bind", "source": "/data", "target": "/$data", "read_only": True},
        {"type": "volume", "source": "kept", "target": "/kept"},
    ]
    assert document["volumes"] == {"kept": {}}


def test_a_server_learns_its_own_address() -> None:
    services = compose(framework="fluid", mode="pserver", servers=2)["services"]
    words = services["server-1"]["entrypoint"]
    assert words[:4] == ["sh", "-c", words[2], "sh"]
    assert words[2] == "export POD_IP=$(hostname -i | cut -d ' ' -f 1)\nexec \"$@\"\n"
    assert services["server-1"]["environment"]["SERVER_HOSTS"] == "server-0:6170 server-1:6170"


@settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))
@given(
    st.sampled_from(CASES),
    st.lists(words, max_size=4),
    words,
    words,
    st.sampled_from([word for word in HOSTILE if word.isprintable()]),
)
def test_nothing_escapes(
    case: tuple[str, dict[str, Any]], arguments: list[str], value: str, name: str, folder: str
) -> None:
    framework, choices = case
    services = compose(
        **choices,
        framework=framework,
        script_arguments=tuple(arguments),
        environment=(("FIRST", value),),
        name=name,
        command=(value, name),
        work_directory=folder,
    )["services"]
    for service in services.values():
        assert service["command"][-len(arguments) - 1 :] == ["train_dist.py", *arguments]
        assert service["environment"]["FIRST"] == value
        assert service.get("working_dir", "/workspace") == (folder or "/workspace")


@pytest.mark.parametrize("wrong", [{"nodes": 2, "min_nodes": 1}, {"namespace": "a"}], ids=str)
def test_what_compose_cannot(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        compose(**wrong)
