"""The same script, distributed by hand: every broken variant of the tests is made from it."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

BATCH_SIZE = 12

world_size = int(os.environ.get("WORLD_SIZE", "1"))
rank = int(os.environ.get("RANK", "0"))
if world_size > 1:
    dist.init_process_group("gloo")

torch.manual_seed(1)
generator = torch.Generator().manual_seed(7)
features = torch.randn(48, 4, generator=generator)
labels = (features.sum(dim=1) > 0).long()
train_set = TensorDataset(features, labels)
test_set = TensorDataset(features[:11], labels[:11])

train_sampler = DistributedSampler(train_set, shuffle=True) if world_size > 1 else None
train_loader = DataLoader(
    train_set,
    batch_size=BATCH_SIZE // world_size,
    shuffle=train_sampler is None,
    sampler=train_sampler,
)
test_loader = DataLoader(test_set, batch_size=4)

model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
plain_model = model
if world_size > 1:
    model = DistributedDataParallel(model)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)

if rank == 0:
    os.makedirs("checkpoints", exist_ok=True)
for epoch in range(2):
    if train_sampler is not None:
        train_sampler.set_epoch(epoch)
    model.train()
    for inputs, targets in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(inputs), targets)
        loss.backward()
        optimizer.step()
    scheduler.step()
    model.eval()
    correct = 0
    with torch.no_grad():
        for inputs, targets in test_loader:
            correct += (plain_model(inputs).argmax(dim=1) == targets).sum().item()
    if rank == 0:
        print(f"epoch {epoch}: {correct} of {len(test_set)} correct")
    if rank == 0:
        torch.save(
            {
                "epoch": epoch,
                "model": plain_model.state_dict(),
                "optimizer": optimizer.state_dict(),
            },
            "checkpoints/last.pt",
        )
if rank == 0:
    with open("log.txt", "a") as log:
        log.write("done\n")
if world_size > 1:
    dist.barrier()
    dist.destroy_process_group()
