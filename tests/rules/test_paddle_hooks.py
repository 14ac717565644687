"""Hooks on gradients of Paddle are warned of unless they multiply by a number."""

from __future__ import annotations

import pytest

from transpile import Options, convert

SCRIPT = """\
import paddle
import paddle.nn as nn

paddle.seed(0)
loader = paddle.io.DataLoader(paddle.io.TensorDataset([paddle.ones([32, 4])]), batch_size=8)
net = nn.Linear(4, 1)
scale, seen = 0.5, []


def multiply(gradient):
    {body}


net.weight.register_hook({hook})
opt = paddle.optimizer.SGD(0.1, parameters=net.parameters())
for (x,) in loader:
    loss = net(x).mean()
    loss.backward()
    opt.step()
    opt.clear_grad()
"""


def is_warned(hook: str = "multiply", body: str = "return gradient * 0.5") -> bool:
    text = SCRIPT.format(hook=hook, body=body.replace("\n", "\n    "))
    result = convert(text, Options(shard="data"), path="train.py")
    return any(finding.code == "PD408" for finding in result.findings)


@pytest.mark.parametrize("hook", ["lambda g: g * 0.5", "lambda g: -g / 2", "lambda g: scale * g"])
def test_a_multiple_of_a_gradient_may_be_averaged(hook: str) -> None:
    assert not is_warned(hook)


def test_a_function_that_multiplies_is_seen() -> None:
    assert not is_warned(body="scaled = gradient * 0.5\nreturn scaled")


@pytest.mark.parametrize(
    "hook",
    [
        "lambda g: g.clip(-1, 1)",
        "lambda g: g * g",
        "lambda g: g + 1",
        "lambda g: g * net.weight.mean()",
        "lambda g: seen.append(g)",
        "print",
    ],
)
def test_what_is_no_multiple_is_warned_of(hook: str) -> None:
    assert is_warned(hook)


@pytest.mark.parametrize(
    "body",
    [
        "seen.append(gradient)\nreturn gradient * 0.5",
        "seen[0] = gradient\nreturn gradient * 0.5",
        "print(gradient)\nreturn gradient * 0.5",
        "if seen:\n    return gradient * 2\nreturn gradient * 0.5",
    ],
)
def test_a_hook_that_looks_at_gradients_is_warned_of(body: str) -> None:
    assert is_warned(body=body)
