"""A script that cannot be converted is told why in its own terms, and nothing beside that."""

from __future__ import annotations

import pytest
from data_way import convert

from transpile import Options, Outcome
from transpile import convert as automatic

HEAD = """\
import torch
from torch import nn
{top}
model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
xs, ys = torch.randn(64, 3), torch.randn(64, 1)


def step(x, y):
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


{body}
"""
MAKES_UP = """\
for _ in range(9):
    x = torch.randn(4, 3, generator=torch.Generator())
    step(x, x.sum(1, keepdim=True))
"""
OVERLAPS = "for i in range(0, 64, 4):\n    step(xs[i:i + 8], ys[i:i + 8])"
CUTS_LATER = "for i in range(0, 64, 8):\n    step(xs.t()[:, i:i + 8].t(), ys[i:i + 8])"
PICKS_ONE = "for i in torch.randperm(64):\n    step(xs[i], ys[i])"
GENERATES = """\
def batches():
    for i in range(8):
        yield xs[i::8], ys[i::8]


for x, y in batches():
    step(x, y)"""
ITERATES = "for x, y in iter(queue.Queue().get, None):\n    step(x, y)"
ACTS = """\
env = gymnasium.make("CartPole-v1")
state, _ = env.reset()
for _ in range(9):
    state, reward, *_ = env.step(0)
    step(torch.tensor(state[:3]), torch.tensor([reward]))"""
FILLS = """\
buffer = torch.empty(8, 3)
for x, y in DataLoader(list(zip(xs, ys)), batch_size=8):
    buffer[:4].copy_(x[:4])
    step(buffer, 1)"""
UNBOUND = "for x, _ in mnist_loader:\n    step(x, torch.randn(len(x), 1))"
WHOLE = "chosen = torch.randperm(64)[:8]\nfor _ in range(9):\n    step(xs[chosen], ys[chosen])"


def reasons(body: str, top: str = "") -> list[str]:
    """The findings of a script that is refused, without their places."""
    result = convert(HEAD.format(top=top, body=body), Options(framework="pytorch"))
    assert result.outcome is Outcome.REFUSED
    return [f"{finding.code} {finding.message}" for finding in result.findings]


@pytest.mark.parametrize(
    ("body", "top", "said"),
    [
        (MAKES_UP, "", "makes up its batches by random numbers"),
        (OVERLAPS, "", "the first dimension may count time"),
        (CUTS_LATER, "", "a batch is cut along a later dimension"),
        (PICKS_ONE, "", "may be a single sample"),
        (GENERATES, "", "made by the generator 'batches'"),
        (ITERATES, "import queue", "come from queue.Queue, which is no DataLoader"),
        (ACTS, "import gymnasium", "acting in an environment (gymnasium.make)"),
        (FILLS, "from torch.utils.data import DataLoader", "copied into a tensor"),
        (UNBOUND, "", "'mnist_loader' is not bound anywhere in the script"),
        (WHOLE, "", "no DataLoader can be seen behind this backward pass"),
    ],
)
def test_source_of_batches_is_named(body: str, top: str, said: str) -> None:
    found = reasons(body, top)
    assert len(found) == 1
    assert found[0].startswith("PT203 ")
    assert said in found[0]


def test_several_stand_in_the_way_where_one_loop_has_a_loader() -> None:
    loader = "for x, y in DataLoader(list(zip(xs, ys)), batch_size=8):\n    step(x, y)\n"
    loader += "other = nn.functional.mse_loss(model(xs[:8]), ys[:8])\nother.backward()\n"
    loader += "optimizer.step()\nopen('log.txt', mode).write('x')"
    found = reasons(loader, "from torch.utils.data import DataLoader\nfrom modes import mode")
    assert any(line.startswith("PT203 ") for line in found)
    assert len(found) > 1


OWN = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
{top}

def train(model):
    loader = DataLoader(TensorDataset(torch.randn(64, 3), torch.randn(64, 1)), batch_size=8)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in loader:
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()


if __name__ == "__main__":
    model = nn.Linear(3, 1)
    {start}
"""


@pytest.mark.parametrize(
    ("top", "start", "name"),
    [
        (
            "import torch.multiprocessing as mp",
            "mp.Process(target=train, args=(model,)).start()",
            "torch.multiprocessing.Process",
        ),
        (
            "import multiprocessing",
            "multiprocessing.get_context('spawn').Process(target=train, args=(model,)).start()",
            "multiprocessing.get_context().Process",
        ),
        (
            "from concurrent.futures import ThreadPoolExecutor",
            "ThreadPoolExecutor(2).submit(train, model)",
            "concurrent.futures.ThreadPoolExecutor().submit",
        ),
        (
            "from threading import Thread",
            "Thread(target=train, args=(model,)).start()",
            "threading.Thread",
        ),
    ],
)
def test_training_in_processes_of_its_own(top: str, start: str, name: str) -> None:
    result = convert(OWN.format(top=top, start=start))
    assert result.outcome is Outcome.REFUSED
    assert [finding.code for finding in result.findings] == ["PT104"]
    assert f"({name})" in result.findings[0].message


def test_training_in_this_process_is_no_matter_of_theirs() -> None:
    elsewhere = "mp.Process(target=print, args=(1,)).start()\n    train(model)"
    result = convert(OWN.format(top="import torch.multiprocessing as mp", start=elsewhere))
    assert result.outcome is Outcome.CONVERTED


def test_layers_that_train_themselves() -> None:
    source = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Layer(nn.Linear):
    def __init__(self, n, m):
        super().__init__(n, m)
        self.optimizer = torch.optim.SGD(self.parameters(), lr=0.1)

    def learn(self, x):
        self.optimizer.zero_grad()
        self.forward(x).pow(2).mean().backward()
        self.optimizer.step()
        return self.forward(x).detach()


class Net(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.layers = []
        for n, m in zip(sizes, sizes[1:]):
            self.layers = self.layers + [Layer(n, m).to("cpu")]

    def learn(self, x):
        for layer in self.layers:
            x = layer.learn(x)


net = Net([3, 4, 5])
for x, in DataLoader(TensorDataset(torch.randn(64, 3)), batch_size=8):
    net.learn(x)
"""
    assert "        average_gradients(self.optimizer)\n" in convert(source).text
    # Weights of each process's own could not be averaged into the same training everywhere.
    late = source.replace("net = Net", "for x, in []:\n    pass\n\nnet = Net").replace(
        "    net.learn(x)", "    Net([3, 4, 5]).learn(x)"
    )
    result = convert(late)
    assert result.outcome is Outcome.REFUSED
    (finding,) = [each for each in result.findings if each.code in ("PT302", "PT308")]
    assert "trains itself" in finding.message
    assert "in a method of 'Layer'" in finding.message
    assert "random numbers of its own" in finding.message


def test_the_method_next_draws_a_batch() -> None:
    result = convert(
        OWN.format(top="", start="train(model)").replace(
            "for x, y in loader:",
            "batches = iter(loader)\n    for _ in range(8):\n" "        x, y = batches.next()",
        )
    )
    assert result.outcome is Outcome.CONVERTED
    assert "DistributedSampler(" in result.text


HOOKED = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

loader = DataLoader(TensorDataset(torch.randn(36, 5)), batch_size=12)
model, judge, kept = nn.Linear(5, 5), nn.Sequential(nn.Linear(5, 6), nn.Tanh()), []
{hooked}.register_forward_hook(lambda module, inputs, output: kept.append(output))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, in loader:
    kept.clear()
    judge(model(x)), judge(x)
    loss = {loss}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def test_what_hooks_keep_is_told_once_and_where_they_are() -> None:
    kept = HOOKED.format(hooked="judge[0]", loss="nn.functional.mse_loss(kept[0], kept[1])")
    (finding,) = [one for one in convert(kept).findings if one.code == "PT203"]
    assert "forward hook in line 7" in finding.message
    shown = HOOKED.format(hooked="model", loss="nn.functional.mse_loss(judge(model(x)), judge(x))")
    codes = [one.code for one in convert(shown).findings]
    assert "PT415" in codes and "PT414" not in codes


FAST_WEIGHTS = """\
import torch
from torch import nn
from torch.nn import functional as F

model = nn.Linear(1, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(20):
    x = torch.rand(8, 1)
    weights = list(model.parameters())
    inner = F.mse_loss(F.linear(x, *weights), x)
    gradients = torch.autograd.grad(inner, weights, create_graph=True)
    fast = [weight - 0.1 * gradient for weight, gradient in zip(weights, gradients)]
    loss = F.mse_loss(F.linear(torch.rand(8, 1), *fast), x)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def test_rows_that_meet_parameters_past_the_model_are_no_fixed_ones() -> None:
    found = automatic(FAST_WEIGHTS, path="train.py").findings
    assert not [one for one in found if "the same rows" in one.message]


LIBRARY_OF_BATCHES = """\
import torch
from torch import nn

from digits import read_data_sets

mnist = read_data_sets("data")
model = nn.Sequential(nn.Linear(784, 5), nn.Sigmoid(), nn.Linear(5, 784))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(20):
    {draw}
    loss = nn.functional.mse_loss(model(x), x)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    "draw",
    ["x, _ = mnist.train.next_batch(32)", "x = torch.from_numpy(mnist.train.next_batch(32)[0])"],
)
def test_a_part_of_a_librarys_object_draws_batches(draw: str) -> None:
    result = automatic(LIBRARY_OF_BATCHES.format(draw=draw), path="train.py")
    assert result.outcome is Outcome.CONVERTED
    assert not [one for one in result.findings if "the same rows" in one.message]
