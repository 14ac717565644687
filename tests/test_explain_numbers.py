"""``--explain-numbers``: what is read from scripts, and how it is said."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from command_runs import Command
from hypothesis import given
from hypothesis import strategies as st

from transpile import Options, convert
from transpile.arithmetic.formula import (
    divide_down,
    divide_up,
    multiply,
    name,
    number,
    operation,
    share,
    text,
    unanimous,
)

HEAD = """
import argparse
import click
import torch
import torch.nn as nn
import yaml
from torch.utils.data import ConcatDataset, DataLoader, Dataset, Subset, TensorDataset, random_split
from torch.utils.data import WeightedRandomSampler


class Squares(Dataset):
    def __init__(self, n):
        self.items = torch.arange(n) * 2.0

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i : i + 1], self.items[i : i + 1]


"""
TRAINING = """
model = nn.Linear(1, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
{before}
for epoch in range(3):
    for i, (x, y) in enumerate(loader):
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
{step}
"""
EVERY = "        optimizer.step()\n        optimizer.zero_grad()"


def script(loader: str, step: str = EVERY, before: str = "") -> str:
    """A script that trains on a loader."""
    return HEAD + loader + TRAINING.format(step=step, before=before)


def numbers(source: str, processes: int = 4, **options: Any) -> dict[str, Any]:
    """The numbers of a script."""
    chosen = Options(explain_numbers=processes, **options)
    found: dict[str, Any] = convert(source, chosen).plan["numbers"]
    return found


def figure(document: dict[str, Any], kind: str, quantity: str) -> dict[str, Any]:
    """One line of the first section of a kind."""
    section = next(found for found in document["sections"] if found["kind"] == kind)
    found: dict[str, Any] = next(
        line for line in section["figures"] if line["quantity"] == quantity
    )
    return found


def both(document: dict[str, Any], kind: str, quantity: str) -> tuple[Any, Any]:
    """What a quantity is before and after."""
    found = figure(document, kind, quantity)
    return shown(found["before"]), shown(found["after"])


def shown(found: dict[str, Any] | None) -> Any:
    if found is None:
        return None
    if "list" in found:
        return [shown(each) for each in found["list"]]
    return found.get("value", found.get("formula"))


class TestFormula:
    @given(st.integers(0, 10_000), st.integers(1, 12), st.integers(1, 64))
    def test_sharing_out_first_gives_as_many_steps(self, samples: int, n: int, part: int) -> None:
        for divide in (divide_up, divide_down):
            own = divide(number(samples), number(n))
            whole = divide(number(samples), number(n * part))
            assert divide(own, share(number(n * part), number(n))).value == whole.value

    @given(st.integers(0, 10_000), st.integers(1, 12), st.integers(1, 64))
    def test_names_are_simplified_as_numbers_are(self, samples: int, n: int, part: int) -> None:
        for divide, rounded in ((divide_up, math.ceil), (divide_down, math.floor)):
            formula = divide(divide(name("x"), number(n)), number(part))
            value = eval(text(formula), {"x": samples, "ceil": math.ceil})
            assert value == divide(divide(number(samples), number(n)), number(part)).value
            assert value == rounded(samples / (n * part))

    def test_the_global_batch_stays_what_it_was(self) -> None:
        batch = name("args.batch_size")
        assert multiply(number(4), share(batch, number(4))) == batch
        steps = divide_up(divide_up(name("n"), number(4)), share(batch, number(4)))
        assert text(steps) == "ceil(n / args.batch_size)"

    def test_a_share_with_a_rest_is_no_number(self) -> None:
        assert share(number(10), number(4)).value is None
        assert share(number(12), number(4)).value == 3

    def test_what_was_read_comes_along(self) -> None:
        found = operation("*", number(2, "two"), name("x", "why"))
        assert found.because == ("two", "why")

    def test_brackets_stand_where_they_must(self) -> None:
        total = operation("+", name("a"), name("b"))
        assert text(operation("*", total, name("c"))) == "(a + b) * c"
        assert text(operation("-", name("a"), total)) == "a - (a + b)"

    def test_alternatives_must_agree(self) -> None:
        assert unanimous([number(1), number(1, "x")]) == number(1)
        assert unanimous([number(1), number(2)]) is None
        assert unanimous([]) is None


class TestLengths:
    @pytest.mark.parametrize(
        ("loader", "samples"),
        [
            ("loader = DataLoader(Squares(100), batch_size=8)", 100),
            ("loader = DataLoader(Subset(Squares(100), range(10, 90)), batch_size=8)", 80),
            ("a, b = random_split(Squares(100), [70, 30])\nloader = DataLoader(b, 8)", 30),
            ("a, b = random_split(Squares(99), [0.5, 0.5])\nloader = DataLoader(a, 8)", 50),
            ("loader = DataLoader(ConcatDataset([Squares(3), Squares(40)]), batch_size=8)", 43),
            ("x = torch.randn(64, 1)\nloader = DataLoader(TensorDataset(x, x * 2), 8)", 64),
            ("x = torch.randn((64, 1))[1:]\nloader = DataLoader(TensorDataset(x, x), 8)", None),
            (
                "items = [(torch.ones(1), torch.ones(1)) for _ in range(24)]\n"
                "loader = DataLoader(items, 8)",
                24,
            ),
            (
                "items = [(torch.ones(1), torch.ones(1)) for _ in range(24)]\n"
                "items.append(items[0])\nloader = DataLoader(items, 8)",
                None,
            ),
            (
                "w = WeightedRandomSampler(torch.ones(90), 48)\n"
                "loader = DataLoader(Squares(90), 8, sampler=w)",
                48,
            ),
        ],
    )
    def test_are_read_or_named(self, loader: str, samples: int | None) -> None:
        found = shown(figure(numbers(script(loader)), "data", "samples per epoch")["before"])
        if samples is None:
            assert isinstance(found, str)
            assert found.startswith("len(")
        else:
            assert found == samples

    def test_torchvision_sets_have_known_lengths(self) -> None:
        source = "import torchvision\n" + script(
            "data = torchvision.datasets.MNIST('.', train=True, download=True)\n"
            "loader = DataLoader(data, batch_size=64)"
        )
        found = numbers(source)
        assert both(found, "data", "samples per epoch and process") == (60000, 15000)
        assert both(found, "data", "steps per epoch") == (938, 938)
        assert "60000 is the length of MNIST's training set" in found["remarks"]


class TestDefaults:
    def test_of_argparse_are_followed_and_said(self) -> None:
        found = numbers(
            script(
                "parser = argparse.ArgumentParser()\n"
                "group = parser.add_argument_group('data')\n"
                "group.add_argument('-b', '--batch-size', type=int, default=32)\n"
                "args = parser.parse_args()\n"
                "loader = DataLoader(Squares(64), batch_size=args.batch_size)"
            )
        )
        assert both(found, "data", "batch per process") == (32, 8)
        assert "32 is the default of --batch-size" in found["remarks"]

    def test_what_must_be_given_has_none(self) -> None:
        found = numbers(
            script(
                "parser = argparse.ArgumentParser()\n"
                "parser.add_argument('--batch', type=int, required=True)\n"
                "args = parser.parse_args()\n"
                "loader = DataLoader(Squares(64), batch_size=args.batch)"
            )
        )
        assert both(found, "data", "batch per process") == ("args.batch", "args.batch / 4")
        assert both(found, "data", "steps per epoch") == (
            "ceil(64 / args.batch)",
            "ceil(64 / args.batch)",
        )
        assert "'args.batch' is known when the script runs" in found["remarks"]

    def test_two_parsers_are_not_mixed_up(self) -> None:
        found = numbers(
            script(
                "other = argparse.ArgumentParser()\n"
                "other.add_argument('--batch', type=int, default=7)\n"
                "parser = argparse.ArgumentParser()\n"
                "parser.add_argument('--batch', type=int, default=16)\n"
                "args = parser.parse_args()\n"
                "loader = DataLoader(Squares(64), batch_size=args.batch)"
            )
        )
        assert both(found, "data", "global batch") == (16, 16)

    def test_of_click_are_followed(self) -> None:
        body = script("loader = DataLoader(Squares(64), batch_size=batch)")[len(HEAD) :]
        indented = "\n".join(f"    {line}" if line else "" for line in body.splitlines())
        found = numbers(
            f"{HEAD}@click.command()\n@click.option('--batch', '-b', default=24)\n"
            f"def main(batch):\n{indented}\n\n\nmain()\n"
        )
        assert both(found, "data", "global batch") == (24, 24)
        assert "24 is the default of --batch" in found["remarks"]

    def test_of_yaml_files_are_followed(self, tmp_path: Path) -> None:
        (tmp_path / "config.yaml").write_text("data:\n  batch: 48\n")
        train = tmp_path / "train.py"
        train.write_text(
            script(
                "with open('config.yaml') as stream:\n    config = yaml.safe_load(stream)\n"
                "loader = DataLoader(Squares(96), batch_size=config['data']['batch'])"
            )
        )
        result = convert(train.read_bytes(), Options(explain_numbers=4), path=str(train))
        found = dict(result.plan["numbers"])
        assert both(found, "data", "batch per process") == (48, 12)
        assert "48 is data.batch in config.yaml" in found["remarks"]


class TestSteps:
    @pytest.mark.parametrize(
        ("test", "steps"),
        [
            ("(i + 1) % 4 == 0", 3 * 3),
            ("not (i + 1) % 4", 3 * 3),
            ("i % 4 == 3", 3 * 3),
            ("i % 4 == 2", None),
            ("(i + 1) % 4 == 0 or (i + 1) == len(loader)", 3 * 4),
            ("i % 4 == 0", 3 * 4),
            ("loss.item() > 0", None),
        ],
    )
    def test_follow_the_window(self, test: str, steps: int | None) -> None:
        step = f"        if {test}:\n            optimizer.step()"
        found = numbers(script("loader = DataLoader(Squares(100), 8)", step), processes=2)
        line = figure(found, "optimizer", "optimizer steps altogether")["after"]
        assert line == ({"value": steps} if steps else {"value": 3 * 13, "at_most": True})

    def test_a_window_may_run_on_over_epochs(self) -> None:
        step = (
            "        seen += 1\n        if seen % 4 == 0:\n"
            "            optimizer.step()\n            optimizer.zero_grad()"
        )
        found = numbers(script("loader = DataLoader(Squares(100), 8)", step, "seen = 0"), 2)
        assert both(found, "optimizer", "optimizer steps altogether") == (9, 9)
        assert shown(figure(found, "optimizer", "batches per optimizer step")["after"]) == 4

    def test_a_loop_that_may_end_early_is_an_upper_bound(self) -> None:
        step = EVERY + "\n        if loss.item() < 0.1:\n            break"
        found = numbers(script("loader = DataLoader(Squares(96), 8)", step))
        line = figure(found, "training", "steps altogether")["after"]
        assert line == {"value": 36, "at_most": True}
        assert any("may end early: break in line" in remark for remark in found["remarks"])

    def test_schedules_follow_what_they_are_told(self) -> None:
        before = (
            "total = 3 * len(loader)\n"
            "steps = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.2, total_steps=total)\n"
            "marks = torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[10, 20])\n"
            "warm = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: min(1.0, s / 5))"
        )
        step = f"{EVERY}\n        steps.step()\n        marks.step()\n        warm.step()"
        found = numbers(
            script("loader = DataLoader(Squares(96), 8)", step, before),
            2,
            batch_size="per-device",
            scale_lr="linear",
        )
        lines = {
            (section["title"], line["quantity"]): (shown(line["before"]), shown(line["after"]))
            for section in found["sections"]
            for line in section["figures"]
            if section["kind"] == "schedule"
        }
        assert lines["OneCycleLR", "total_steps"] == (36, 18)
        assert lines["OneCycleLR", "max_lr"] == (0.2, 0.4)
        assert lines["MultiStepLR", "milestones"] == ([10, 20], [10, 20])
        assert lines["MultiStepLR", "calls of step()"] == (36, 18)
        assert lines["LambdaLR", "changes at"] == (5, 5)
        assert both(found, "optimizer", "learning rate") == (0.1, 0.2)

    def test_other_options_are_said_where_they_change_something(self) -> None:
        found = numbers(script("loader = DataLoader(Squares(96), 8)"))
        steps = figure(found, "data", "steps per epoch")
        assert steps["options"] == {"--batch-size per-device": {"value": 3}}
        rate = figure(found, "optimizer", "learning rate")["options"]
        assert rate == {
            "--batch-size per-device --scale-lr linear": {"value": pytest.approx(0.4)},
            "--batch-size per-device --scale-lr sqrt": {"value": pytest.approx(0.2)},
        }

    def test_dropping_and_padding_are_said(self) -> None:
        padded = numbers(script("loader = DataLoader(Squares(97), 8)"))
        assert both(padded, "data", "samples per epoch") == (97, 100)
        assert "3 of 97 samples come twice an epoch: 4 processes share them" in padded["remarks"]
        dropped = numbers(script("loader = DataLoader(Squares(97), 8, drop_last=True)"))
        assert both(dropped, "data", "samples per epoch") == (96, 96)
        assert both(dropped, "data", "steps per epoch") == (12, 12)


def test_evaluation_is_shared_out_where_asked_for() -> None:
    source = script("loader = DataLoader(Squares(96), 8)") + (
        "test = DataLoader(Squares(50), batch_size=10)\nmodel.eval()\ntotal = 0.0\n"
        "with torch.no_grad():\n    for x, y in test:\n"
        "        total += nn.functional.mse_loss(model(x), y).item()\nprint(total)\n"
    )
    every = numbers(source, 2)
    assert both(every, "evaluation", "batches per process") == (5, 5)
    line = figure(every, "evaluation", "batches per process")
    assert line["options"] == {"--eval shard": {"value": 3, "at_most": True}}
    shared = numbers(source, 2, evaluation="shard")
    assert both(shared, "evaluation", "samples per process") == (50, 30)


class TestCommand:
    def write(self, batch: int = 8) -> None:
        Path("train.py").write_text(script(f"loader = DataLoader(Squares(96), {batch})"))

    def test_alone_prints_a_table_and_writes_nothing(self, command: Command) -> None:
        self.write()
        run = command("train.py", "--explain-numbers", "4")
        assert run.status == 0
        lines = [" ".join(line.split()) for line in run.output.decode().splitlines()]
        assert "batch per process 8 2 --batch-size per-device: 8" in lines
        assert [path.name for path in Path().iterdir()] == ["train.py"]

    def test_json_is_the_numbers_alone(self, command: Command) -> None:
        self.write()
        run = command("train.py", "--explain-numbers", "4", "--output-format", "json")
        document = json.loads(run.output)
        assert document["path"] == "train.py"
        assert both(document["numbers"], "data", "batch per process") == (8, 2)

    def test_a_plan_holds_them(self, command: Command) -> None:
        self.write()
        run = command("train.py", "--plan", "--explain-numbers", "2")
        assert json.loads(run.output)["plan"]["numbers"]["processes"] == 2
        assert "numbers" not in json.loads(command("train.py", "--plan").output)["plan"]

    def test_an_output_is_written_beside_them(self, command: Command) -> None:
        self.write()
        run = command("train.py", "--explain-numbers", "2", "-o", "out.py")
        assert run.status == 0
        assert b"batch per process" in run.output
        assert "split_batch(8)" in Path("out.py").read_text()

    def test_a_diff_keeps_standard_output(self, command: Command) -> None:
        self.write()
        run = command("train.py", "--explain-numbers", "2", "--diff")
        assert b"batch per process" not in run.output
        assert "batch per process" in run.errors

    def test_a_batch_that_cannot_be_shared_is_a_warning(self, command: Command) -> None:
        self.write(batch=10)
        run = command("train.py", "--explain-numbers", "4")
        assert run.status == 1
        assert "DT012 a batch of 10 samples is not divisible by 4 processes" in run.errors
        assert "the nearest batch that is: 8" in run.errors
        assert " ".join(run.output.decode().split()).count("global batch 10 - ") == 1

    def test_a_refused_script_has_its_own_numbers_only(self, command: Command) -> None:
        source = script("loader = DataLoader(Squares(96), 8)").replace(
            "loss.backward()", "torch.autograd.grad(loss, model.parameters()); loss.backward()"
        )
        Path("train.py").write_text(source)
        run = command("train.py", "--explain-numbers", "4")
        assert run.status == 3
        text = run.output.decode()
        assert "1 process" in text
        assert "4 processes" not in text

    def test_a_framework_without_them_is_a_usage_error(self, command: Command) -> None:
        Path("train.py").write_text("import mxnet as mx\n")
        run = command("train.py", "--explain-numbers", "4", "--framework", "mxnet")
        assert run.status == 2
        assert "--explain-numbers does not fit mxnet" in run.errors
