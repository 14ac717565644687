"""What `audit --fix` changes, and what it leaves to a person."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_runs import Command

from transpile.auditing import audit

SCRIPT = """\
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def main():
    dist.init_process_group("gloo")
    data = TensorDataset(torch.randn(64, 4), torch.randn(64, 1))
    sampler = DistributedSampler(data)
    loader = DataLoader(data, batch_size=8, sampler=sampler, shuffle=True)
    model = DDP(nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(3):
        # One epoch.
        for x, y in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()
        if dist.get_rank() == 0:
            torch.save({"model": model.state_dict(), "epoch": epoch}, "model.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
"""
FIXED = (
    SCRIPT.replace(", shuffle=True", "")
    .replace("        # One", "        sampler.set_epoch(epoch)\n        # One")
    .replace("model.state_dict", "model.module.state_dict")
)


def test_what_is_mechanical_is_changed_and_looked_at_again(command: Command) -> None:
    Path("train.py").write_bytes(SCRIPT.replace("\n", "\r\n").encode())
    first = command("audit", "train.py")
    assert (first.status, first.output.count(b" AU")) == (3, 3)
    fixed = command("audit", "train.py", "--fix")
    assert (fixed.status, fixed.errors) == (0, "3 changes made in 1 file\n")
    found = Path("train.py").read_bytes()
    assert found.decode().replace("\r\n", "\n") == FIXED
    assert command("audit", "train.py", "--fix").errors == ""


def test_what_is_accepted_stays(command: Command) -> None:
    text = SCRIPT.replace(
        "sampler=sampler, shuffle=True)",
        "sampler=sampler, shuffle=True)  # disttranspile: ignore[AU204] to be discussed",
    )
    Path("train.py").write_text(text)
    command("audit", "train.py", "--fix")
    assert "shuffle=True" in Path("train.py").read_text()
    assert "set_epoch" in Path("train.py").read_text()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("sampler = Dist", "if dist.is_initialized():\n        sampler = Dist"),
        ("for epoch in range(3)", "for epoch in schedule()"),
        ("for epoch in range(3)", "for epoch, lr in enumerate([0.1, 0.2])"),
        ("    model = DDP", "    sampler = sampler or None\n    model = DDP"),
        ("    for epoch in range(3):", "    while True:\n        epoch = 1"),
    ],
)
def test_the_epoch_is_told_where_there_is_no_doubt_alone(before: str, after: str) -> None:
    assert before in SCRIPT
    found = audit(SCRIPT.replace(before, after))
    assert [one.fix for one in found if one.code == "AU202"] in ([None], [])


def test_the_keys_stay_where_the_script_reads_them_back(command: Command) -> None:
    text = SCRIPT.replace(
        "    optimizer = ",
        '    model.load_state_dict(torch.load("model.pt", map_location="cpu")["model"])\n'
        "    optimizer = ",
    )
    assert [one.fix for one in audit(text) if one.code == "AU406"] == [None]


def test_in_functions_a_sampler_of_the_module_is_told(command: Command) -> None:
    flat = SCRIPT.replace("def main():", "if True:").split("\n\nif __name__")[0]
    lines = flat.replace("if True:\n", "").split("\n")
    text = "\n".join(line.removeprefix("    ") for line in lines) + "\n"
    found = [one.fix for one in audit(text) if one.code == "AU202"]
    assert found and found[0] is not None
    assert "    sampler.set_epoch(epoch)\n    # One epoch." in found[0].apply(text)


TOGETHER = """\
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def main():
    dist.init_process_group("gloo")
    data = TensorDataset(torch.randn(64, 4), torch.randn(64, 1))
    sampler = DistributedSampler(data)
    loader = DataLoader(data, batch_size=8, sampler=sampler)
    model = DDP(nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
        shown = loss.detach().clone()
        dist.all_reduce(shown)
        if dist.get_rank() == 0:
            print(epoch, shown.item())
        torch.save(model.module.state_dict(), f"model_{epoch}.pt")
    dist.destroy_process_group()


main()
"""


def test_sums_are_divided_and_files_written_once(command: Command) -> None:
    Path("train.py").write_text(TOGETHER, "utf-8")
    assert command("audit", "train.py", "--fix").status == 0
    assert Path("train.py").read_text("utf-8") == TOGETHER.replace(
        "        dist.all_reduce(shown)\n",
        "        dist.all_reduce(shown)\n        shown /= dist.get_world_size()\n",
    ).replace(
        "        torch.save(",
        "        if dist.get_rank() == 0:\n            torch.save(",
    )


def test_seeds_of_samplers_that_differ_are_left_out(command: Command) -> None:
    own = SCRIPT.replace(
        "DistributedSampler(data)", "DistributedSampler(data, seed=dist.get_rank())"
    )
    Path("train.py").write_text(own)
    assert "AU206" in command("audit", "train.py").output.decode()
    command("audit", "train.py", "--fix")
    assert "sampler = DistributedSampler(data)\n" in Path("train.py").read_text()
    Path("train.py").write_text(own.replace("seed=dist", "seed=7 + dist"))
    assert "AU206" not in command("audit", "train.py", "--fix").output.decode()
