"""Random training programs, and those of them that went wrong once; see `random_programs.py`."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from programs import check, processes
from programs.choices import Choices
from programs.comparison import distance, text_difference
from programs.program import Program, program
from programs.shrink import shrunk

from transpile import Options, convert

COMMAND = Path(__file__).with_name("random_programs.py")
FOUND = Path(__file__).with_name("programs") / "found"

#: What the first line of a kept program may ask for, and the outcomes that fulfil it.
WANTED = {
    "exact": {"clean"},
    "said": {"warned", "warned and different", "refused"},
    "auto": {"clean"},
}
#: Those that are asked for with the way that the tool finds by itself.
AUTO = "auto"


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, COMMAND, *words], capture_output=True, text=True, check=False, timeout=280
    )


def test_programs_that_went_wrong_once() -> None:
    scripts = sorted(FOUND.glob("*.py"))
    if not scripts:
        pytest.skip("none went wrong")
    asked = {
        script: script.read_text().partition("\n")[0].removeprefix("# ").partition(":")[0].split()
        for script in scripts
    }
    wrong = []
    for way in ("data", AUTO):
        wanted = {
            script: word
            for script in scripts
            for word in asked[script]
            if (word == AUTO) == (way == AUTO)
        }
        ended = run("--shard", way, "--scripts", *map(str, wanted))
        outcomes = dict(line.split(": ", 1) for line in ended.stdout.splitlines())
        assert set(outcomes) == {script.name for script in wanted}, ended.stderr
        for script, word in wanted.items():
            if outcomes[script.name].split(":")[0] not in WANTED[word]:
                wrong.append(f"{script.name} should be {word}: {outcomes[script.name]}")
    assert wrong == []


def test_random_programs_are_converted_rightly_or_warned_of() -> None:
    """A few of them; the command takes as many as it is told to."""
    ended = run("--count", "40", "--seed", "0", "--shard", "auto", "--verbose")
    assert ended.returncode == 0, ended.stdout[-4000:] + ended.stderr[-2000:]
    outcomes = re.findall(r"^\d+ (\w.*?) *$", ended.stdout, re.MULTILINE)
    assert sum(outcome.startswith(("clean", "order")) for outcome in outcomes) > 25, ended.stdout


def test_random_programs_run_on_pretended_gpus() -> None:
    """A few of them, flags and mixed precision among them; those that decide also with noise."""
    ended = run("--pretend-cuda", "--count", "12", "--shard", "auto", "--verbose")
    assert ended.returncode == 0, ended.stdout[-4000:] + ended.stderr[-2000:]
    outcomes = re.findall(r"^\d+ (\w.*?) *$", ended.stdout, re.MULTILINE)
    assert sum(outcome.startswith(("clean", "order")) for outcome in outcomes) > 7, ended.stdout


def test_a_program_fails_on_gpus_that_its_output_mistakes(monkeypatch: pytest.MonkeyPatch) -> None:
    """All processes on the first GPU: that must not pass for right."""
    made = program(2, {"gpu.device": "available"}, gpus=True)

    def mistaken(*args: Any, **kwargs: Any) -> Any:
        result = convert(*args, **kwargs)
        own = "rank % torch.cuda.device_count()"
        assert own in result.text
        return replace(result, text=result.text.replace(own, "0"))

    monkeypatch.setattr(check, "convert", mistaken)
    checked = check.check(made.text, Options(), made.inexact, gpus=check.PRETENDED)
    assert checked.outcome == "crash", checked.details
    assert "Duplicate GPU" in checked.details


def test_programs_run_though_this_process_has_computed_with_several_threads() -> None:
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    torch.randn(1 << 20).exp().sum()
    torch.set_num_threads(before)
    text = "import torch\ntorch.randn(1 << 20).exp().sum()\n"
    assert not processes.run(text, 1, 20).hung


@pytest.mark.parametrize("gpus", [False, True])
def test_every_program_is_python_and_the_same_each_time(gpus: bool) -> None:
    for seed in range(150):
        text = program(seed, gpus=gpus).text
        ast.parse(text)
        assert program(seed, gpus=gpus).text == text


def test_a_choice_does_not_change_the_others() -> None:
    drawn = [Choices(3).pick(name, "abcdefgh") for name in ("one", "two", "three")]
    assert [Choices(3).pick(name, "abcdefgh") for name in ("three", "two", "one")] == drawn[::-1]


def test_what_is_left_out_does_not_come() -> None:
    left_out = "loss.classes=cross_entropy"
    some = [made for made in map(program, range(60)) if left_out in made.constructs]
    assert some
    for made in some:
        assert left_out not in program(made.seed, without=[left_out]).constructs


def test_a_failing_program_becomes_small() -> None:
    def fails(made: Program) -> bool:
        return "momentum=0.9" in made.text

    first = next(made for made in map(program, range(100)) if fails(made) and len(made.text) > 2000)
    small = shrunk(first, fails)
    assert fails(small)
    assert len(small.text) < 900
    assert {name for name in small.constructs if name.startswith("optimizer")} == {
        "optimizer=momentum"
    }


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("loss 0.1234567890123\n", "loss 0.1234567890124\n", True),
        ("loss 0.123456789\n", "loss 0.123466789\n", False),
        ("loss 0.1235\n", "loss 0.1234\n", True),
        ("loss 0.1236\n", "loss 0.1234\n", False),
        ("3 of 4\n", "3 of 5\n", False),
        ("tensor(1.5000, grad_fn=<MeanBackward0>)", "tensor(1.5000)", True),
        ("a\n", "a\nb\n", False),
    ],
)
def test_words_are_compared_as_numbers(one: str, other: str, same: bool) -> None:
    assert (text_difference(one, other) == "") is same


def test_numbers_are_compared_wherever_they_stand() -> None:
    assert distance({"a": [1.0, [2.0]]}, {"a": [1.0, [2.0 + 1e-9]]}) < 1
    assert distance({"a": [1.0, [2.0]]}, {"a": [1.0, [2.001]]}) > 1
    assert distance({"a": 1}, {"b": 1}) > 1
    assert distance([1.0], [1.0, 2.0]) > 1
    assert distance([float("nan")], [float("nan")]) == 0
