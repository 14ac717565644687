"""Functions that decorators of the script put in the place of others are those that run."""

from __future__ import annotations

import pytest

from transpile import Level, Options, Outcome, convert

SCRIPT = """\
import functools

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
loader = DataLoader(TensorDataset(torch.randn(24, 4), torch.randn(24, 1)), batch_size=8)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), 0.1)


{code}


for epoch in range(3):
    for x, y in loader:
        {step}
torch.save(model.state_dict(), "model.pt")
"""
STEPPING = """\
def stepping(function):
    {wraps}
    def inner(*args, **kwargs):
        optimizer.zero_grad()
        loss = function(*args, **kwargs)
        loss.backward()
        optimizer.step()
    return inner


@stepping
def train(x, y):
    return F.mse_loss(model(x), y)"""
MADE = """\
def scaled(factor):
    def decorate(function):
        def inner(*args):
            return {given}
        return inner
    return decorate


class Trainer:
    @scaled(2.0)
    def loss(self, x, y):
        return F.mse_loss(model(x), y)

    def step(self, x, y):
        optimizer.zero_grad()
        self.loss(x, y).backward()
        optimizer.step()


trainer = Trainer()"""


@pytest.mark.parametrize("wraps", ["pass", "@functools.wraps(function)"])
def test_a_step_within_a_decorator_trains(wraps: str) -> None:
    text = SCRIPT.format(code=STEPPING.format(wraps=wraps), step="train(x, y)")
    result = convert(text, path="train.py")
    assert result.outcome is Outcome.CONVERTED
    assert "DistributedDataParallel(model)" in result.text


@pytest.mark.parametrize(
    ("given", "told"),
    [("factor * function(*args)", False), ("function(*args) ** factor", True)],
)
def test_what_a_decorator_does_to_a_loss_counts(given: str, told: bool) -> None:
    text = SCRIPT.format(code=MADE.format(given=given), step="trainer.step(x, y)")
    result = convert(text.encode(), Options(shard="data"), path="train.py")
    assert result.outcome is Outcome.CONVERTED
    warned = [one.code for one in result.findings if one.level is not Level.NOTE]
    assert ("PT403" in warned) == told


WRAPPING = """\
def wrapping(function):
    {wraps}
    def inner(*args, **kwargs):
        inner.calls += 1
        return function(*args, **kwargs)
    inner.calls = 0
    return inner"""
BY_CALL = """\
def wrapping(function):
    def inner(*args, **kwargs):
        return function(*args, **kwargs)
    return {given}"""
WITH_ARGUMENT = """\
import inspect
import logging


def logging_with(level):
    def decorate(function):
        if not callable(function) or not inspect.isfunction(function):
            raise TypeError(function)
        @functools.wraps(function)
        def inner(*args, **kwargs):
            logging.log(level, "calling %s%s", function.__name__, inspect.signature(function))
            return function(*args, **kwargs)
        return inner
    return decorate"""
WITH_OR_WITHOUT = """\
def counting(function=None, *, by=1):
    if function is None:
        return functools.partial(counting, by=by)
    @functools.wraps(function)
    def inner(*args, **kwargs):
        inner.calls += by
        return function(*args, **kwargs)
    inner.calls = 0
    return inner"""
BY_OBJECT = """\
class Counting:
    def __init__(self, function):
        functools.update_wrapper(self, function)
        self.function = function
        self.calls = 0

    def __call__(self, *args, **kwargs):
        self.calls += 1
        return {given}"""
BY_METHOD = """\
class Counting:
    def __init__(self):
        self.calls = {{}}

    def under(self, name):
        def decorate(function):
            @functools.wraps(function)
            def inner(*args, **kwargs):
                self.calls[name] = self.calls.get(name, 0) + 1
                return function(*args, **kwargs)
            return inner
        return decorate


counting = Counting()"""
PLACE = """\
def call(function, *args, **kwargs):
    return function(*args, **kwargs)


def wrapping(function):
    return functools.partial(call, function)"""
WRAPS = "@functools.wraps(function)"
#: What decorates, and the decorator.
PASSING_ON = {
    "plain": (WRAPPING.format(wraps="pass"), "wrapping"),
    "wraps": (WRAPPING.format(wraps=WRAPS), "wrapping"),
    "updated": (BY_CALL.format(given="functools.update_wrapper(inner, function)"), "wrapping"),
    "wraps called": (BY_CALL.format(given="functools.wraps(function)(inner)"), "wrapping"),
    "told what to log": (WITH_ARGUMENT, "logging_with(logging.INFO)"),
    "without brackets": (WITH_OR_WITHOUT, "counting"),
    "with brackets": (WITH_OR_WITHOUT, "counting(by=2)"),
    "by a method": (BY_METHOD.format(), 'counting.under("step")'),
    "two": (WRAPPING.format(wraps=WRAPS) + "\n\n\n" + WITH_OR_WITHOUT, "counting(by=3)\n@wrapping"),
}
STEP = """\
def train(model, x, y):
    loss = F.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss"""
METHOD = """\
class Trainer:
    def __init__(self):
        self.model = model

    @{decorator}
    def step(self, x, y):
        loss = F.mse_loss(self.model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss


trainer = Trainer()"""
ALONE = {
    "an object": (BY_OBJECT.format(given="self.function(*args, **kwargs)"), "Counting"),
    "a partial": (PLACE, "wrapping"),
}


def told(code: str, step: str) -> tuple[bool, list[str]]:
    """Whether a script with its own decorator trains as one, and the codes that are no notes."""
    text = SCRIPT.format(code=code, step=step)
    result = convert(text.encode(), Options(shard="data"), path="train.py")
    codes = [one.code for one in result.findings if one.level is not Level.NOTE]
    averaged = ("DistributedDataParallel(model)", "average_gradients(optimizer)")
    return any(word in result.text for word in averaged), codes


@pytest.mark.parametrize("name", [*PASSING_ON, *ALONE])
def test_a_step_that_a_decorator_passes_on_trains(name: str) -> None:
    code, decorator = {**PASSING_ON, **ALONE}[name]
    assert told(f"{code}\n\n\n@{decorator}\n{STEP}", "train(model, x, y)") == (True, [])


@pytest.mark.parametrize("name", PASSING_ON)
def test_a_method_that_a_decorator_passes_on_trains(name: str) -> None:
    code, decorator = PASSING_ON[name]
    decorator = decorator.replace("\n", "\n    ")
    code = f"{code}\n\n\n{METHOD.format(decorator=decorator)}"
    assert told(code, "trainer.step(x, y)") == (True, [])


LOSS = "@Counting\ndef loss_of(model, x, y):\n    return F.mse_loss(model(x), y)"
ROUND = "optimizer.zero_grad(); loss_of(model, x, y).backward(); optimizer.step()"


@pytest.mark.parametrize(
    ("given", "codes"),
    [
        ("2.0 * self.function(*args, **kwargs)", []),
        ("self.function(*args, **kwargs) ** 2", ["PT403"]),
    ],
)
def test_what_an_object_in_the_place_of_a_function_does_counts(
    given: str, codes: list[str]
) -> None:
    code = BY_OBJECT.format(given=given) + "\n\n\n" + LOSS
    assert told(code, ROUND) == (True, codes)


def test_a_function_that_is_handed_out_may_be_called_there() -> None:
    """What is only looked at is not run; of what others are given, that is not known."""
    code = WRAPPING.format(wraps="atexit.register(function)")
    _, codes = told(f"import atexit\n\n\n{code}\n\n\n@wrapping\n{STEP}", "train(model, x, y)")
    assert "PT308" in codes


def test_a_step_that_is_tried_again_by_one_process_alone_is_refused() -> None:
    code = """\
def again(function):
    @functools.wraps(function)
    def inner(*args, **kwargs):
        try:
            return function(*args, **kwargs)
        except RuntimeError:
            return function(*args, **kwargs)
    return inner"""
    _, codes = told(f"{code}\n\n\n@again\n{STEP}", "train(model, x, y)")
    assert codes == ["PT722"]
