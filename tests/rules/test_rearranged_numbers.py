"""Numbers of training batches that reach what is shown by a way that moves them around."""

from __future__ import annotations

import pytest
from data_way import convert

from transpile import Outcome

SCRIPT = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loader = DataLoader(TensorDataset(torch.randn(36, 3), torch.randn(36, 1)), batch_size=6)
for epoch in range(2):
    losses, rows = [], []
    for x, y in loader:
        out = model(x)
        loss = nn.functional.mse_loss(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        rows.append((loss.item(), (out - y).abs().mean().item()))
    {shown}
"""


@pytest.mark.parametrize(
    ("shown", "reduced"),
    [
        ("print(*losses)", ["loss"]),
        ("l, e = zip(*rows); print(sum(l) / len(l), max(e))", ["loss", "error"]),
        ("l, e = map(lambda v: sum(v) / len(v), zip(*rows)); print(l, e)", ["loss", "error"]),
        ("columns = list(zip(*rows)); print(columns[1][-1])", ["error"]),
        ("print(list(map(lambda a, b: a, *rows)))", ["loss", "error"]),
        ("print(dict(zip(('l', 'e'), rows[-1])))", ["loss", "error"]),
        ("print(dict(enumerate(losses)))", ["loss"]),
        ("table = {}; table.update([('l', losses[-1])]); print(table)", ["loss"]),
        (
            "t = dict.fromkeys(('l', 'e'), 0.0); t['l'] += losses[-1]; "
            "print(*(v for k, v in t.items()))",
            ["loss"],
        ),
        ("t = dict.fromkeys(range(2), 0.0); t[epoch] += losses[-1]; print(*t.values())", ["loss"]),
        (
            "match losses[-1]:\n        case v if v > 1:\n            print('high')\n"
            "        case v:\n            print('low', v)",
            ["loss"],
        ),
        (
            "match losses[-1]:\n        case float() as v if v > 1:\n            print('high')",
            ["loss"],
        ),
    ],
)
def test_numbers_are_followed_wherever_they_are_put(shown: str, reduced: list[str]) -> None:
    """What they were taken for was nothing at all, and they stayed those of one process."""
    found = convert(SCRIPT.replace("{shown}", shown))
    assert found.outcome is Outcome.CONVERTED
    error = "(out - y).abs().mean()"
    marks = {
        "loss": (
            "reduce_mean(loss)",
            f"reduce_means(loss, {error})",
            "losses[:] = average_numbers(*losses)",
        ),
        "error": (f"reduce_mean({error})", f"reduce_means(loss, {error})"),
    }
    assert found.text is not None
    for name in reduced:
        assert any(mark in found.text for mark in marks[name])


OUTPUT = """\
from dataclasses import dataclass

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class Output:
    loss: torch.Tensor
    logits: torch.Tensor


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(3, 2)

    def forward(self, x, y):
        logits = self.head(x)
        return Output(loss={loss}, logits=logits)


model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loader = DataLoader(TensorDataset(torch.randn(36, 3), torch.arange(36) % 2), batch_size=6)
for epoch in range(2):
    for x, y in loader:
        outputs = model(x, y)
        optimizer.zero_grad()
        outputs.loss.backward()
        optimizer.step()
        print(outputs.loss.item())
"""


def test_losses_are_followed_into_the_objects_that_models_return() -> None:
    """A loss in an object was taken for none, whose average is right whatever it is."""
    found = convert(OUTPUT.replace("{loss}", "nn.functional.cross_entropy(logits, y)"))
    assert found.text is not None
    assert "loss_mean = reduce_mean(outputs.loss)\n" in found.text


def test_sums_in_the_objects_that_models_return_are_scaled() -> None:
    call = 'nn.functional.cross_entropy(logits, y, reduction="sum")'
    found = convert(OUTPUT.replace("{loss}", call))
    assert found.text is not None
    assert "(outputs.loss * get_world_size()).backward()" in found.text
