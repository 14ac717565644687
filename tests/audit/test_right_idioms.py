"""Idioms of correct distributed scripts, of which nothing is said; and the bugs beside them."""

from __future__ import annotations

import pytest

from transpile.auditing import audit

HEAD = """\
import json
import logging
import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import yaml
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


"""
JOINED = HEAD + """\
dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
rank = dist.get_rank()
model = DDP(torch.nn.Linear(4, 1).cuda(), device_ids=[int(os.environ["LOCAL_RANK"])])
sampler = DistributedSampler(data)
fit(model, DataLoader(data, batch_size=8, sampler=sampler), sampler)
{line}
dist.destroy_process_group()
"""
SPAWNED = HEAD + """\
def worker(gpu, config):
    config["rank"] = gpu
    torch.cuda.set_device(gpu)
    dist.init_process_group(
        "nccl", init_method="tcp://127.0.0.1:29500", rank=gpu, world_size=config["processes"]
    )
    model = DDP(torch.nn.Linear(4, 1).cuda(), device_ids=[gpu])
    sampler = DistributedSampler(data)
    fit(model, DataLoader(data, batch_size=8, sampler=sampler), sampler)
    if {condition}:
        torch.save(model.module.state_dict(), "model.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    config = json.load(open("config.json"))
    if config["processes"] > 1:
        mp.spawn(worker, nprocs=config["processes"], args=(config,))
    else:
        {other}
"""
EVALUATED = """\
held_out = DataLoader(data, sampler=DistributedSampler(data, num_replicas={count}, rank={rank}))
right = 0
model.eval()
with torch.no_grad():
    for x, y in held_out:
        right += (model.module(x.cuda()) > 0).sum().item()
if rank == 0:
    print(right)"""


def codes(text: str) -> set[str]:
    levels = {found.code: found.level.name for found in audit(text)}
    return {code for code, level in levels.items() if level in ("WARNING", "ERROR")}


def test_a_position_in_a_dict_of_a_file_is_followed() -> None:
    other = "raise SystemExit('one process')"
    assert codes(SPAWNED.format(condition='config["rank"] == 0', other=other)) == set()
    assert codes(SPAWNED.format(condition='config["save"]', other=other)) == {"AU401"}


def test_the_arm_of_one_process_is_left_out_where_it_says_so() -> None:
    assert codes(SPAWNED.format(condition="gpu == 0", other="worker(0, config)")) == set()


@pytest.mark.parametrize(
    ("count", "rank", "expected"), [("1", "0", set()), ("dist.get_world_size()", "rank", {"AU601"})]
)
def test_a_sampler_of_one_gives_all_of_the_data(count: str, rank: str, expected: set[str]) -> None:
    assert codes(JOINED.format(line=EVALUATED.format(count=count, rank=rank))) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("text = yaml.safe_dump({'lr': 0.1})", set()),
        ("yaml.safe_dump({'lr': 0.1}, open('settings.yaml', 'w'))", {"AU401"}),
        (
            "logger = logging.getLogger('train')\n"
            "logger.setLevel(logging.INFO if rank == 0 else logging.ERROR)\n"
            "logger.addHandler(logging.FileHandler('train.log'))",
            set(),
        ),
        (
            "logger = logging.getLogger('train')\n"
            "logger.addHandler(logging.FileHandler('train.log'))",
            {"AU401"},
        ),
    ],
)
def test_what_writes_for_all_processes(line: str, expected: set[str]) -> None:
    assert codes(JOINED.format(line=line)) == expected


def test_a_loader_of_another_library_may_share_its_data() -> None:
    script = JOINED.replace("import yaml\n", "import yaml\nfrom timm.data import create_loader\n")
    made = "create_loader(data, 224, 8, is_training=True, distributed=True)"
    script = script.replace("DataLoader(data, batch_size=8, sampler=sampler)", made)
    assert "AU201" not in codes(script.format(line=""))
    script = script.replace(made, "DataLoader(data, batch_size=8, shuffle=True)")
    assert "AU201" in codes(script.format(line=""))
