"""Methods of models under other names, and backward passes that are told where to go."""

from __future__ import annotations

import pytest

from transpile import Options, convert

SCRIPT = """\
from functools import partial

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(4, 8), nn.Linear(8, 1)

    def forward(self, x):
        return self.fc2(torch.tanh(self.fc1(x)))

class Runs:
    pass

loader = DataLoader(TensorDataset(torch.randn(64, 4), torch.randn(64, 1)), batch_size=8)
model, runs = MODEL, Runs()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
BOUND
for x, y in loader:
    with torch.autograd.graph.saved_tensors_hooks(lambda t: PACKED, lambda t: t):
        loss = (CALLED(x) - y).pow(2).mean()
    optimizer.zero_grad()
    BACKWARD
    optimizer.step()
"""


def converted(
    bound: str = "",
    called: str = "model",
    backward: str = "loss.backward()",
    packed: str = "t",
    model: str = "Net()",
) -> tuple[str, list[str]]:
    """The output, and the codes of all findings."""
    text = SCRIPT.replace("BOUND", bound).replace("CALLED", called).replace("PACKED", packed)
    text = text.replace("BACKWARD", backward).replace("MODEL", model)
    found = convert(text, Options())
    return (found.data or b"").decode(), [one.code for one in found.findings]


@pytest.mark.parametrize("model", ["Net()", "nn.Sequential(nn.Linear(4, 1))"])
@pytest.mark.parametrize(
    ("bound", "called"),
    [
        ("run = model.forward", "run"),
        ("runs.now = model.forward", "runs.now"),
        ("run, other = model.forward, 1", "run"),
        ("run = partial(model.forward)", "run"),
    ],
)
def test_a_model_is_wrapped_before_its_method_is_taken(bound: str, called: str, model: str) -> None:
    """What is wrapped is the model, and not the method, which is the wrap's own then."""
    output, codes = converted(bound, called, model=model)
    assert not codes
    assert "    model = DistributedDataParallel(model" in output
    assert output.index("= DistributedDataParallel(") < output.index(bound)


def test_gradients_of_a_model_that_is_called_by_its_call_are_averaged() -> None:
    """The wrap has a call of its own, which the name taken before would not be."""
    output, codes = converted("run = model.__call__", "run")
    assert not codes
    assert "average_gradients(optimizer)" in output


@pytest.mark.parametrize(
    ("backward", "wrapped"),
    [
        ("loss.backward(inputs=list(model.fc2.parameters()))", False),
        ("torch.autograd.backward(loss, inputs=list(model.fc2.parameters()))", False),
        ("loss.backward(inputs=None)", True),
    ],
)
def test_a_wrap_waits_for_gradients_of_all_parameters(backward: str, wrapped: bool) -> None:
    """Where a backward pass is told which get gradients, those are averaged behind it."""
    output, codes = converted(backward=backward)
    assert not codes
    assert ("DistributedDataParallel(model" in output) is wrapped


@pytest.mark.parametrize(
    ("packed", "told"),
    [("t / t.abs().max()", True), ("t - t.mean()", True), ("t.cpu()", False), ("t * 0.5", False)],
)
def test_what_is_kept_for_the_backward_pass_may_be_of_the_whole_tensor(
    packed: str, told: bool
) -> None:
    """Each process has other samples in it."""
    assert ("PT409" in converted(packed=packed)[1]) is told
