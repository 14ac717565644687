"""Batches, samplers, losses and ways of training that scripts make by hand, each beside its bug."""

from __future__ import annotations

from pathlib import Path

import pytest

from transpile.auditing import audit

HEAD = """\
import argparse
import os

import numpy as np
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler
from torch_geometric.datasets import Reddit
from torch_geometric.loader import NeighborLoader

parser = argparse.ArgumentParser()
parser.add_argument("--batch", type=int)
parser.add_argument("--rounds", type=int)
args = parser.parse_args()
dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
rank, size = dist.get_rank(), dist.get_world_size()
plain = nn.Linear(4, 2).cuda()
model = DDP(plain)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
data = TensorDataset(torch.randn(64, 4), torch.randint(0, 2, (64,)))
"""
FIT = """\
sampler = DistributedSampler(data)
loader = DataLoader(data, batch_size=args.batch, sampler=sampler)
for epoch in range(3):
    sampler.set_epoch(epoch)
    for x, y in loader:
        optimizer.zero_grad()
        output, y = model(x.cuda()), y.cuda()
        {loss}
        loss.backward()
        optimizer.step()
"""


def codes(text: str, folder: Path | None = None) -> set[str]:
    return {one.code for one in audit(HEAD + text, folder=folder)}


@pytest.mark.parametrize(
    ("loss", "summed"),
    [
        ("loss = nn.functional.cross_entropy(output, y, reduction='sum')", True),
        ("loss = nn.functional.cross_entropy(output, y, reduction='sum') / args.rounds", True),
        ("loss = nn.functional.cross_entropy(output, y, reduction='sum') / args.batch", False),
        ("loss = nn.functional.cross_entropy(output, y, reduction='sum') / len(y)", False),
        ("loss = nn.functional.cross_entropy(output, y)", False),
        (
            "loss = nn.functional.cross_entropy(output, y) + 2 * (output - 1).abs().mean(1).sum()",
            True,
        ),
        (
            "loss = nn.functional.cross_entropy(output, y) + 2 * (output - 1).abs().mean(1).mean()",
            False,
        ),
    ],
)
@pytest.mark.parametrize("batch", ["x.cuda()", "batch['pixels'].cuda()"])
def test_sums_are_seen_where_they_are_written(loss: str, summed: bool, batch: str) -> None:
    script = FIT.replace("{loss}", loss).replace("model(x.cuda())", f"model({batch})")
    if "batch[" in batch:
        script = script.replace("for x, y in loader", "for batch in loader")
        script = script.replace("y.cuda()", "batch['label'].cuda()")
        script = script.replace("data, batch_size", "data, collate_fn=unknown.collate, batch_size")
        script = "import unknown\n" + script
    assert ("AU304" in codes(script)) is summed


MEAN = FIT.replace("{loss}", "loss = nn.functional.cross_entropy(output, y)")


@pytest.mark.parametrize("by_hand", ["p.grad", "p.data", "list(plain.parameters())[0].data"])
def test_losses_that_are_reduced_average_no_gradients(by_hand: str) -> None:
    unwrapped = MEAN.replace("model(x.cuda())", "plain(x.cuda())")
    reported = "        dist.all_reduce(loss.data)\n        print(loss.item() / size)\n"
    assert "AU302" in codes(unwrapped + reported)
    reduced = f"        for p in plain.parameters():\n            dist.all_reduce({by_hand})\n"
    assert "AU302" not in codes(unwrapped + reported + reduced)


GRAPH = """\
places = torch.arange(1000)
places = {share}
graph = Reddit("data")[0].to(rank, "x")
loader = NeighborLoader(graph, input_nodes=places, num_neighbors=[5])
for batch in loader:
    optimizer.zero_grad()
    model(batch.x.cuda()).mean().backward()
    optimizer.step()
    if rank == 0:
        print("seen")
"""


@pytest.mark.parametrize(
    ("share", "whole"),
    [
        ("places", True),
        ("places.split(1000 // size)[rank]", False),
        ("places[rank::size]", False),
    ],
)
def test_loaders_of_graphs_go_through_what_they_are_given(share: str, whole: bool) -> None:
    assert ("AU201" in codes(GRAPH.replace("{share}", share))) is whole


READ = """\
class Reader:
    def __init__(self, name):
        self.tokens = np.memmap(name, dtype=np.uint16)
        self.place = {start}

    def batch(self):
        found = torch.from_numpy(self.tokens[self.place : self.place + 64].astype(np.float32))
        self.place += 64 * size
        return found.view(16, 4).cuda()


reader = Reader("train.bin")
for step in range(100):
    optimizer.zero_grad()
    {rounds}loss = model(reader.batch()).mean()
    {rounds}loss.backward()
    optimizer.step()
    {report}
"""


def reads(start: str = "64 * rank", rounds: str = "", report: str = "pass") -> set[str]:
    script = READ.replace("{start}", start).replace("{report}", report)
    script = script.replace("    {rounds}loss = ", f"{rounds}loss = ").replace("    {rounds}", "{}")
    inside = "        " if "for" in rounds else "    "
    return codes(script.replace("{}", inside).replace(f"{rounds}loss = ", f"{rounds}loss = "))


def test_batches_that_are_read_at_the_same_place() -> None:
    assert "AU208" in reads(start="0", rounds="    ")
    assert "AU208" not in reads(start="64 * rank", rounds="    ")


def test_parts_that_are_cut_by_hand_are_parts() -> None:
    report = "if rank == 0: print(loss.item())"
    assert "AU602" in reads(rounds="    ", report=report)
    agreed = f"dist.all_reduce(loss, op=dist.ReduceOp.AVG)\n    {report}"
    assert "AU602" not in reads(rounds="    ", report=agreed)


def test_rounds_without_a_loader_average_each_time() -> None:
    rounds = "    for _ in range(4):\n        "
    assert "AU305" in reads(rounds=rounds)
    assert "AU305" not in reads(rounds="    ")


OWN = """\
class Buckets(DistributedSampler):
    def __init__(self, dataset, shuffle=True):
        super().__init__(dataset, shuffle=shuffle)

    def __iter__(self):
        generator = torch.Generator()
        generator.manual_seed({seed})
        order = torch.randperm(64, generator=generator).tolist()
        yield from ([i] for i in order[self.rank :: self.num_replicas])


batches = Buckets(data)
loader = DataLoader(data, batch_sampler=batches)
for epoch in range(3):
    {told}
    for x, y in loader:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x.cuda()), y.cuda()).backward()
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("seed", "told", "expected"),
    [
        ("self.epoch", "pass", True),
        ("self.epoch", "loader.batch_sampler.set_epoch(epoch)", False),
        ("self.epoch", "batches.set_epoch(epoch)", False),
        ("0", "pass", False),
    ],
)
def test_samplers_of_the_script_that_go_by_the_epoch(seed: str, told: str, expected: bool) -> None:
    script = OWN.replace("{seed}", seed).replace("{told}", told)
    assert ("AU202" in codes(script)) is expected


DRAWN = """\
def logged(batches):
    for number, batch in enumerate(batches):
        yield batch
        if rank == 0:
            print(number)


sampler = DistributedSampler(data)
loader = DataLoader(data, batch_size=8, sampler=sampler)
for epoch in range(3):
    {above}
    for x, y in logged(loader):
        {inside}
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x.cuda()), y.cuda()).backward()
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("above", "inside", "expected"),
    [
        ("pass", "pass", {"AU202"}),
        ("sampler.set_epoch(epoch)", "pass", set()),
        ("pass", "sampler.set_epoch(epoch)", {"AU207"}),
    ],
)
def test_epochs_of_batches_that_a_generator_draws(
    above: str, inside: str, expected: set[str]
) -> None:
    script = DRAWN.replace("{above}", above).replace("{inside}", inside)
    assert codes(script) & {"AU202", "AU207"} == expected


ARMS = """\
def fit(log):
    sampler = DistributedSampler(data)
    loader = DataLoader(data, batch_size=8, sampler=sampler)
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for x, y in loader:
            optimizer.zero_grad()
            nn.functional.cross_entropy({called}(x.cuda()), y.cuda()).backward()
            optimizer.step()


if rank == 0:
    fit(print)
else:
    fit({other})
"""


def test_processes_may_come_to_a_step_by_different_calls() -> None:
    script = ARMS.replace("{other}", "None")
    assert "AU302" in codes(script.replace("{called}", "plain"))
    assert "AU302" not in codes(script.replace("{called}", "model"))


def test_what_the_first_process_does_alone_is_not_done_by_all() -> None:
    alone = ARMS.replace("else:\n    fit({other})\n", "").replace("{called}", "plain")
    assert "AU302" not in codes(alone)


def test_tensors_that_are_made_on_a_gpu_that_nobody_selects() -> None:
    script = (HEAD + MEAN + "        count = torch.ones(1, device='cuda')\n").replace(
        "model = DDP(plain)", "model = DDP(plain, device_ids=[rank])"
    )
    script = script.replace(".cuda()", ".to(rank)")
    assert "AU502" not in {one.code for one in audit(script)}
    unselected = script.replace('torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))\n', "")
    assert "AU502" in {one.code for one in audit(unselected)}
    assert "AU502" not in {one.code for one in audit(unselected.replace("'cuda'", "rank"))}


def test_folders_that_a_function_adds_are_searched(tmp_path: Path) -> None:
    script = "import _paths\nfrom steps import fit\n" + HEAD + "fit(plain, data)\n"
    (tmp_path / "tools").mkdir()
    (tmp_path / "lib").mkdir()
    (tmp_path / "tools" / "_paths.py").write_text(
        "import os.path as osp\nimport sys\n\n\ndef add(path):\n    if path not in sys.path:\n"
        "        sys.path.insert(0, path)\n\n\nadd(osp.join(osp.dirname(__file__), '..', 'lib'))\n"
    )
    (tmp_path / "lib" / "steps.py").write_text(
        "import torch\n\n\ndef fit(model, data):\n"
        "    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
        "    for x, y in torch.utils.data.DataLoader(data, batch_size=8):\n"
        "        optimizer.zero_grad()\n        model(x.cuda()).mean().backward()\n"
        "        optimizer.step()\n"
    )
    found = {one.code for one in audit(script, folder=tmp_path / "tools")}
    assert {"AU201", "AU302"} <= found
