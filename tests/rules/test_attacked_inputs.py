"""Gradients of the inputs: nothing to average, but their size follows the share of the batch."""

from __future__ import annotations

import pytest
from data_way import convert

from transpile import Outcome, Result

SCRIPT = """\
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
criterion = nn.CrossEntropyLoss()
data = TensorDataset(torch.randn(32, 4), torch.randint(0, 2, (32,)))
for x, y in DataLoader(data, batch_size=8):
    x.requires_grad_()
    {attack}
    optimizer.zero_grad()
    criterion(model(moved), y).backward()
    optimizer.step()
"""
BY_FUNCTION = "step = torch.autograd.grad(criterion(model(x), y), [x])[0]"
BY_BACKWARD = "criterion(model(x), y).backward(); step = x.grad"


def attacked(attack: str, move: str) -> Result:
    """The result for a script that moves its inputs by their gradients."""
    return convert(SCRIPT.format(attack=f"{attack}; moved = {move}").encode())


def codes(result: Result) -> list[str]:
    """The codes of all findings."""
    return [finding.code for finding in result.findings]


@pytest.mark.parametrize("attack", [BY_FUNCTION, BY_BACKWARD])
def test_their_signs_are_the_same_on_every_share(attack: str) -> None:
    result = attacked(attack, "(x + 0.1 * step.sign()).detach()")
    assert result.outcome is Outcome.CONVERTED
    assert "PT403" not in codes(result)


@pytest.mark.parametrize("attack", [BY_FUNCTION, BY_BACKWARD])
def test_their_size_is_not(attack: str) -> None:
    assert "PT403" in codes(attacked(attack, "(x + 0.1 * step).detach()"))


@pytest.mark.parametrize(
    "inputs", ["list(model.parameters())", "[model.weight]", "[p for p in model.parameters()]"]
)
def test_those_of_parameters_are_refused(inputs: str) -> None:
    attack = f"steps = torch.autograd.grad(criterion(model(x), y), {inputs})"
    result = attacked(attack, "x")
    assert result.outcome is Outcome.REFUSED
    assert "PT304" in codes(result)


def test_tensors_made_by_hand_may_be_parameters() -> None:
    made = "made = torch.zeros(4, 2, requires_grad=True)"
    result = attacked(f"{made}; steps = torch.autograd.grad(criterion(x @ made, y), [made])", "x")
    assert "PT304" in codes(result)


SEARCH = """\
def attack(x, y):
    moved = torch.zeros_like(x, requires_grad=True)
    (step,) = torch.autograd.grad(criterion(model(x + moved), y), moved)
    return x + 0.1 * step.sign()


print(model(attack({given})).argmax(1))
"""


@pytest.mark.parametrize(
    ("given", "refused"),
    [
        ("*data.tensors", False),
        ("torch.ones(8, 4), torch.ones(8).long()", False),
        ("*next(iter(DataLoader(data, batch_size=8)))", False),
    ],
)
def test_inputs_that_all_processes_have_alike_are_no_parameters(given: str, refused: bool) -> None:
    text = SCRIPT.format(attack="moved = x") + SEARCH.format(given=given)
    assert ("PT304" in codes(convert(text.encode()))) == refused


def test_a_tensor_that_batches_train_by_hand_is_refused() -> None:
    made = "moved = torch.zeros(1, 4, requires_grad=True)"
    attack = f"{made}; step = torch.autograd.grad(criterion(model(x + moved), y), moved)[0]"
    assert "PT304" in codes(attacked(f"{attack}; print((moved - 0.1 * step).norm())", "x"))


@pytest.mark.parametrize(
    "given",
    ["provider.images(), torch.ones(8).long()", "torch.randn(8, 4), torch.ones(8).long()"],
)
def test_one_tensor_for_inputs_that_may_differ_is_refused(given: str) -> None:
    search = SEARCH.replace("torch.zeros_like(x,", "torch.zeros(1, 4,")
    call = search.format(given=given).replace("print(", "for _ in range(2):\n    print(")
    text = "import provider\n" + SCRIPT.format(attack="moved = x") + call
    assert "PT304" in codes(convert(text.encode()))
