"""Devices that are neither the CPU nor CUDA's GPUs are told of."""

from __future__ import annotations

import pytest
from small_scripts import converted, findings, script

from transpile import Level, Options, convert

RULE = "PT809"
PLAIN = script().replace('default="cuda:0", help="for example cuda:1"', "")
CHOICE = '"cuda" if torch.cuda.is_available() else "{}" if args.gpu else "cpu"'


@pytest.mark.parametrize("kind", ["xpu", "hpu", "npu", "xla", "ipu", "mtia", "privateuseone"])
@pytest.mark.parametrize(
    "use", ['model.to("{}")', 'model.to("{}:0")', 'model.to(f"{}:{{args.gpu}}")', "model.{}()"]
)
def test_devices_that_nobody_tried_are_warned_of(kind: str, use: str) -> None:
    source = script(model=use.format(kind))
    assert [level for level, _, _ in findings(source, RULE)] == [Level.WARNING]


def test_apples_device_is_no_reason_to_look() -> None:
    source = script(model=f"model.to({CHOICE.format('mps')})")
    assert [level for level, _, _ in findings(source, RULE)] == [Level.NOTE]


@pytest.mark.parametrize("package", ["torch_npu", "habana_frameworks", "torch_directml"])
def test_packages_that_bring_devices_count(package: str) -> None:
    assert findings(script(top=f"import {package}"), RULE)


@pytest.mark.parametrize(
    "text", ["model.cuda()", "print('mps')", "inputs = 3", 'x = {"input": 1}', "timestamps = 1"]
)
def test_other_words_are_left_alone(text: str) -> None:
    assert findings(script(model=text), RULE) == []


ACCELERATOR = """
if torch.accelerator.is_available():
    model.to(torch.accelerator.current_accelerator())
"""


def test_what_leaves_the_device_open_asks_for_its_backend() -> None:
    source = script(model=ACCELERATOR.strip())
    text = converted(source).text
    assert "dist.get_default_backend_for_device(device)" in text
    assert "torch.accelerator.set_device_index(rank % torch.accelerator.device_count())" in text
    older = convert(source, Options(target_version=(2, 6)), path="train.py").text
    assert '"cpu:gloo,cuda:nccl"' in older
    assert "get_default_backend_for_device" not in older
