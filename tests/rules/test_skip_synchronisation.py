"""Gradients that are gathered over several batches are averaged where the optimizer steps."""

from __future__ import annotations

from pathlib import Path

import pytest
from data_way import convert
from small_scripts import converted, findings, undone

from transpile import Options, Outcome
from transpile.verify import Auditor

SCRIPT = """\
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
steps = 3
count = 0
loader = DataLoader(TensorDataset(torch.randn(48, 3), torch.randn(48, 1)), batch_size=6)
model = nn.Linear(3, 1)
criterion = nn.MSELoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(3):
    for i, (x, y) in enumerate(loader):
        {body}
torch.save(model.state_dict(), "model.pt")
"""
MICRO = "loss = criterion(model(x), y) / steps\nloss.backward()\n"
STEP = "    optimizer.step()\n    optimizer.zero_grad()"


def script(body: str) -> str:
    return SCRIPT.format(body=body.replace("\n", "\n        "))


def condition(body: str) -> str | None:
    """What the manager is given as the time to average; None where there is no manager."""
    text = " ".join(converted(script(body)).text.split())
    _, found, rest = text.partition("with gradients_synchronised(")
    if not found:
        return None
    return rest[: rest.index("):")].strip(" ,").removeprefix("model, ")


@pytest.mark.parametrize(
    "test",
    [
        "(i + 1) % steps == 0",
        "i % steps == steps - 1",
        "i % 4 == 0 and i > 0",
        "(i + 1) % steps == 0 or i + 1 == len(loader)",
        "not (i + 1) % steps",
    ],
)
def test_the_time_to_average_is_the_test_of_the_step(test: str) -> None:
    assert condition(f"{MICRO}if {test}:\n{STEP}") == test


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (f"{MICRO}count += 1\nif count % steps == 0:\n{STEP}", "(count + 1) % steps == 0"),
        (f"count += 1\n{MICRO}if count % steps == 0:\n{STEP}", "count % steps == 0"),
        (
            f"{MICRO}count += 1\nif count == steps:\n{STEP}\n    count = 0",
            "(count + 1) == steps",
        ),
        (f"{MICRO}count += 2\nif count % 4 == 0:\n{STEP}", "(count + 2) % 4 == 0"),
    ],
)
def test_a_counter_raised_by_hand_is_asked_for_its_later_value(body: str, expected: str) -> None:
    assert condition(body) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (f"{MICRO}full = (i + 1) % steps == 0\nif full:\n{STEP}", "(i + 1) % steps == 0"),
        (f"full = (i + 1) % steps == 0\n{MICRO}if full:\n{STEP}", "full"),
        (f"{MICRO}full = i > 5\nfull = i % 2 == 1\nif full:\n{STEP}", "i % 2 == 1"),
        (f"{MICRO}full = i % 2 == 1\nif i > 6:\n    full = True\nif full:\n{STEP}", None),
    ],
)
def test_a_test_with_a_name_is_what_the_name_was_given(body: str, expected: str | None) -> None:
    assert condition(body) == expected


def test_a_test_that_decides_on_the_backward_pass_too_is_no_window() -> None:
    body = f"if i % 2:\n    {MICRO.strip().replace(chr(10), chr(10) + '    ')}\n{STEP}"
    both = f"{body}\nelse:\n    criterion(model(x), y).backward()\n{STEP}"
    for each in (body, both):
        assert condition(each) is None
        assert not findings(script(each), "PT322")


def test_both_arms_of_a_choice_are_in_the_micro_step() -> None:
    body = (
        "if epoch > 0:\n    loss = criterion(model(x), y)\n    loss.backward()\n"
        "else:\n    loss = criterion(model(x), y)\n    (loss / 2).backward()\n"
        f"if i % 2 == 1:\n{STEP}"
    )
    assert condition(body) == "i % 2 == 1"


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (
            f"if i % steps == 0 and i > 0:\n{STEP}\n{MICRO.strip()}",
            "the test of the step does not follow the backward pass",
        ),
        (
            f"loss = criterion(model(x), y)\nif i != 5:\n    loss.backward()\nif i % 2:\n{STEP}",
            "the backward pass is not run in every round",
        ),
        (
            f"{MICRO}nn.utils.clip_grad_norm_(model.parameters(), 1.0)\nif i % 2 == 1:\n{STEP}",
            "'clip_grad_norm_' looks at gradients between the steps",
        ),
        (
            f"{MICRO}print(model.weight.grad.norm())\nif i % 2 == 1:\n{STEP}",
            "'.grad' looks at gradients between the steps",
        ),
        (
            f"{MICRO}if i % steps == 0:\n    count = count + 1\nif (i + count) % 2 == 1:\n{STEP}",
            "the test of the step cannot be asked for before the forward pass",
        ),
        (
            f"{MICRO}if i % 2 == 1:\n{STEP}\nif epoch == 40:\n    optimizer.step()",
            "the optimizer also steps elsewhere",
        ),
        (
            f"for part in range(2):\n    criterion(model(x), y).backward()\nif i % 2 == 1:\n{STEP}",
            "the backward pass is not run in every round",
        ),
    ],
)
def test_where_it_is_not_certain_every_micro_step_averages(body: str, why: str) -> None:
    assert condition(body) is None
    ((_, _, message),) = {*findings(script(body), "PT322")}
    assert message.endswith(f"({why})")


@pytest.mark.parametrize(
    "body",
    [
        f"optimizer.zero_grad()\n{MICRO}optimizer.step()",
        f"optimizer.zero_grad()\n{MICRO}if steps > 1:\n    optimizer.step()",
    ],
)
def test_a_step_after_every_batch_is_left_alone(body: str) -> None:
    assert condition(body) is None
    assert not findings(script(body), "PT322")


def test_a_variable_that_holds_one_of_two_models_is_one_model() -> None:
    source = script(f"{MICRO}if (i + 1) % steps == 0:\n{STEP}")
    source = source.replace(
        "nn.Linear(3, 1)", "nn.Linear(3, 1) if steps else nn.Linear(3, 1, False)"
    )
    assert "with gradients_synchronised(model, (i + 1) % steps == 0):" in converted(source).text


def test_two_models_behind_one_backward_pass_are_left_alone() -> None:
    source = script(f"{MICRO}if (i + 1) % steps == 0:\n{STEP}").replace(
        "model(x)", "model(other(x))"
    )
    source = source.replace("criterion =", "other = nn.Linear(3, 3)\ncriterion =")
    source = source.replace("model.parameters()", "[*model.parameters(), *other.parameters()]")
    assert "gradients_synchronised" not in converted(source).text
    messages = {message for _, _, message in findings(source, "PT322")}
    assert {
        message.endswith("(the backward pass goes through several models)") for message in messages
    } == {True}


def test_the_output_needs_nothing_more() -> None:
    source = script(f"{MICRO}if (i + 1) % steps == 0:\n{STEP}")
    assert not undone(source, "skip-synchronisation")


def test_gathered_gradients_are_those_of_one_process(tmp_path: Path) -> None:
    # Eight batches, windows of three: each epoch ends in the middle of one and the next goes on.
    body = f"{MICRO}count += 1\nif count % steps == 0:\n{STEP}"
    source = script(body)
    original, output = tmp_path / "train.py", tmp_path / "train_dist.py"
    original.write_text(source)
    result = convert(source, Options())
    assert result.outcome is Outcome.CONVERTED
    assert "gradients_synchronised(model, (count + 1) % steps == 0)" in result.text
    output.write_text(result.text)
    with Auditor() as auditor:
        report = auditor.audit(
            original, output, world_sizes=(1, 2, 3), tolerance=1e-5, timeout_seconds=120
        )
    assert report.passed, report.failed_names
