"""Logs that are set up from a dict or a file, and folders of runs that a clock names."""

from __future__ import annotations

from data_way import convert

from transpile import Outcome
from transpile.finding import Level

SCRIPT = """\
import json
import logging
import logging.config
import os
from datetime import datetime

import reclib
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

folder = os.path.join("runs", datetime.now().strftime("%m%d_%H%M%S_%f"))
os.makedirs(folder)
config = {
    "version": 1,
    "handlers": {"main": {"class": "logging.StreamHandler"}},
    "root": {"level": "INFO", "handlers": ["main"]},
}
logging.config.dictConfig(config)
loader = DataLoader(TensorDataset(torch.randn(64, 3), torch.randn(64, 1)), batch_size=8)
model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    for x, y in loader:
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
    logging.info("epoch %d", epoch)
"""
STREAM = '{"class": "logging.StreamHandler"}'
FOLDER = "os.makedirs(folder)\n"
CALL = "logging.config.dictConfig(config)\n"


def text_of(*changes: tuple[str, str]) -> str:
    """The output of the script with some of its text replaced."""
    text = SCRIPT
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    result = convert(text.encode())
    assert result.outcome is Outcome.CONVERTED
    assert all(each.level is Level.NOTE for each in result.findings)
    return result.text


def test_handlers_of_streams_are_set_up_everywhere() -> None:
    """Warnings of all processes look alike."""
    assert f"\n{CALL}" in text_of()


def test_files_named_in_a_dict_are_opened_by_one_process() -> None:
    """The others have no folder, as their clocks have named another one."""
    handler = '{"class": "logging.FileHandler", "filename": os.path.join(folder, "a.log")}'
    assert f"    os.makedirs(folder)\n    {CALL}" in text_of(
        (STREAM, handler), (FOLDER, ""), (CALL, FOLDER + CALL)
    )


def test_configurations_that_are_read_may_name_files() -> None:
    """What a file says is not known: none but rank 0 opens what it names."""
    read = 'with open("log.json") as file:\n    config = json.load(file)\n'
    assert f"if is_main_process():\n    {CALL}" in text_of((CALL, read + CALL))
    call = 'logging.config.fileConfig("log.ini")\n'
    assert f"\n    {call}" in text_of((CALL, call))
    chosen = f'if os.path.exists("log.json"):\n    {read.replace(chr(10), chr(10) + "    ")}{CALL}'
    assert f"if is_main_process():\n        {CALL}" in text_of((CALL, chosen))


def test_arguments_that_are_not_known_may_name_a_file() -> None:
    """A log that is set up by unpacked arguments is told."""
    call = 'logging.basicConfig(**json.loads(os.environ["LOG"]))\n'
    result = convert(SCRIPT.replace(CALL, call).encode())
    assert [each.code for each in result.findings if each.code == "PT522"]


def test_folders_named_by_a_clock_are_shared_with_unknown_libraries() -> None:
    """What opens files in the folder gets that of rank 0, once it is there."""
    text = text_of((CALL, f"{CALL}recorder = reclib.Recorder(str(folder))\n"))
    assert 'folder = os.path.join("runs", from_main_process(datetime.now()).strftime(' in text
    assert "barrier()\nrecorder = reclib.Recorder(str(folder))\n" in text
    assert "from_main_process" not in text_of((CALL, CALL + "recorder = reclib.Recorder(3)\n"))
