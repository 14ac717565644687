"""The stand-in for GPUs: default devices, generators, threads, streams and lists of tensors."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from on_gpus import ran, said

from transpile import convert
from transpile.verify.launcher import Launcher


@pytest.fixture(scope="module")
def launcher() -> Iterator[Launcher]:
    with Launcher(pretend_cuda=2) as running:
        yield running


DEFAULT_DEVICE = """\
torch.set_default_device("cuda:1")
made = [
    torch.tensor([1.0]), torch.arange(3), torch.nn.Linear(2, 2).weight, torch.empty(2).uniform_(),
    torch.hann_window(4), torch.zeros_like(torch.ones(2)), torch.nn.BatchNorm1d(3).running_mean,
]
assert {str(one.device) for one in made} == {"cuda:1"}
assert torch.zeros(2, device="cpu").device.type == "cpu"
with torch.device("cpu"):
    assert torch.randn(2).device.type == "cpu"
with torch.device("cuda:0"):
    assert str(torch.nn.Linear(1, 1).weight.device) == "cuda:0"
torch.manual_seed(0)
first = torch.randn(3)
torch.manual_seed(0)
torch.rand(3, device="cpu")
assert (first == torch.randn(3, device="cuda:1")).all()
"""
OLD_DEFAULT = """\
torch.set_default_tensor_type("torch.cuda.DoubleTensor")
assert torch.nn.Linear(2, 2).weight.is_cuda and torch.ones(1).dtype == torch.float64
torch.set_default_tensor_type(torch.FloatTensor)
assert not torch.ones(1).is_cuda and torch.ones(1).dtype == torch.float32
"""
GENERATORS = """\
generator = torch.Generator(device="cuda").manual_seed(3)
assert str(generator.device) == "cuda" and isinstance(torch.default_generator, torch.Generator)
first = torch.randn(4, device="cuda", generator=generator)
state = generator.get_state()
torch.randn(4, device="cuda")
second = torch.empty(4, device="cuda").normal_(generator=generator)
generator.set_state(state)
assert (second == torch.randn(4, device="cuda", generator=generator)).all()
assert not (first == second).all()
"""
STREAMS = """\
stream = torch.cuda.Stream()
with torch.cuda.stream(stream):
    x = torch.ones(2).cuda(non_blocking=True)
torch.cuda.current_stream().wait_stream(stream)
x.record_stream(torch.cuda.current_stream())
"""
PROFILED = """\
torch.cuda.nvtx.range_push("epoch")
with torch.cuda.nvtx.range("step"):
    x = torch.zeros(2, pin_memory=True).cuda(non_blocking=True)
torch.cuda.nvtx.range_pop()
"""
LISTS = """\
model = torch.nn.Sequential(torch.nn.Linear(2, 2).to(0), torch.nn.Linear(2, 1).to(1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.1, foreach=True)
model[1](model[0](torch.ones(3, 2, device=0)).to(1)).sum().backward()
torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
optimizer.step()
assert {str(parameter.device) for parameter in model.parameters()} == {"cuda:0", "cuda:1"}
"""


@pytest.mark.parametrize(
    "text", [DEFAULT_DEVICE, OLD_DEFAULT, GENERATORS, STREAMS, PROFILED, LISTS]
)
def test_what_is_right_passes(launcher: Launcher, tmp_path: Path, text: str) -> None:
    run = ran(launcher, tmp_path, f"import torch\n{text}", world_size=0)
    assert run.finished, said(run)


WRONG = {
    "a generator of the CPU for a GPU": (
        "torch.randperm(4, device='cuda', generator=torch.Generator())",
        "Expected a 'cuda' device type for generator but found 'cpu'",
    ),
    "an order of the CPU's generator where all is made on a GPU": (
        "torch.set_default_device('cuda')\ntorch.randperm(4, generator=torch.Generator())",
        "Expected a 'cuda' device type for generator but found 'cpu'",
    ),
    "a generator of a GPU for the CPU": (
        "torch.randperm(4, generator=torch.Generator('cuda'))",
        "Expected a 'cpu' device type for generator but found 'cuda'",
    ),
    "a generator of another GPU": (
        "torch.rand(4, device='cuda:1', generator=torch.Generator('cuda:0'))",
        "Expected a 'cuda:1' generator device but found 'cuda:0'",
    ),
    "a sum over two devices in a list": (
        "torch._foreach_add([torch.ones(2, device='cuda')], [torch.ones(2)])",
        "found at least two devices",
    ),
    "a thread that has the first GPU while the process has the second": (
        "import threading\n"
        "torch.cuda.set_device(1)\n"
        "x, found = torch.ones(2, device='cuda'), []\n"
        "thread = threading.Thread(target=lambda: found.append(torch.ones(2, device='cuda')))\n"
        "thread.start()\nthread.join()\nx + found[0]",
        "found at least two devices",
    ),
    "a thread that mixes devices": (
        "from concurrent.futures import ThreadPoolExecutor\n"
        "with ThreadPoolExecutor() as threads:\n"
        "    threads.submit(lambda: torch.ones(2, device='cuda') + torch.ones(2)).result()",
        "found at least two devices",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_refused(launcher: Launcher, tmp_path: Path, name: str) -> None:
    text, message = WRONG[name]
    run = ran(launcher, tmp_path, f"import torch\n{text}\n", world_size=0)
    assert not run.finished
    assert message in said(run)


SHUFFLED = """\
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.set_default_device("cuda:0")
torch.manual_seed(0)
data = TensorDataset(torch.randn(32, 2), torch.randn(32, 1))
loader = DataLoader(data, batch_size=8, shuffle=True, generator=torch.Generator("cuda"))
model = nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    for x, y in loader:
        assert x.device == model.weight.device if hasattr(model, "weight") else x.is_cuda
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(loss.item())
"""


def test_outputs_shuffle_where_all_is_made_on_a_gpu(launcher: Launcher, tmp_path: Path) -> None:
    text = convert(SHUFFLED.encode(), path="train.py").text
    run = ran(launcher, tmp_path, text)
    assert run.finished, said(run)
    assert convert(text.encode(), path="train.py").text == text


def test_orders_of_other_scripts_are_drawn_by_the_plain_sampler() -> None:
    text = convert(SHUFFLED.replace('"cuda:0"', '"cpu"').encode(), path="train.py").text
    assert " = DistributedSampler(" in text
    assert "SamplerOnCpu" not in text


COMPARED = """\
import argparse
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--device", default="cuda")
args = parser.parse_args()
device = torch.device(args.device)
model = nn.Linear(2, 1).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for (x,) in DataLoader(TensorDataset(torch.ones(32, 2)), batch_size=8):
    optimizer.zero_grad()
    model(x.to(device)).mean().backward()
    optimizer.step()
assert device == torch.device("cuda") and str(device) == "cuda" and device.index is None
assert model.weight.device.index == torch.cuda.current_device()
"""


def test_devices_without_a_number_compare_as_before(launcher: Launcher, tmp_path: Path) -> None:
    text = convert(COMPARED.encode(), path="train.py").text
    assert "own_device(torch.device(args.device))" in text
    run = ran(launcher, tmp_path, text)
    assert run.finished, said(run)
