"""Models that a library would spread over several GPUs stay whole on that of each process."""

from __future__ import annotations

import importlib
import os
from typing import Any

import pytest
from small_scripts import converted, findings, script, undone

from transpile import Level

RULE = "keep-models-whole"
LOADED = 'AutoModel.from_pretrained("x", device_map={})'
helper = importlib.import_module("transpile.rules.pytorch.emitted.devices")


def text_of(given: str) -> str:
    """A script that loads its model with a map of devices."""
    top = "import argparse\nfrom transformers import AutoModel\n\nargs = argparse.Namespace(m=None)"
    return script(top=f"{top}\nteacher = {LOADED.format(given)}\n")


@pytest.mark.parametrize("given", ['"auto"', '"balanced"', '{"": 0}', "0", "args.m"])
def test_a_map_of_several_gpus_is_that_of_the_own_one(given: str) -> None:
    text = text_of(given)
    assert LOADED.format(f"own_device_map({given})") in converted(text).text
    ((level, _, message),) = findings(text, "PT817")
    assert level is Level.NOTE and "must fit" in message


@pytest.mark.parametrize(
    "given",
    ['"cpu"', '{"": "cpu"}', "None", '"cuda"', 'torch.device("cuda")',
     '{"": int(os.environ["LOCAL_RANK"])}'],
)  # fmt: skip
def test_other_maps_stay(given: str) -> None:
    text = text_of(given)
    assert LOADED.format(given) in converted(text).text
    assert not findings(text, "PT817")


def test_functions_of_the_script_take_what_they_are_given() -> None:
    top = "def load(device_map):\n    return device_map\n\n\nload(device_map='auto')\n"
    assert "load(device_map='auto')" in converted(script(top=top)).text


def test_a_second_conversion_has_nothing_to_do() -> None:
    assert not undone(text_of('"auto"'), RULE)


@pytest.mark.parametrize("given", ["auto", {"": 3}, "cpu", None])
def test_what_the_helper_gives(monkeypatch: Any, given: Any) -> None:
    monkeypatch.delenv("RANK", raising=False)
    monkeypatch.setattr(helper.torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(helper.torch.cuda, "device_count", lambda: 2)
    assert helper.own_device_map(given) == given
    monkeypatch.setitem(os.environ, "RANK", "1")
    monkeypatch.setitem(os.environ, "LOCAL_RANK", "1")
    assert helper.own_device_map(given) == (given if given in ("cpu", None) else {"": 1})
