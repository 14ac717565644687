"""What settings say of a process, where its number is put into them; and the bugs beside them."""

from __future__ import annotations

from pathlib import Path

import pytest

from transpile.auditing import audit

HEAD = """\
import json
import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import settings
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

data = TensorDataset(torch.randn(64, 4), torch.randn(64, 1))


def fit(model, loader, sampler):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for x, y in loader:
            optimizer.zero_grad()
            ((model(x.cuda()) - y.cuda()) ** 2).mean().backward()
            optimizer.step()


def train(gpu):
    torch.cuda.set_device(gpu)
    model = DDP(torch.nn.Linear(4, 1).cuda(), device_ids=[gpu])
    sampler = DistributedSampler(data)
    fit(model, DataLoader(data, batch_size=8, sampler=sampler), sampler)
    return model


"""
JOINED = HEAD + """\
dist.init_process_group("nccl")
config = json.load(open("config.json"))
{put} = {number}
model = train(int(os.environ["LOCAL_RANK"]))
if {put} == 0:
    torch.save(model.module.state_dict(), "model.pt")
"""
STARTED = HEAD + """\
def worker(rank, config):
    if "rank" not in config:
        config["rank"] = rank
    dist.init_process_group(
        "nccl", init_method=config["url"], rank=config["rank"], world_size=config["processes"]
    )
    model = train(config["rank"] % torch.cuda.device_count())
    if config["rank"] == 0:
        torch.save(model.module.state_dict(), "model.pt")


if __name__ == "__main__":
    config = json.load(open("config.json"))
    if config["url"].startswith("tcp://127"):
        mp.spawn(worker, nprocs=config["processes"], args=(config,))
    else:
        config["rank"] = {number}
        worker(-1, config)
"""
IN_A_LOOP = HEAD + """\
def worker(rank, count):
    dist.init_process_group(
        "nccl", init_method="tcp://127.0.0.1:29500", rank=rank, world_size=count
    )
    model = train(rank)
    if {condition}:
        torch.save(model.module.state_dict(), "model.pt")


if __name__ == "__main__":
    count = torch.cuda.device_count()
    started = []
    for number in range(count):
        started.append(mp.Process(target=worker, args=(number, count)))
        started[-1].start()
    for one in started:
        one.join()
"""


def codes(text: str, folder: Path | None = None) -> set[str]:
    found = audit(text, path="train.py", folder=folder)
    return {each.code for each in found if each.level.name in ("WARNING", "ERROR")}


@pytest.mark.parametrize("put", ['config["rank"]', "settings.rank"])
def test_a_number_that_is_put_into_settings_guards(put: str) -> None:
    assert codes(JOINED.format(put=put, number="dist.get_rank()")) == set()
    assert codes(JOINED.format(put=put, number="len(data)")) == {"AU401"}


def test_settings_of_started_processes_are_those_of_one_machine() -> None:
    number = 'int(os.environ.get("OMPI_COMM_WORLD_RANK") or 0)'
    assert codes(STARTED.format(number=number)) == set()
    unguarded = STARTED.replace('config["rank"] == 0', 'config["processes"] > 1')
    assert codes(unguarded.format(number=number)) == {"AU401"}


def test_each_process_is_one_of_those_that_a_loop_starts() -> None:
    assert codes(IN_A_LOOP.format(condition="rank == 0")) == set()
    assert codes(IN_A_LOOP.format(condition="count > 1")) == {"AU401"}


LAUNCHERS = """\
import os
import torch
import torch.distributed as dist


def join_slurm(backend):
    torch.cuda.set_device(int(os.environ["SLURM_LOCALID"]))
    dist.init_process_group(backend, rank=int(os.environ["SLURM_PROCID"]))
    return dist.get_rank()


def join_torchrun(backend):
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group(backend)
    return {told}
"""
PICKED = """\
import argparse
import torch
import launchers
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

parser = argparse.ArgumentParser()
parser.add_argument("--launcher", default="torchrun")
args = parser.parse_args()
rank = getattr(launchers, {name})("nccl")
data = TensorDataset(torch.randn(64, 4), torch.randn(64, 1))
sampler = DistributedSampler(data)
model = DDP(torch.nn.Linear(4, 1).cuda())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    sampler.set_epoch(epoch)
    for x, y in DataLoader(data, batch_size=8, sampler=sampler):
        optimizer.zero_grad()
        ((model(x.cuda()) - y.cuda()) ** 2).mean().backward()
        optimizer.step()
if rank == 0:
    torch.save(model.module.state_dict(), "model.pt")
"""


@pytest.mark.parametrize(
    "name",
    [
        '"join_%s" % args.launcher',
        'f"join_{args.launcher}"',
        '"join_" + args.launcher',
        '"join_{}".format(args.launcher)',
    ],
)
def test_a_launcher_that_is_picked_by_its_name_is_followed(tmp_path: Path, name: str) -> None:
    (tmp_path / "launchers.py").write_text(LAUNCHERS.format(told="dist.get_rank()"))
    script = PICKED.format(name=name)
    (tmp_path / "train.py").write_text(script)
    assert codes(script, tmp_path) == set()
    (tmp_path / "launchers.py").write_text(LAUNCHERS.format(told='int(os.environ["LOCAL_RANK"])'))
    assert codes(script, tmp_path) != set()


COUNTED = HEAD + """\
config = dict(**vars(settings.parse()))
dist.init_process_group("nccl")
count = 0
config["batch"] = config["batch"] // dist.get_world_size()
model = DDP(torch.nn.Linear(4, 1).cuda(), device_ids=[int(os.environ["LOCAL_RANK"])])
sampler = DistributedSampler(data)
loader = DataLoader(data, batch_size=config["batch"], sampler=sampler)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
if config["name"] != "":
    config["name"] = config["name"] + "_1"
    count = 0 if config["resume"] is None else torch.load(config["resume"])["count"]
for epoch in range(2):
    sampler.set_epoch(epoch)
    for x, y in loader:
        loss = ((model(x.cuda()) - y.cuda()) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        count += {step}
        if count >= config["most"]:
            break
"""


def test_a_size_of_batches_beside_other_settings_says_nothing_of_them() -> None:
    assert "AU106" not in codes(COUNTED.format(step="1"))
    assert "AU106" in codes(COUNTED.format(step="int(loss.item() < 1)"))


CHOSEN = HEAD + """\
rank = int(os.environ["LOCAL_RANK"])


def in_turn(rank):
    if rank not in [-1, 0]:
        dist.barrier()
    make()
    if rank == 0:
        dist.barrier()


def make():
    os.makedirs("cache", exist_ok=True)


dist.init_process_group("nccl")
if dist.get_rank() in [-1, 0]:
    in_turn({given})
train(rank)
"""


def test_a_number_that_is_written_is_looked_for_among_those_that_are() -> None:
    assert codes(CHOSEN.format(given="-1")) == set()
    assert "AU101" in codes(CHOSEN.format(given="0"))


SWITCHED = (
    """\
import argparse
"""
    + HEAD
    + """\
parser = argparse.ArgumentParser()
parser.add_argument("-a", "--own-files", action="store_true", default={default})
args = parser.parse_args()
dist.init_process_group("nccl")
model = train(int(os.environ["LOCAL_RANK"]))
if not args.own_files or dist.get_rank() == 0:
    print(dist.get_rank())
if args.own_files:
    name = f"model_{{dist.get_rank()}}.pt"
else:
    name = "model.pt"
    open(name, "w").close()
torch.save(model.module.state_dict(), f"{{dist.get_rank()}}_{{name}}")
"""
)


def test_a_switch_that_is_on_already_stays_on() -> None:
    assert codes(SWITCHED.format(default="True")) == set()
    assert codes(SWITCHED.format(default="False")) == {"AU401"}


IN_ROUNDS = HEAD + """\
def one_round(model, loader, optimizer, steps):
    for x, y in loader:
        optimizer.zero_grad()
        loss = ((model(x.cuda()) - y.cuda()) ** 2).mean()
        loss.backward()
        optimizer.step()
        steps += 1
    return steps, loss.item()


dist.init_process_group("nccl")
gpu = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(gpu)
model = DDP(torch.nn.Linear(4, 1).cuda(), device_ids=[gpu])
sampler = DistributedSampler(data, shuffle=False)
loader = DataLoader(data, batch_size=8, sampler=sampler)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
steps, loss = 0, 1.0
while {condition}:
    steps, loss = one_round(model, loader, optimizer, steps)
"""


def test_one_part_of_what_is_given_back_decides_on_the_rounds() -> None:
    assert codes(IN_ROUNDS.format(condition="steps < 100")) == set()
    assert codes(IN_ROUNDS.format(condition="loss > 0.1")) == {"AU106"}


@pytest.mark.parametrize("told", ['os.environ.get("RANK") or 0', 'os.environ["RANK"]'])
def test_a_number_beside_what_stands_for_none_is_that_number(told: str) -> None:
    assert codes(JOINED.format(put="settings.rank", number=f"int({told})")) == set()
    other = JOINED.replace("== 0", ">= 0")
    assert codes(other.format(put="settings.rank", number=f"int({told})")) == {"AU401"}
