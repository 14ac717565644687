"""Totals wait until they are read where all processes come there, and nowhere else."""

from __future__ import annotations

import pytest
from single_rule import made

from transpile.rules.pytorch.gradients import leave_out_gradients
from transpile.rules.pytorch.losses import reduce_reported_numbers

SCRIPT = """\
import time
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

loader = DataLoader(TensorDataset(torch.randn(48, 4), torch.randint(0, 3, (48,))), batch_size=12)
model = nn.Linear(4, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
def run():
    total, right = 0.0, 0
    for i, (x, y) in enumerate(loader):
        out = model(x)
        loss = nn.functional.cross_entropy(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        {body}
    {after}
START = True
run()
"""


def new_lines(body: str, after: str = "pass") -> list[str]:
    """The lines that the rule writes."""
    body, after = body.replace("\n", "\n        "), after.replace("\n", "\n    ")
    return [
        line.strip()
        for line in made(reduce_reported_numbers, SCRIPT.format(body=body, after=after))
        .after.partition("def run")[2]
        .splitlines()
        if "reduce_" in line or "_numbers" in line
    ]


ADDED = "total += loss.item()\n"
COUNTED = "right += (out.argmax(1) == y).sum().item()\n"


@pytest.mark.parametrize(
    ("body", "after"),
    [
        (ADDED + "if total > 9:\n    break", "print(total)"),
        (ADDED + "print(total)", "pass"),
        (ADDED + "if time.time() % 9 < 1:\n    print(total)", "pass"),
        (ADDED + "seen = lambda: total", "print(total)"),
        ("total += loss.item() ** 2", "print(total)"),
        ("total = 0.9 * total + 0.1 * loss.item()", "print(total)"),
        ("total += loss.item() * total", "print(total)"),
        ("total += loss.item() * loss.item()", "print(total)"),
        (COUNTED + "if i % 2 == 0:\n    print(right)", "pass"),
    ],
)
def test_what_is_read_on_the_way_is_reduced_on_the_way(body: str, after: str) -> None:
    found = new_lines(body, after)
    assert any("reduce_mean(loss)" in line or "reduce_sum(" in line for line in found)
    assert not any("_numbers(" in line for line in found)


@pytest.mark.parametrize(
    ("body", "after", "lines"),
    [
        (
            ADDED + COUNTED,
            "print(total / 4, right)",
            ["[right] = sum_numbers(right)", "[total] = average_numbers(total)"],
        ),
        (
            ADDED + "if i % 2 == 1:\n    print(total / 2)\n    total = 0.0",
            "pass",
            ["[total] = average_numbers(total)"],
        ),
        (
            COUNTED + "if i % 2 == 1:\n    print(right)\n    right = 0",
            "pass",
            ["[right] = sum_numbers(right)"],
        ),
        (
            "last = loss.item()\nif i % 2 == 1:\n    print(last)",
            "pass",
            ["[last] = average_numbers(last)"],
        ),
    ],
)
def test_what_is_read_later_is_reduced_there(body: str, after: str, lines: list[str]) -> None:
    assert sorted(new_lines(body, after)) == lines


def test_what_an_exception_may_leave_behind_is_reduced_on_the_way() -> None:
    text = SCRIPT.format(body=ADDED, after="pass").replace("    for i,", "    try:\n      for i,")
    text = text.replace(
        "    pass\n", "    except KeyboardInterrupt:\n        pass\n    print(total)\n"
    )
    assert "total += reduce_mean(loss).item()" in made(reduce_reported_numbers, text).after


ADVERSARIES = """\
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

loader = DataLoader(TensorDataset(torch.randn(48, 4), torch.randn(48, 4)), batch_size=12)
maker, judge = nn.Linear(4, 4), nn.Linear(4, 1)
of_maker = torch.optim.SGD(maker.parameters(), lr=0.1)
of_judge = torch.optim.SGD(judge.parameters(), lr=0.1)
START = True
for real, noise in loader:
    of_judge.zero_grad()
    nn.functional.softplus(-judge(real)).mean().backward()
    {between}
    fake = maker(noise)
    nn.functional.softplus(judge(fake.detach())).mean().backward()
    of_judge.step()
    of_maker.zero_grad()
    loss = nn.functional.softplus(-judge(fake)).mean()
    loss.backward()
    of_maker.step()
    {last}
"""


@pytest.mark.parametrize(
    ("between", "last", "managers"),
    [
        ("pass", "pass", ["with gradients_synchronised(judge, False):", "with frozen(judge):"]),
        ("nn.utils.clip_grad_norm_(judge.parameters(), 1)", "pass", ["with frozen(judge):"]),
        (
            "pass",
            "nn.utils.clip_grad_norm_(judge.parameters(), 1)",
            ["with gradients_synchronised(judge, False):"],
        ),
        ("pass", "of_judge.step()", ["with gradients_synchronised(judge, False):"]),
        ("pass", "print(judge.weight.grad)", []),
        ("pass", "if loss > 1:\n        continue", []),
    ],
)
def test_gradients_are_left_out_where_nothing_uses_them(
    between: str, last: str, managers: list[str]
) -> None:
    found = made(leave_out_gradients, ADVERSARIES.format(between=between, last=last))
    assert [line for line in found.new if line.startswith("with ")] == managers


@pytest.mark.parametrize(
    ("start", "call", "manager"),
    [
        ("pass", "judge.forward(fake)", "with frozen(judge):"),
        ("judged = judge.forward", "judged(fake)", ""),
    ],
)
def test_what_is_frozen_is_the_model_and_not_its_method(
    start: str, call: str, manager: str
) -> None:
    text = ADVERSARIES.format(between="pass", last="pass").replace("START = True", start)
    found = made(leave_out_gradients, text.replace("-judge(fake)", f"-{call}"))
    managers = [line for line in found.new if line.startswith("with frozen")]
    assert managers == [manager] * bool(manager)


STEPS = """\
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

loader = DataLoader(TensorDataset(torch.randn(48, 4), torch.randint(0, 3, (48,))), batch_size=12)
model = nn.Linear(4, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
def step(x, y):
    out = model(x)
    loss = nn.functional.cross_entropy(out, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    {back}
def run():
    total, losses = 0.0, []
    for x, y in loader:
        {body}
    print(total, losses)
run()
"""


@pytest.mark.parametrize(
    ("back", "body", "reduced"),
    [
        ("return loss.item()", "total += step(x, y)", "[total] = average_numbers(total)"),
        (
            "return loss.item()\ndef outer(x, y):\n    return step(x, y)",
            "total += outer(x, y)",
            "[total] = average_numbers(total)",
        ),
        ("return loss.item() / 2", "total += 3 * step(x, y)", "[total] = average_numbers(total)"),
        ("return loss.item()", "now = step(x, y); total += now", "= average_numbers(total)"),
        (
            "return loss.item(), 1",
            "now, _ = step(x, y)\n        losses.append(now)",
            "losses[:] = average_numbers(*losses)",
        ),
        ("return loss.item()", "loss = step(x, y); total += loss", "= average_numbers(total)"),
        ("return loss.item()", "now = step(x, y); total += now; print(now)", None),
        ("return loss.item()", "total += step(x, y) * total", None),
        ("return loss.item() ** 2", "total += step(x, y)", None),
        ("if total: return 0.0\n    return loss.item()", "total += step(x, y)", None),
        ("return loss.item()", "total += step(x, y) + step(y, x)", None),
        ("return loss.item()", "total += sum(map(step, [x], [y]))", None),
    ],
)
@pytest.mark.parametrize("top", [False, True])
def test_what_a_function_hands_back_waits_as_well(
    back: str, body: str, reduced: str | None, top: bool
) -> None:
    source = STEPS.format(back=back, body=body)
    if top:
        source = source.replace("def run():", "for _ in range(2):").replace("run()\n", "")
    text = made(reduce_reported_numbers, source).after
    text = text.partition("def step")[2]
    if reduced is None:
        assert "reduce_mean(loss)" in text
        assert "average_numbers(" not in text
    else:
        assert reduced in text
        assert "reduce_mean" not in text
