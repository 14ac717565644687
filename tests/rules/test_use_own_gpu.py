"""Numbered GPUs become the process's own; everything else about devices stays."""

from __future__ import annotations

import os
from string import Template
from typing import Any

import pytest
import torch
from data_way import convert
from small_scripts import converted, findings, new_lines, script, undone

from transpile import Level, Options
from transpile.prelude import prelude_of

RULE = "use-own-gpu"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            'device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")',
            'device = own_device(torch.device("cuda:0" if torch.cuda.is_available() else "cpu"))',
        ),
        ('device = torch.device("cuda", 0)', 'device = own_device(torch.device("cuda", 0))'),
        ("device = torch.device(0)", "device = own_device(torch.device(0))"),
        (
            "device = 'cuda:1' if torch.cuda.is_available() else 'cpu'",
            "device = own_device('cuda:1' if torch.cuda.is_available() else 'cpu')",
        ),
        ('device = f"cuda:{args.gpu}"', 'device = own_device(f"cuda:{args.gpu}")'),
        ('device = "cuda:" + str(args.gpu)', 'device = own_device("cuda:" + str(args.gpu))'),
        ('device = "cuda:%d" % args.gpu', 'device = own_device("cuda:%d" % args.gpu)'),
        (
            'device = "cuda:{}".format(args.gpu)',
            'device = own_device("cuda:{}".format(args.gpu))',
        ),
        ("device = torch.device(args.device)", "device = own_device(torch.device(args.device))"),
        (
            'options = {"device": "cuda:0", "size": 3}',
            'options = {"device": own_device("cuda:0"), "size": 3}',
        ),
        ("x = torch.zeros(1).cuda(0)", "x = torch.zeros(1).cuda(own_device(0))"),
        ("x = torch.zeros(1).cuda(device=0)", "x = torch.zeros(1).cuda(device=own_device(0))"),
        ("x = torch.zeros(1).cuda(args.gpu)", "x = torch.zeros(1).cuda(own_device(args.gpu))"),
        ("x = torch.zeros(1).to(0)", "x = torch.zeros(1).to(own_device(0))"),
        (
            "x = torch.zeros(1, device=args.device)",
            "x = torch.zeros(1, device=own_device(args.device))",
        ),
        ("with torch.cuda.device(0): pass", "with torch.cuda.device(own_device(0)): pass"),
        (
            "torch.set_default_device(args.device)",
            "torch.set_default_device(own_device(args.device))",
        ),
        ('with torch.device("cuda:0"): pass', 'with own_device(torch.device("cuda:0")): pass'),
        (
            "generator = torch.Generator(args.device)",
            "generator = torch.Generator(own_device(args.device))",
        ),
    ],
)
def test_numbered_gpu_becomes_the_own_one(before: str, after: str) -> None:
    source = script(start=before)
    assert after in new_lines(source)
    assert undone(source, RULE) == []


@pytest.mark.parametrize(
    "line",
    [
        'device = torch.device("cuda")',
        'device = torch.device("cuda" if torch.cuda.is_available() else "cpu")',
        "x = torch.zeros(1).cuda()",
        'x = torch.zeros(1).to("cuda")',
        "x = torch.zeros(1).to(torch.float64)",
        "x = torch.zeros(1).cuda(non_blocking=True)",
        "x = torch.zeros(1).to(torch.ones(1).device)",
        'x = torch.zeros(1, device="cpu")',
        "device = torch.accelerator.current_accelerator()",
        'print(args.device == "cuda:0", args.device.startswith("cuda:"))',
        'device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))',
    ],
)
def test_devices_without_a_number_stay(line: str) -> None:
    assert not [each for each in new_lines(script(start=line)) if "own_device" in each]


def test_device_of_the_user_is_taken_over_once() -> None:
    source = script(
        start="device = args.device",
        batch="x, y = x.to(device), y.to(device)",
        model="model.to(device)",
    )
    lines = [line for line in new_lines(source) if "own_device" in line]
    assert lines == ["device = own_device(args.device)"]
    assert undone(source, RULE) == []


@pytest.mark.parametrize(
    "chosen",
    [
        'os.environ["TRAIN_ON"]',
        'os.environ.get("TRAIN_ON", "cuda:0")',
        'open("device.txt").read().strip()',
        "sys.argv[1]",
        'json.loads(open("c.json").read())["device"]',
        'configparser.ConfigParser()["train"]["device"]',
        'getattr(importlib.import_module("settings"), "DEVICE")',
        'Path("device.txt").read_text().strip()',
        'yaml.load(open("c.yaml"), Loader=yaml.FullLoader)["device"]',
        'subprocess.check_output(["choose"], text=True).strip()',
        'torch.device(os.environ["TRAIN_ON"])',
    ],
)
def test_devices_from_outside_are_the_own_one_where_they_come_in(chosen: str) -> None:
    source = script(
        top="import configparser, importlib, json, subprocess, sys, yaml\nfrom pathlib import Path",
        start=f"device = {chosen}",
        batch="x, y = x.to(device), y.to(device)",
        model="model.to(device)",
    ).replace('default="cuda:0", help="for example cuda:1"', "")
    lines = [line for line in new_lines(source) if "own_device" in line]
    assert lines == [f"device = own_device({chosen})"]
    assert "    setup_distributed()\n" in converted(source).text
    assert undone(source, RULE) == []


def test_numbers_from_outside_are_those_of_the_own_gpu() -> None:
    source = script(
        start='gpus = [int(one) for one in os.environ["GPUS"].split(",")]',
        batch="x, y = x.cuda(gpus[0]), y.cuda(gpus[0])",
        model="model.cuda(gpus[0])",
    )
    lines = [line for line in new_lines(source) if "own_device" in line]
    assert lines == [
        "model.cuda(own_device(gpus[0]))",
        "x, y = x.cuda(own_device(gpus[0])), y.cuda(own_device(gpus[0]))",
    ]
    assert undone(source, RULE) == []


def test_devices_of_unreadable_functions_are_the_own_one() -> None:
    source = script(
        top="def pick(): return eval('DEVICE')", start="device = pick()", model="model.to(device)"
    ).replace('default="cuda:0", help="for example cuda:1"', "")
    text = converted(source).text
    assert "model.to(own_device(device))" in text
    assert "    setup_distributed()\n" in text


def test_devices_of_fields_are_the_own_one_where_they_are_used() -> None:
    source = script(
        top="from dataclasses import dataclass, field\n\n@dataclass\nclass Config:\n"
        "    device: str = field(default_factory=lambda: os.environ['TRAIN_ON'])\n",
        start="device = Config().device",
        model="model.to(device)",
    ).replace('default="cuda:0", help="for example cuda:1"', "")
    assert [line for line in new_lines(source) if "own_device" in line] == [
        "model.to(own_device(device))"
    ]
    assert undone(source, RULE) == []


def test_helpers_stand_above_a_try_around_imports_that_uses_them() -> None:
    source = script(
        top="try:\n    import apex\n    where = 'cuda:0'\nexcept ImportError:\n    where = 'cpu'",
        start="device = torch.device(where)",
        model="model.to(device)",
    )
    text = converted(source).text
    assert text.index("def own_device(") < text.index("where = own_device('cuda:0')")
    assert text.index("import torch\n") < text.index("def own_device(")


def test_both_sides_of_a_comparison_lose_their_number() -> None:
    source = script(start='device = "cuda:0"\nif device == "cuda:0": print("on a GPU")')
    assert 'if device == own_device("cuda:0"): print_once("on a GPU")' in new_lines(source)


def test_help_and_default_of_an_argument_stay() -> None:
    source = script(start="device = torch.device(args.device)")
    assert 'default="cuda:0", help="for example cuda:1")' in converted(source).text


def test_several_numbers_are_refused() -> None:
    source = script(start='first = torch.device("cuda:0")\nsecond = torch.device("cuda:1")')
    ((level, line, message),) = findings(source, "PT802")
    assert level is Level.ERROR
    assert source.splitlines()[line - 1].strip() == 'second = torch.device("cuda:1")'
    assert "0, 1" in message


def test_choice_between_two_numbers_is_not_several() -> None:
    source = script(start='device = "cuda:0" if args.gpu == 0 else "cuda:1"')
    assert findings(source, "PT802") == []
    assert 'device = own_device("cuda:0" if args.gpu == 0 else "cuda:1")' in new_lines(source)


def test_current_device_is_left_to_the_launcher() -> None:
    source = script(start="torch.cuda.set_device(args.gpu)")
    text = converted(source).text
    assert '    if "RANK" not in os.environ:\n        torch.cuda.set_device(args.gpu)\n' in text
    assert undone(source, RULE) == []


def test_visible_devices_are_left_to_the_launcher() -> None:
    source = script(start='os.environ["CUDA_VISIBLE_DEVICES"] = str(args.gpu)')
    text = converted(source).text
    assert (
        '    if "RANK" not in os.environ:\n'
        '        os.environ["CUDA_VISIBLE_DEVICES"] = str(args.gpu)\n'
    ) in text
    ((level, _, _),) = findings(source, "PT803")
    assert level is Level.NOTE
    assert undone(source, RULE) == []


@pytest.mark.parametrize(
    "line", ['os.environ["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"', 'os.environ["SEED"] = "0"']
)
def test_other_variables_stay(line: str) -> None:
    assert not [each for each in new_lines(script(start=line)) if '"RANK"' in each]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            'model.load_state_dict(torch.load("m.pt"))',
            'model.load_state_dict(torch.load("m.pt", map_location="cpu"))',
        ),
        (
            'state = torch.load("m.pt")\nmodel.load_state_dict(state["model"])',
            'state = torch.load("m.pt", map_location="cpu")',
        ),
        (
            'state = torch.load("m.pt")\nmodel.load_state_dict(state["model"])\n'
            'best = state["best"]',
            'state = torch.load("m.pt", map_location=own_location)',
        ),
        (
            'state = torch.load("m.pt")\ntorch.set_rng_state(state["rng"])',
            'state = torch.load("m.pt", map_location=own_location)',
        ),
        (
            'state = torch.load("m.pt", map_location="cuda:0")',
            'state = torch.load("m.pt", map_location=own_device("cuda:0"))',
        ),
        (
            'state = torch.load("m.pt", map_location={"cuda:1": "cuda:0"})',
            'state = torch.load("m.pt", map_location={"cuda:1": own_device("cuda:0")})',
        ),
        (
            'state = torch.load("m.pt", map_location=lambda s, l: s.cuda(args.gpu))',
            'state = torch.load("m.pt", map_location=lambda s, l: s.cuda(own_device(args.gpu)))',
        ),
    ],
)
def test_checkpoints_go_to_the_own_gpu(before: str, after: str) -> None:
    source = script(start='device = "cuda"', resume=before)
    assert after in new_lines(source)
    assert undone(source, RULE) == []


@pytest.mark.parametrize(
    "location", ["device", '"cpu"', "lambda storage, location: storage", "torch.device('cuda')"]
)
def test_locations_that_fit_any_process_stay(location: str) -> None:
    line = f'state = torch.load("m.pt", map_location={location})'
    source = script(start='device = torch.device("cuda")', resume=line)
    assert line in converted(source).text


def test_without_a_gpu_nothing_is_loaded_from_one() -> None:
    line = 'state = torch.load("m.pt")'
    source = script(resume=line).replace("cuda:", "xpu:")
    assert line in converted(source).text


def test_workers_counted_by_gpus_are_named() -> None:
    source = script().replace("batch_size=4", "batch_size=4 * torch.cuda.device_count()")
    ((level, line, _),) = findings(source, "PT805")
    assert level is Level.WARNING
    assert "device_count" in source.splitlines()[line - 1]


def test_workers_of_each_process_are_noted() -> None:
    source = script().replace("batch_size=4", "batch_size=4, num_workers=2")
    assert [level for level, _, _ in findings(source, "PT808")] == [Level.NOTE]
    assert findings(script(), "PT808") == []


@pytest.mark.parametrize(
    "move", ["torch.ones(1).cuda()", 'torch.ones(1).to("cuda")', "torch.ones(1).to(DEVICE)"]
)
def test_too_early_on_a_gpu_is_refused(move: str) -> None:
    top = f'DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")\nweight = {move}'
    ((level, line, _),) = findings(script(top=top), "PT807")
    assert level is Level.ERROR
    assert move in script(top=top).splitlines()[line - 1]
    assert findings(script(start=top), "PT807") == []
    assert findings(script(top=top.replace("cuda", "cpu")), "PT807") == []


def test_forked_workers_are_named() -> None:
    top = "torch.multiprocessing.set_start_method('fork')"
    assert [level for level, _, _ in findings(script(top=top), "PT806")] == [Level.WARNING]
    assert findings(script(top=top.replace("fork", "spawn")), "PT806") == []


def helper(name: str) -> Any:
    """A helper function as scripts get it."""
    space: dict[str, Any] = {"os": os, "torch": torch, "dist": torch.distributed, "Any": Any}
    names = {one: one for one in (name, "own_gpu", *space)}
    for one in ("own_gpu", name):
        exec(Template(prelude_of("pytorch")[one].code).substitute(names), space)
    return space[name]


@pytest.mark.parametrize("device", ["cuda:1", "cuda", "cpu", torch.device("cuda", 1), 3, None])
def test_own_device_changes_nothing_without_a_launcher(
    device: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RANK", raising=False)
    assert helper("own_device")(device) is device


@pytest.mark.parametrize(
    ("environment", "gpus", "own"),
    [
        ({"RANK": "7", "LOCAL_RANK": "3"}, 4, 3),
        ({"RANK": "7"}, 4, 3),
        # Slurm may show each process one GPU alone, which is the first to it.
        ({"RANK": "7", "LOCAL_RANK": "3"}, 1, 0),
    ],
)
def test_own_device_is_the_gpu_of_the_process_with_its_number(
    environment: dict[str, str], gpus: int, own: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("RANK", "LOCAL_RANK"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: gpus)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    own_device = helper("own_device")
    assert own_device("cuda:1") == f"cuda:{own}"
    assert own_device(torch.device("cuda", 1)) == torch.device("cuda", own)
    for bare in ("cuda", torch.device("cuda")):
        # The current GPU, once it is the own one: as the script may compare it.
        monkeypatch.setattr(torch.cuda, "current_device", lambda: own)
        assert own_device(bare) is bare
        monkeypatch.setattr(torch.cuda, "current_device", lambda: own + 1)
        assert own_device(bare) == type(bare)(f"cuda:{own}")
    assert own_device(0) == own
    for other in ("cpu", "mps", torch.device("cpu"), None, torch.float16, -1):
        assert own_device(other) is other
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert own_device(0) == 0


def test_own_location_moves_what_was_on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    class Storage:
        def cuda(self, device: int) -> str:
            return f"moved to {device}"

    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.delenv("LOCAL_RANK", raising=False)
    own_location = helper("own_location")
    monkeypatch.delenv("RANK", raising=False)
    assert own_location(Storage(), "cuda:0") is None
    monkeypatch.setenv("RANK", "1")
    assert own_location(Storage(), "cuda:0") == "moved to 1"
    assert own_location(Storage(), "cpu") is None


def test_helpers_that_speak_to_other_processes_use_no_gpu_of_the_script() -> None:
    source = script(
        step="print(loss.item())",
        end="torch.save({'model': model.state_dict()}, 'm.pt')\nkept = torch.load('m.pt')\n"
        "model.load_state_dict(kept['model'])\nprint(kept.keys())",
    ).replace('default="cuda:0", help="for example cuda:1"', 'default="cpu"')
    text = convert(source).text
    assert "reduce_mean" in text
    again = convert(text, Options(respect_distributed=False))
    assert again.text == text


def test_a_number_that_a_worker_writes_back_is_still_the_user_s() -> None:
    """As where a function that one process runs on its GPU is given the number beside the rest."""
    source = script(
        top="def work(gpu, args):\n    args.gpu = gpu\n    return torch.zeros(1).cuda(args.gpu)",
        start="x = work(args.gpu, args)",
    )
    assert "return torch.zeros(1).cuda(own_device(args.gpu))" in new_lines(source)
