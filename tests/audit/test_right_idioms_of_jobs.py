"""What is right in how jobs start, meet and decide, each beside the bug that it resembles."""

from __future__ import annotations

import pytest

from transpile.auditing import audit

HEAD = """\
import argparse
import os
import uuid

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from ogb.graphproppred import PygGraphPropPredDataset
from ogb.graphproppred.mol_encoder import AtomEncoder
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, IterableDataset, TensorDataset
from torch.utils.data.distributed import DistributedSampler
from torch.utils.tensorboard import SummaryWriter

parser = argparse.ArgumentParser()
parser.add_argument("--distributed", action="store_true")
parser.add_argument("--size", type=int)
args = parser.parse_args()
data = TensorDataset(torch.randn(64, 4), torch.randn(64, 1))
"""
JOIN = """\
dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
rank, size = dist.get_rank(), dist.get_world_size()
model = torch.nn.Linear(4, 1).cuda()
wrap = DDP(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
sampler = DistributedSampler(data)
loader = DataLoader(data, batch_size=8, sampler=sampler)
writer = SummaryWriter() if rank == 0 else None
"""
FIT = """\
for epoch in range(3):
    sampler.set_epoch(epoch)
    for x, y in loader:
        optimizer.zero_grad()
        ((wrap(x.cuda()) - y.cuda()) ** 2).mean().backward()
        optimizer.step()
"""


def codes(text: str) -> set[str]:
    found = audit(HEAD + text)
    return {one.code for one in found if one.level.name in ("WARNING", "ERROR")}


def test_what_joins_the_processes_elsewhere_may_select_the_gpu() -> None:
    unread = (
        "from launcher_that_is_not_here import launch\n\n"
        "def main():\n    model = DDP(torch.nn.Linear(4, 1).to('cuda'))\n\n{start}\n"
    )
    assert codes(unread.format(start="launch(main, 2)")) == set()
    joined = "dist.init_process_group('nccl')\nmain()"
    assert codes(unread.format(start=joined)) == {"AU502"}


def test_processes_that_something_unread_joins_have_their_ranks() -> None:
    ranks = (
        "from launcher_that_is_not_here import launch\n\n"
        "def get_rank():\n    return dist.get_rank() if dist.is_initialized() else 0\n\n"
        "def main():\n    model = DDP(torch.nn.Linear(4, 1).cuda())\n"
        "    if {test}:\n        torch.save(model.module.state_dict(), 'model.pt')\n\n"
        "launch(main, 2)\n"
    )
    assert codes(ranks.format(test="get_rank() == 0")) == set()
    assert codes(ranks.format(test="get_rank() >= 0")) == {"AU401"}


@pytest.mark.parametrize(
    ("other", "expected"), [("args.distributed", set()), ("args.size > 1", {"AU101"})]
)
def test_the_open_part_of_a_condition_pairs_barriers(other: str, expected: set[str]) -> None:
    in_turn = (
        "if rank > 0 and args.distributed:\n    dist.barrier()\n"
        "state = torch.load('m.pt', map_location='cpu')\n"
        f"if rank == 0 and {other}:\n    dist.barrier()\n"
    )
    assert codes(JOIN + in_turn) == expected


@pytest.mark.parametrize(
    ("behind", "expected"),
    [
        ("for one in model.parameters():\n    dist.broadcast(one.data, 0)\n", set()),
        ("for one in loader:\n    dist.broadcast(one[0], 0)\n", {"AU103"}),
    ],
)
def test_weights_that_are_broadcast_behind_are_loaded_once(behind: str, expected: set[str]) -> None:
    load = "if rank == 0:\n    model.load_state_dict(torch.load('m.pt', map_location='cpu'))\n"
    assert codes(JOIN + load + behind) == expected


@pytest.mark.parametrize(
    ("reduced", "expected"), [("dist.all_reduce(found)", set()), ("found = found * 1", {"AU601"})]
)
def test_the_function_of_autograd_that_reduces_is_followed(
    reduced: str, expected: set[str]
) -> None:
    evaluated = (
        "class Mean(torch.autograd.Function):\n"
        "    @staticmethod\n"
        "    def forward(ctx, found):\n"
        f"        {reduced}\n"
        "        return found / dist.get_world_size()\n\n"
        "    @staticmethod\n"
        "    def backward(ctx, grads):\n        return grads\n\n"
        "held_out = DataLoader(data, sampler=DistributedSampler(data, shuffle=False))\n"
        "total = torch.zeros(1).cuda()\n"
        "with torch.no_grad():\n"
        "    for x, y in held_out:\n"
        "        total += ((model(x.cuda()) - y.cuda()) ** 2).mean()\n"
        "mean = Mean.apply(total / len(held_out))\n"
        "if rank == 0:\n    print(mean)\n"
    )
    assert codes(JOIN + FIT + evaluated) == expected


@pytest.mark.parametrize(("method", "expected"), [("add_image", set()), ("add_scalar", {"AU601"})])
def test_a_picture_is_no_result(method: str, expected: set[str]) -> None:
    shown = (
        "held_out = DataLoader(data, sampler=DistributedSampler(data, shuffle=False))\n"
        "with torch.no_grad():\n"
        "    for x, y in held_out:\n"
        "        if rank == 0:\n"
        f"            writer.{method}('test', model(x.cuda()), 0)\n"
    )
    assert codes(JOIN + FIT + shown) == expected


@pytest.mark.parametrize(
    ("name", "expected"), [("f'part-{uuid.uuid4().hex}'", set()), ("'part'", {"AU401"})]
)
def test_a_name_that_no_other_process_has(name: str, expected: set[str]) -> None:
    copied = f"import shutil\nshutil.copyfile('settings.yaml', {name})\n"
    assert codes(JOIN + copied) == expected
    assert codes(JOIN + f"with open({name}, 'w') as file:\n    file.write('a')\n") == expected


@pytest.mark.parametrize(
    ("first", "expected"),
    [("PygGraphPropPredDataset('ogbg-molhiv', root='data')", set()), ("print(1)", {"AU404"})],
)
def test_what_was_fetched_before_the_processes_start(first: str, expected: set[str]) -> None:
    spawned = (
        "def run(rank, size):\n"
        "    dist.init_process_group('nccl', rank=rank, world_size=size)\n"
        "    torch.cuda.set_device(rank)\n"
        "    graphs = PygGraphPropPredDataset('ogbg-molhiv', root='data')\n"
        "    model = DDP(AtomEncoder(8).cuda())\n\n"
        f"if __name__ == '__main__':\n    {first}\n    mp.spawn(run, args=(2,), nprocs=2)\n"
    )
    assert codes(spawned) == expected


def test_encoders_of_a_package_with_data_sets_fetch_nothing() -> None:
    assert codes(JOIN + "encoder = AtomEncoder(8)\n") == set()
    assert codes(JOIN + "graphs = PygGraphPropPredDataset('ogbg-molhiv')\n") == {"AU404"}


@pytest.mark.parametrize(("arm", "expected"), [("else", set()), ("if args.size", {"AU407"})])
def test_what_asks_for_the_joining_holds_in_a_job(arm: str, expected: set[str]) -> None:
    joined = (
        "if args.distributed:\n"
        "    dist.init_process_group('nccl')\n"
        "    torch.cuda.set_device(int(os.environ['LOCAL_RANK']))\n"
        "model = torch.nn.Linear(4, 1).cuda()\n"
        "if args.distributed:\n    model = DDP(model)\n"
        f"{arm}:\n    model.load_state_dict(torch.load('model.pt'))\n"
    )
    assert codes(joined) == expected


@pytest.mark.parametrize(
    ("leave", "expected"),
    [("return", {"loss.item() > 20"}), ("continue", {"while step < 100"})],
)
def test_who_counts_on_has_not_returned(leave: str, expected: set[str]) -> None:
    counted = (
        "def fit():\n"
        "    step = 0\n"
        "    while step < 100:\n"
        "        for x, y in loader:\n"
        "            loss = ((wrap(x.cuda()) - y.cuda()) ** 2).mean()\n"
        "            loss.backward()\n"
        "            optimizer.step()\n"
        "            if loss.item() > 20:\n"
        f"                {leave}\n"
        "            step += 1\n\n"
        "fit()\n"
    )
    assert codes_at(JOIN + counted) == expected


def test_a_name_that_is_bound_anew_has_no_other_past() -> None:
    anew = (
        "for number, (x, y) in enumerate(loader):\n"
        "    if x.sum() > 20:\n"
        "        continue\n"
        "    tests = {value}\n"
        "    if tests:\n"
        "        dist.barrier()\n"
    )
    assert codes_at(JOIN + anew.format(value="(number + 1) % 10 == 0")) == {"x.sum() > 20"}
    assert "tests" in codes_at(JOIN + anew.format(value="y.sum() > 3"))


def codes_at(text: str) -> set[str]:
    """The conditions of which is said that processes part there."""
    lines = (HEAD + text).splitlines()
    found = [one for one in audit(HEAD + text) if one.code == "AU106"]
    return {lines[one.line - 1].strip().removeprefix("if ").rstrip(":") for one in found}


@pytest.mark.parametrize(
    ("test", "expected"), [("'valid' not in batch", set()), ("not batch['valid']", {"AU106"})]
)
def test_all_batches_have_the_same_keys(test: str, expected: set[str]) -> None:
    loop = (
        "for batch in loader:\n"
        f"    if {test}:\n        continue\n"
        "    optimizer.zero_grad()\n"
        "    wrap(batch['x'].cuda()).mean().backward()\n"
        "    optimizer.step()\n"
    )
    assert codes(JOIN + loop) - {"AU202"} == expected


@pytest.mark.parametrize(
    ("own", "expected"),
    [("slice(rank * 4, rank * 4 + 4)", set()), ("slice(0, 4)", {"AU106", "AU201"})],
)
def test_each_process_may_take_its_part_of_a_batch(own: str, expected: set[str]) -> None:
    loop = (
        "whole = DataLoader(data, batch_size=8)\n"
        f"own = {own}\n"
        "for x, y in whole:\n"
        "    if y.sum() > 3:\n        continue\n"
        "    optimizer.zero_grad()\n"
        "    ((wrap(x[own].cuda()) - y[own].cuda()) ** 2).mean().backward()\n"
        "    optimizer.step()\n"
    )
    assert codes(JOIN + loop) == expected


@pytest.mark.parametrize(("seed", "expected"), [("dist.get_rank()", set()), ("0", {"AU201"})])
def test_a_data_set_may_ask_for_its_process(seed: str, expected: set[str]) -> None:
    loop = (
        "class Drawn(IterableDataset):\n"
        "    def __iter__(self):\n"
        f"        random = torch.Generator().manual_seed({seed})\n"
        "        while True:\n            yield torch.rand(4, generator=random)\n\n"
        "for x in DataLoader(Drawn(), batch_size=8):\n"
        "    optimizer.zero_grad()\n"
        "    wrap(x.cuda()).mean().backward()\n"
        "    optimizer.step()\n"
    )
    assert codes(JOIN + loop) == expected


@pytest.mark.parametrize(
    ("count", "expected"), [("args.size * size", set()), ("args.size", {"AU109"})]
)
def test_as_many_pieces_as_a_multiple_of_the_processes(count: str, expected: set[str]) -> None:
    loop = (
        f"for piece in torch.randn(64, 4).chunk({count})[rank::size]:\n"
        "    dist.broadcast(piece.cuda(), src=0)\n"
    )
    assert codes(JOIN + loop) == expected


@pytest.mark.parametrize(
    ("reader", "expected"),
    [("key.replace('module.', '')", set()), ("key.replace('encoder.', '')", {"AU406"})],
)
def test_keys_may_lose_their_word_where_they_are_read(reader: str, expected: set[str]) -> None:
    saved = (
        "def read(path):\n"
        "    state = torch.load(path, map_location='cpu')\n"
        f"    return {{{reader}: value for key, value in state.items()}}\n\n"
        "if rank == 0:\n    torch.save(wrap.state_dict(), 'model.pt')\n"
    )
    assert codes(JOIN + saved) == expected


@pytest.mark.parametrize(
    ("divided", "expected"),
    [("value /= dist.get_world_size()", set()), ("value = value.detach()", {"AU603"})],
)
def test_a_running_mean_of_losses_that_are_summed(divided: str, expected: set[str]) -> None:
    trained = (
        "def reduced(value):\n"
        "    dist.all_reduce(value)\n"
        f"    {divided}\n"
        "    return value\n\n"
        "criterion = torch.nn.MSELoss()\n"
        "held = DataLoader(data, batch_size=8, sampler=sampler, collate_fn=lambda b: b[0])\n"
        "mean = torch.zeros(1).cuda()\n"
        "for epoch in range(3):\n"
        "    sampler.set_epoch(epoch)\n"
        "    for step, (x, y) in enumerate(held):\n"
        "        optimizer.zero_grad()\n"
        "        loss = criterion(wrap(x.cuda()), y.cuda())\n"
        "        loss.backward()\n"
        "        mean = (mean * step + reduced(loss.data)) / (step + 1)\n"
        "        optimizer.step()\n"
        "    if rank == 0:\n"
        "        writer.add_scalar('loss', mean.item(), epoch)\n"
    )
    assert codes(JOIN + trained) == expected


@pytest.mark.parametrize(("device", "expected"), [("'cuda', number", set()), ("'cuda'", {"AU502"})])
def test_models_move_to_a_device_of_their_process(device: str, expected: set[str]) -> None:
    spawned = (
        "def run(number, size):\n"
        "    dist.init_process_group('nccl', rank=number, world_size=size)\n"
        f"    device = torch.device({device})\n"
        "    model = DDP(torch.nn.Linear(4, 1).to(device))\n"
        "    loader = DataLoader(data, sampler=DistributedSampler(data))\n"
        "    place = next(model.parameters()).device\n"
        "    for x, y in loader:\n"
        "        model(x.to(place)).mean().backward()\n\n"
        "if __name__ == '__main__':\n    mp.spawn(run, args=(2,), nprocs=2)\n"
    )
    assert codes(spawned) == expected


@pytest.mark.parametrize(
    ("made", "expected"),
    [("datasets.Shards", set()), ("torchvision.datasets.ImageFolder", {"AU201"})],
)
def test_what_changes_samples_does_not_share_them_out(made: str, expected: set[str]) -> None:
    loop = (
        "import datasets\nimport torchvision\n"
        "whole = torchvision.transforms.Compose([torchvision.transforms.ToTensor()])\n"
        f"pictures = {made}('train', transform=whole)\n"
        "for x, y in DataLoader(pictures, batch_size=8, shuffle=True):\n"
        "    optimizer.zero_grad()\n"
        "    ((wrap(x.cuda()) - y.cuda()) ** 2).mean().backward()\n"
        "    optimizer.step()\n"
    )
    assert codes(JOIN + loop) == expected
