"""Bugs of classes that the audit missed in public scripts, each in a script of a few lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from transpile.auditing import audit

TRAINING = """\
import argparse
import os
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, RandomSampler, TensorDataset
from torch.utils.data.distributed import DistributedSampler
{imports}

def worker(gpu, args):
    dist.init_process_group("nccl", rank=args.rank * args.gpus + gpu, world_size=args.world)
    {select}
    dataset = {dataset}
    model = DistributedDataParallel(torch.nn.Linear(4, 2).cuda({gpu}), device_ids=[gpu])
    sampler = {sampler}
    loader = DataLoader(dataset, batch_size=8, sampler=sampler)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(3):
        {epoch}
        for x, y in loader:
            loss = torch.nn.functional.cross_entropy(model(x.cuda(gpu)), y.cuda(gpu))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--gpus", type=int, default=2)
    parser.add_argument("--world", type=int, default=2)
    args = parser.parse_args()
    args.rank = 0
    {before}
    mp.spawn(worker, nprocs=args.gpus, args=(args,))
"""
RIGHT = {
    "imports": "",
    "select": "torch.cuda.set_device(gpu)",
    "dataset": "TensorDataset(torch.rand(64, 4), torch.zeros(64).long())",
    "gpu": "gpu",
    "sampler": "DistributedSampler(dataset)",
    "epoch": "sampler.set_epoch(epoch)",
    "before": "pass",
}
OWN_DATA = """\
from torch.utils.data import Dataset

class Rows(Dataset):
    def __init__(self, path):
        self.rows = torch.load(path, map_location="cpu")
    def __len__(self):
        return len(self.rows)
    def __getitem__(self, index):
        return self.rows[index]
"""


def codes(text: str, path: Path | None = None) -> set[str]:
    if path is None:
        return {found.code for found in audit(text)}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return {found.code for found in audit(text, path=str(path))}


def training(**changes: str) -> str:
    return TRAINING.format(**{**RIGHT, **changes})


def test_the_script_itself_is_right() -> None:
    assert codes(training()) == set()
    assert codes(training(imports=OWN_DATA, dataset='Rows("rows.pt")')) == set()


@pytest.mark.parametrize("before", ["pass", 'os.environ["MASTER_PORT"] = str(args.gpus + 29500)'])
def test_no_gpu_is_selected_beside_device_ids(before: str) -> None:
    assert codes(training(select="pass", gpu="", before=before)) == {"AU502"}


def test_what_starts_the_processes_shows_all_of_them_the_same_gpus() -> None:
    before = 'os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(str(x) for x in range(args.gpus))'
    assert codes(training(select="pass", gpu="", before=before)) == {"AU502"}
    assert codes(training(before=before)) == set()


def test_a_setting_is_the_first_gpu_where_nobody_says_otherwise() -> None:
    text = training(select="pass", gpu="torch.device(args.device)").replace(
        "    args = parser",
        '    parser.add_argument("--device", default="cuda")\n    args = parser',
    )
    assert codes(text) == {"AU502"}
    assert codes(text.replace('default="cuda"', 'default="cuda:1"')) == set()


def test_a_plain_sampler_of_data_of_the_script_is_seen() -> None:
    text = training(imports=OWN_DATA, dataset='Rows("rows.pt")', epoch="pass")
    assert codes(text.replace("= DistributedSampler(dataset)", "= RandomSampler(dataset)")) == {
        "AU201"
    }


def test_a_plain_sampler_of_a_share_is_none_of_everything() -> None:
    share = 'Rows(f"rows_{dist.get_rank()}.pt")'
    text = training(imports=OWN_DATA, dataset=share, epoch="pass")
    assert codes(text.replace("= DistributedSampler(dataset)", "= RandomSampler(dataset)")) == set()


@pytest.mark.parametrize("path", ["tools/train.py", "tools/deep/train.py", "train.py"])
def test_modules_are_found_where_the_search_path_begins_elsewhere(
    path: str, tmp_path: Path
) -> None:
    (tmp_path / ".git").mkdir()
    folder = tmp_path / ("src/own" if path == "train.py" else "own")
    folder.mkdir(parents=True)
    (folder / "data.py").write_text(OWN_DATA.replace("class", "import torch\n\nclass"))
    if path == "train.py":
        (folder / "__init__.py").write_text("")
    text = training(imports="from own.data import Rows", dataset='Rows("rows.pt")', epoch="pass")
    text = text.replace("= DistributedSampler(dataset)", "= RandomSampler(dataset)")
    assert codes(text, tmp_path / path) == {"AU201"}


def test_the_number_on_the_machine_is_seen_behind_that_in_the_job() -> None:
    text = training(before="args = settings()").replace("    args.rank = 0\n", "")
    text = text.replace("def worker", SETTINGS + "def worker")
    text = text.replace("rank=args.rank * args.gpus + gpu", "rank=number_of(args, gpu)")
    alone = "        if epoch % 2 == 0 and is_main(args):\n            dist.barrier()"
    text = text.replace("            optimizer.step()", f"            optimizer.step()\n{alone}")
    assert codes(text) == {"AU101"}
    assert codes(text.replace("args.rank % args.gpus == 0", "args.gpus > 1")) == set()


SETTINGS = """\
class Settings(dict):
    def __getattr__(self, name):
        return self[name]

    def __setattr__(self, name, value):
        self[name] = value


def settings():
    return Settings(gpus=int(open("gpus").read()))


def number_of(args, gpu):
    if args.gpus == 1:
        args.spawned = False
    if args.rank == -1:
        args.rank = int(os.environ["RANK"])
    if args.spawned:
        args.rank = args.rank * args.gpus + gpu
    return args.rank


def is_main(args):
    return not args.spawned or (args.spawned and args.rank % args.gpus == 0)


"""


@pytest.mark.parametrize("tracker", ["wandb", "neptune"])
def test_numbers_that_switched_trackers_are_given_are_reported(tracker: str) -> None:
    text = training(imports=f"import {tracker}").replace(
        "            optimizer.step()",
        "            optimizer.step()\n"
        "        held = DataLoader(dataset, sampler=DistributedSampler(dataset, shuffle=False))\n"
        "        with torch.no_grad():\n"
        "            for x, y in held:\n"
        "                wrong = model(x.cuda(gpu)).argmax(1).ne(y.cuda(gpu)).sum()\n"
        "        if dist.get_rank() == 0:\n"
        f"            {tracker}.log(wrong.item())",
    )
    assert "AU601" in codes(text)


def test_an_epoch_out_of_a_checkpoint_on_the_own_gpu_names_no_file_of_the_own() -> None:
    text = training().replace(
        "    for epoch in range(3):",
        '    state = torch.load("last.pt", map_location=f"cuda:{gpu}")\n'
        '    for epoch in range(state["epoch"], 3):\n'
        '        torch.save(model.module.state_dict(), f"{epoch}.pt")',
    )
    assert codes(text) == {"AU401"}
    assert codes(text.replace('"last.pt"', 'f"{gpu}.pt"')) == set()


def test_places_that_are_drawn_with_seeds_of_the_processes_are_no_same_places() -> None:
    text = DRAWN.format(seed="1337 + rank")
    assert "AU208" not in codes(text)
    assert "AU208" in codes(DRAWN.format(seed="1337"))


DRAWN = """\
import os
import numpy as np
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

rank = int(os.environ.get("RANK", -1))
dist.init_process_group("gloo")
torch.manual_seed({seed})


def batch():
    data = np.memmap("train.bin", dtype=np.uint16, mode="r")
    places = torch.randint(len(data) - 8, (4,))
    return torch.stack([torch.from_numpy(data[i : i + 8].astype(np.float32)) for i in places])


model = DistributedDataParallel(torch.nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(9):
    loss = model(batch()).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
