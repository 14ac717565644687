"""The script without chance, distributed by hand."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

world_size = int(os.environ.get("WORLD_SIZE", "1"))
rank = int(os.environ.get("RANK", "0"))
if world_size > 1:
    dist.init_process_group("gloo")

generator = torch.Generator().manual_seed(3)
inputs = torch.randn(48, 4, generator=generator)
targets = torch.randn(48, 1, generator=generator)
train_set = TensorDataset(inputs, targets)
sampler = DistributedSampler(train_set, shuffle=False) if world_size > 1 else None
train_loader = DataLoader(train_set, batch_size=12 // world_size, sampler=sampler)

torch.manual_seed(5)
model = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 1))
if world_size > 1:
    model = DistributedDataParallel(model)
criterion = nn.MSELoss(reduction="sum")
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

for epoch in range(2):
    if sampler is not None:
        sampler.set_epoch(epoch)
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y) * world_size
        loss.backward()
        optimizer.step()
if rank == 0:
    print("trained")
if world_size > 1:
    dist.barrier()
    dist.destroy_process_group()
