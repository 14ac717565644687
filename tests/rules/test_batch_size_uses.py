"""Where a script uses its batch size beside the loader: it is divided there, too, or refused."""

from __future__ import annotations

import pytest
from data_way import convert

from transpile import Level, Outcome, Result

SCRIPT = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

{first}
data = TensorDataset(torch.randn(48, 6), torch.randn(48, 6))
model = nn.Linear(6, 6)
rnn = nn.GRU(6, 6, batch_first=True)
parameters = [*model.parameters(), *rnn.parameters()]
optimizer = torch.optim.SGD(parameters, lr=0.1)


def predict(x, samples):
    return model(x.view(samples, 6)) + rnn(x.view(-1, 1, 6), torch.zeros(1, samples, 6))[0][:, 0]


for epoch in range(2):
    for x, y in DataLoader(data, batch_size={size}, drop_last=True):
        out = predict(x, x.size(0))
        {batch}
        loss = nn.functional.mse_loss(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    {after}
"""


def result(
    batch: str, first: str = "batch_size = 8", size: str = "batch_size", after: str = "pass"
) -> Result:
    return convert(SCRIPT.format(batch=batch, first=first, size=size, after=after))


def errors(found: Result) -> list[str]:
    return [finding.code for finding in found.findings if finding.level is Level.ERROR]


@pytest.mark.parametrize(
    ("batch", "expected"),
    [
        ("y = y.reshape(batch_size, -1)", "y = y.reshape(split_batch(batch_size), -1)"),
        ("out = out * torch.ones(batch_size, 1)", "torch.ones(split_batch(batch_size), 1)"),
        ("out = out * torch.ones((batch_size, 1))", "torch.ones((split_batch(batch_size), 1))"),
        ("out = predict(x, batch_size)", "predict(x, split_batch(batch_size))"),
        (
            "out = torch.cat([out, x])[batch_size:] + out",
            "torch.cat([out, x])[split_batch(batch_size):] + out",
        ),
        (
            "out = torch.split(torch.cat([out, x]), batch_size)[0]",
            "torch.split(torch.cat([out, x]), split_batch(batch_size))[0]",
        ),
        (
            "out = torch.cat([x, out])[torch.arange(x.size(0)) + batch_size]",
            "[torch.arange(x.size(0)) + split_batch(batch_size)]",
        ),
        (
            "for i in range(batch_size):\n            out = out + model(x[i])",
            "for i in range(split_batch(batch_size)):",
        ),
    ],
)
def test_what_follows_the_batch_size_takes_the_share(batch: str, expected: str) -> None:
    found = result(batch)
    assert found.outcome is Outcome.CONVERTED
    assert expected in found.text


def test_the_size_is_found_where_a_class_keeps_it() -> None:
    found = result(
        "y = y.view(Settings.samples, -1)",
        first="class Settings:\n    samples = 8",
        size="Settings.samples",
    )
    assert "y.view(split_batch(Settings.samples), -1)" in found.text


def test_another_number_of_the_same_value_is_left_alone() -> None:
    found = result("out = out + torch.zeros(width).sum()", first="batch_size = 8\nwidth = 8")
    assert found.outcome is Outcome.CONVERTED
    assert "torch.zeros(width)" in found.text


def test_a_number_in_the_place_of_the_samples_is_divided() -> None:
    found = result("y = y.view(8, 6)", size="8")
    assert "y.view(split_batch(8), 6)" in found.text


@pytest.mark.parametrize(
    "batch",
    ["out = out + torch.zeros(1, 8).sum()", "out = out + ones.mean()\n        f = abs(ones)"],
)
def test_a_number_that_may_count_samples_is_refused(batch: str) -> None:
    found = result(batch, first="ones = torch.ones(8, 1)", size="8")
    assert errors(found) == ["PT224"]


@pytest.mark.parametrize(
    "rows", ["torch.arange(0, 8)", "torch.linspace(0, 1, 8)", "torch.linspace(0, 1, steps=8)"]
)
def test_how_many_numbers_are_spread_may_count_samples(rows: str) -> None:
    found = result("out = out + rows.view(-1, 1)", first=f"rows = {rows}", size="8")
    assert errors(found) == ["PT224"]
    other = result("out = out + rows", first=f"rows = {rows}".replace("8", "6"), size="8")
    assert errors(other) == []


def test_a_number_elsewhere_in_a_view_is_left_alone() -> None:
    found = result("y = y.view(-1, 3, 2).flatten(1)", size="3")
    assert found.outcome is Outcome.CONVERTED
    assert "y.view(-1, 3, 2)" in found.text


def test_what_evaluation_runs_with_whole_batches_is_refused() -> None:
    first = "batch_size = 8\n\ndef step(x):\n    return model(x.view(batch_size, 6))"
    found = result("out = step(x)", first)
    assert "model(x.view(split_batch(batch_size), 6))" in found.text
    after = "with torch.no_grad():\n        print(step(data.tensors[0][:8]).mean())"
    found = result("out = step(x)", first, after=after)
    assert errors(found) == ["PT224"]


NOISE = """\
        optimizer.zero_grad()
        (model(torch.randn({shape})) ** 2).{reduction}().backward()
        optimizer.step()
"""


def noise(shape: str, reduction: str = "mean") -> Result:
    text = SCRIPT.format(batch="pass", first="batch_size = 8", size="batch_size", after="pass")
    end = "    pass\n"
    assert text.endswith(end)
    return convert(text.removesuffix(end) + NOISE.format(shape=shape, reduction=reduction))


def test_a_step_on_noise_alone_belongs_to_the_loader_whose_size_it_has() -> None:
    found = noise("batch_size, 6")
    assert found.outcome is Outcome.CONVERTED
    assert "model(torch.randn(split_batch(batch_size), 6))" in found.text
    assert "(torch.randn(2 * split_batch(batch_size), 6))" in noise("2 * batch_size, 6").text


def test_a_sum_over_noise_is_a_sum_over_samples() -> None:
    assert "* get_world_size()).backward()" in noise("batch_size, 6", "sum").text


def test_noise_of_another_size_is_refused() -> None:
    assert "PT203" in errors(noise("5, 6"))


HELPED = """\
import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Samples(object):
    def loader(self, batch_size):
        data = TensorDataset(torch.randn(64, 3), torch.randn(64, 1))
        {made}


batch_size = int(sys.argv[1])
{taken} = Samples().loader(batch_size)
model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(3):
    for x, y in loader:
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), {target}).backward()
        optimizer.step()
"""
MADE = "DataLoader(data, batch_size=batch_size, drop_last=True)"


@pytest.mark.parametrize(
    ("made", "taken", "target", "divided"),
    [
        (f"return {MADE}", "loader", "y", 1),
        (f"return {MADE}, torch.zeros(batch_size, 1)", "loader, target", "target", 2),
    ],
)
def test_what_a_loader_is_given_is_divided_once(
    made: str, taken: str, target: str, divided: int
) -> None:
    """A method that makes the loader gets the whole batch, whatever else it makes of it."""
    result = convert(HELPED.format(made=made, taken=taken, target=target).encode())
    assert result.outcome is Outcome.CONVERTED
    assert result.text.count("split_batch(batch_size)") == divided
    assert "Samples().loader(batch_size)" in result.text


@pytest.mark.parametrize("length", ["6 * batch_size", "batch_size"])
def test_a_dataset_stays_whole_whose_length_is_a_multiple_of_the_batch_size(length: str) -> None:
    text = SCRIPT.format(batch="pass", first="batch_size = 8", size="batch_size", after="pass")
    assert "torch.randn(48, 6)" in text
    found = convert(text.replace("48", length))
    assert found.outcome is Outcome.CONVERTED
    assert f"TensorDataset(torch.randn({length}, 6), torch.randn({length}, 6))" in found.text
    within = found.text.split("def main", 1)[-1]
    assert "batch_size=split_batch(batch_size)" in within


def test_a_number_alone_may_be_that_of_features() -> None:
    """A batch of 6 and layers of 6: what has 6 entries may weigh either."""
    found = result("out = out * torch.rand(6)", size="6", first="")
    assert "PT224" in {finding.code for finding in found.findings}
    assert "torch.rand(split_batch(6))" not in found.text
    other = result("out = out * torch.rand(8).view(-1, 1)", size="8", first="")
    assert "torch.rand(split_batch(8))" in other.text


@pytest.mark.parametrize(
    ("made", "given"),
    [
        ("shape = (batch_size, 6)", "shape"),
        ("shape = [batch_size, 6]", "*shape"),
        ("def shape():\n    return batch_size, 6", "shape()"),
    ],
)
def test_a_shape_that_is_made_elsewhere_is_told(made: str, given: str) -> None:
    found = result(f"out = out * torch.ones({given})", first=f"batch_size = 8\n{made}")
    assert errors(found) == ["PT224"]


def test_a_shape_without_the_batch_size_is_left_alone() -> None:
    found = result("out = out * torch.ones(shape)", first="batch_size = 8\nshape = (6,)")
    assert not errors(found)
