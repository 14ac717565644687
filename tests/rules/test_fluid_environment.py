"""Roles, numbers and addresses as converted Fluid scripts read them."""

from __future__ import annotations

import os
from typing import Any

import pytest
from fluid_scripts import BATCHES, HEAD, PARALLEL, SCRIPT, written


@pytest.mark.parametrize(
    ("variables", "endpoints"),
    [
        ({}, []),
        ({"PADDLE_TRAINER_ENDPOINTS": "a:1,b:1"}, ["a:1", "b:1"]),
        ({"PADDLE_TRAINER_IPS": "a,b", "PADDLE_PSERVER_PORT": "2"}, ["a:2", "b:2"]),
    ],
)
def test_trainers_are_found_under_older_names(
    variables: dict[str, str], endpoints: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    script = HEAD + PARALLEL + "train = fluid.ParallelExecutor(True, loss_name=loss.name)\n"
    text = written(script + BATCHES + "train.run(feed=feeder.feed(batch))\n", mode="nccl2")
    start = text.index("def get_trainer_endpoints")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    names: dict[str, Any] = {"os": os}
    exec(text[start : text.index("\n\n\n", start)], names)
    assert names["get_trainer_endpoints"]() == endpoints


SERVERS = [
    ({"PADDLE_PSERVERS_IP_PORT_LIST": "a:1,b:1"}, "a:1,b:1"),
    ({"PADDLE_PSERVERS": "a,b", "PADDLE_PORT": "2"}, "a:2,b:2"),
    ({"PADDLE_PSERVERS": "a:1,b:1", "PADDLE_PORT": "2"}, "a:1,b:1"),
    ({"PADDLE_PSERVER_IPS": "a,b", "PADDLE_PSERVER_PORT": "2"}, "a:2,b:2"),
    ({"PADDLE_PSERVER_ENDPOINTS": "a:1"}, "a:1"),
    ({"PADDLE_INIT_PSERVERS": "a,b", "PADDLE_INIT_PORT": "2"}, "a:2,b:2"),
    ({"PSERVERS": "a:1,b:1"}, "a:1,b:1"),
]

HERE = [
    ({"PADDLE_CURRENT_ENDPOINT": "a:1", "POD_IP": "b", "PADDLE_PORT": "2"}, "a:1"),
    ({"POD_IP": "b", "PADDLE_PORT": "2"}, "b:2"),
    ({"PADDLE_CURRENT_IP": "b", "PADDLE_PSERVER_PORT": "2"}, "b:2"),
    ({"POD_IP": "b", "PADDLE_INIT_PORT": "2"}, "b:2"),
    ({"SERVER_ENDPOINT": "a:1"}, "a:1"),
]

COUNTS = [
    ({"TRAINING_ROLE": "TRAINER", "PADDLE_TRAINERS_NUM": "3"}, 3),
    ({"PADDLE_TRAINING_ROLE": "TRAINER", "PADDLE_TRAINERS": "3"}, 3),
    ({"TRAINING_ROLE": "PSERVER", "PADDLE_INIT_NUM_GRADIENT_SERVERS": "3"}, 3),
    ({"TRAINING_ROLE": "TRAINER", "TRAINERS": "3"}, 3),
    ({"TRAINERS": "3"}, 1),
]

NUMBERS = [({"PADDLE_TRAINER_ID": "3"}, 3), ({"PADDLE_INIT_TRAINER_ID": "3"}, 3), ({}, 0)]


@pytest.mark.parametrize(
    ("helper", "variables", "expected"),
    [
        (helper, *case)
        for helper, cases in (
            ("get_pservers", SERVERS),
            ("get_current_endpoint", HERE),
            ("get_trainer_count", COUNTS),
            ("get_trainer_id", NUMBERS),
        )
        for case in cases
    ],
)
def test_roles_and_addresses_are_read_under_current_and_older_names(
    helper: str, variables: dict[str, str], expected: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = written(SCRIPT)
    for name in [name for name in os.environ if name.startswith(("PADDLE_", "TRAIN", "POD_"))]:
        monkeypatch.delenv(name)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    names: dict[str, Any] = {"os": os}
    for needed in ("get_role", helper):
        start = text.index(f"def {needed}(")
        exec(text[start : text.index("\n\n\n", start)], names)
    assert names[helper]() == expected
