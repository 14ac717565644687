"""What a script of one's own launcher is told of its process."""

from __future__ import annotations

from transpile.auditing import audit

SCRIPT = """\
import argparse
import math
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def train(rank, group):
    dist.init_process_group("gloo", rank=rank, world_size=2, init_method=group)
    data = TensorDataset(torch.randn(64, 8), torch.randint(0, 2, (64,)))
    sampler = DistributedSampler(data)
    loader = DataLoader(data, batch_size=8, sampler=sampler)
    model = DistributedDataParallel(nn.Linear(8, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for features, labels in loader:
            loss = nn.functional.cross_entropy(model(features), labels)
            optimizer.zero_grad()
            loss.backward()
            norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            if not math.isnan(norm):
                optimizer.step()
    if rank == 0:
        torch.save(model.module.state_dict(), "model.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--rank", type=int, default=0)
    parser.add_argument("--group", default="")
    args = parser.parse_args()
    train(args.rank, args.group)
"""


def test_a_rank_from_the_command_line_guards() -> None:
    assert audit(SCRIPT) == ()


def test_what_is_not_guarded_is_still_found() -> None:
    found = audit(SCRIPT.replace("    if rank == 0:\n        torch", "    if True:\n        torch"))
    assert [each.code for each in found] == ["AU401"]
