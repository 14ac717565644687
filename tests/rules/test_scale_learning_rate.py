"""With the script's batch on each process the learning rate follows, where it is asked for."""

from __future__ import annotations

from string import Template
from typing import Any

import pytest
from small_scripts import converted, findings, new_lines, script, undone

from transpile import Level
from transpile.prelude import prelude_of

RULE = "scale-learning-rate"
LINEAR = {"batch_size": "per-device", "scale_lr": "linear"}
ROOT = {"batch_size": "per-device", "scale_lr": "sqrt"}
NONE = {"batch_size": "per-device"}
ADJUST = """def adjust(optimizer, epoch, start):
    rate = start * 0.1 ** (epoch // 30)
    for group in optimizer.param_groups:
        {line}
"""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("torch.optim.SGD(model.parameters(), lr=args.lr)", "lr=scale_learning_rate(args.lr))"),
        ("torch.optim.SGD(model.parameters(), 0.1)", "scale_learning_rate(0.1))"),
        ("torch.optim.SGD(model.parameters())", "lr=scale_learning_rate(1e-3))"),
        (
            "torch.optim.SGD(model.parameters(), lr=args.lr if args.lr else 0.2)",
            "lr=scale_learning_rate(args.lr if args.lr else 0.2))",
        ),
        (
            'torch.optim.SGD([{"params": model.parameters(), "lr": 0.2}], lr=0.1)',
            '[{"params": model.parameters(), "lr": scale_learning_rate(0.2)}], '
            "lr=scale_learning_rate(0.1))",
        ),
        (
            "torch.optim.SGD(model.parameters(), **options)",
            '**{**options, "lr": scale_learning_rate(options["lr"])})',
        ),
    ],
)
def test_rate_of_an_optimizer_follows(before: str, after: str) -> None:
    source = script(start='options = {"lr": 0.1, "momentum": 0.9}', optimizer=before)
    (line,) = (line for line in new_lines(source, **LINEAR) if line.startswith("optimizer ="))
    assert line.endswith(after)
    assert undone(source, RULE, **LINEAR) == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "lr_scheduler.OneCycleLR(optimizer, max_lr=0.1, total_steps=4)",
            "lr_scheduler.OneCycleLR(optimizer, max_lr=scale_learning_rate(0.1), total_steps=4)",
        ),
        (
            "lr_scheduler.CyclicLR(optimizer, 0.01, 0.1)",
            "lr_scheduler.CyclicLR(optimizer, scale_learning_rate(0.01), scale_learning_rate(0.1))",
        ),
    ],
)
def test_rates_of_a_scheduler_follow(before: str, after: str) -> None:
    source = script(resume=f"scheduler = torch.optim.{before}")
    assert f"scheduler = torch.optim.{after}" in new_lines(source, **LINEAR)
    assert undone(source, RULE, **LINEAR) == []


@pytest.mark.parametrize(
    "before", ["lr_scheduler.StepLR(optimizer, 30)", "lr_scheduler.LambdaLR(optimizer, len)"]
)
def test_factors_of_a_scheduler_stay(before: str) -> None:
    line = f"scheduler = torch.optim.{before}"
    assert line in converted(script(resume=line), **LINEAR).text


def test_rate_that_the_script_sets_follows() -> None:
    source = script(
        top=ADJUST.format(line='group["lr"] = rate'), epoch="adjust(optimizer, epoch, args.lr)"
    )
    assert 'group["lr"] = scale_learning_rate(rate)' in new_lines(source, **LINEAR)
    assert undone(source, RULE, **LINEAR) == []


@pytest.mark.parametrize("line", ['group["lr"] *= 0.1', 'group["lr"] = group["lr"] * 0.1'])
def test_rate_computed_from_the_old_one_stays(line: str) -> None:
    source = script(top=ADJUST.format(line=line), epoch="adjust(optimizer, epoch, args.lr)")
    assert line in converted(source, **LINEAR).text


def test_root_is_another_factor() -> None:
    assert "learning_rate * get_world_size() ** 0.5" in converted(script(), **ROOT).text
    assert "learning_rate * get_world_size()\n" in converted(script(), **LINEAR).text
    assert undone(script(), RULE, **ROOT) == []


def test_adaptive_optimizer_is_named_where_it_is_scaled_linearly() -> None:
    source = script(optimizer="torch.optim.Adam(model.parameters(), lr=args.lr)")
    assert [level for level, _, _ in findings(source, "PT232", **LINEAR)] == [Level.WARNING]
    assert findings(source, "PT232", **ROOT) == []
    assert findings(script(), "PT232", **LINEAR) == []


def test_note_says_what_the_batch_becomes() -> None:
    ((level, _, message),) = findings(script(), "PT233", **NONE)
    assert level is Level.NOTE
    assert "N x 4 samples" in message
    assert "scale_learning_rate" not in converted(script(), **NONE).text


def test_global_batch_changes_nothing() -> None:
    source = script(
        optimizer="torch.optim.Adam(model.parameters(), lr=args.lr)",
        resume="scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 30)",
        step="scheduler.step()",
    )
    result = converted(source)
    assert not [decision for decision in result.decisions if decision.rule == RULE]
    assert not [found for found in result.findings if found.code.startswith("PT23")]


@pytest.mark.parametrize(
    ("scheduler", "known"),
    [
        ("StepLR(optimizer, step_size=30)", "30"),
        ("CosineAnnealingLR(optimizer, T_max=1000)", "1000"),
        ("MultiStepLR(optimizer, milestones=[10, 20])", "[10, 20]"),
        ("OneCycleLR(optimizer, 0.1, total_steps=args.max_steps)", "args.max_steps"),
    ],
)
def test_fixed_steps_of_a_scheduler_are_named(scheduler: str, known: str) -> None:
    line = f"scheduler = torch.optim.lr_scheduler.{scheduler}"
    per_batch = script(resume=line, step="scheduler.step()")
    result = converted(per_batch, **NONE)
    (found,) = [each for each in result.findings if each.code == "PT234"]
    assert found.level is Level.WARNING
    assert known in found.advice
    per_epoch = script(resume=line, epoch="scheduler.step()")
    assert findings(per_epoch, "PT234", **NONE) == []


def test_steps_that_follow_the_loader_are_not_named() -> None:
    line = "scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 2 * len(loader))"
    assert findings(script(resume=line, step="scheduler.step()"), "PT234", **NONE) == []


def test_limit_on_batches_is_named() -> None:
    source = script(start="step = 0", step="step += 1\nif step >= args.max_steps: break")
    ((_, line, message),) = findings(source, "PT234", **NONE)
    assert "step >= args.max_steps" in source.splitlines()[line - 1]
    assert "step >= args.max_steps" in message


def test_helper_multiplies() -> None:
    for name, factor in (("scale_learning_rate", 4), ("scale_learning_rate_by_root", 2)):
        space: dict[str, Any] = {"get_world_size": lambda: 4}
        code = Template(prelude_of("pytorch")[name].code)
        exec(code.substitute({name: name, "get_world_size": "get_world_size"}), space)
        assert space[name](0.5) == 0.5 * factor
