"""Trains a regressor in processes that the script starts itself."""

import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler


class Curve(Dataset):
    def __init__(self, size):
        self.inputs = torch.linspace(-1, 1, size).unsqueeze(1)
        self.targets = self.inputs**2

    def __len__(self):
        return len(self.inputs)

    def __getitem__(self, index):
        return self.inputs[index], self.targets[index]


class Network(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.hidden = nn.Linear(1, width)
        self.out = nn.Linear(width, 1)

    def forward(self, inputs):
        return self.out(torch.tanh(self.hidden(inputs)))


def reduce_mean(value, world_size):
    value = value.detach().clone()
    dist.all_reduce(value, op=dist.ReduceOp.SUM)
    value /= world_size
    return value


def validate(model, loader, device, world_size):
    model.eval()
    total = torch.zeros(2, device=device)
    with torch.no_grad():
        for inputs, targets in loader:
            error = nn.functional.mse_loss(model.module(inputs.to(device)), targets.to(device))
            total[0] += error * len(inputs)
            total[1] += len(inputs)
    dist.all_reduce(total)
    model.train()
    return (total[0] / total[1]).item()


def worker(gpu, world_size):
    dist.init_process_group("nccl", rank=gpu, world_size=world_size)
    torch.cuda.set_device(gpu)
    device = torch.device("cuda", gpu)
    torch.manual_seed(0)
    train_set, valid_set = Curve(4096), Curve(512)
    train_sampler = DistributedSampler(train_set, num_replicas=world_size, rank=gpu)
    train_loader = DataLoader(train_set, batch_size=64, shuffle=False, sampler=train_sampler)
    own = torch.utils.data.Subset(valid_set, list(range(gpu, len(valid_set), world_size)))
    valid_loader = DataLoader(own, batch_size=64)
    model = DistributedDataParallel(Network().to(device), device_ids=[gpu])
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    best, bad_epochs = float("inf"), 0
    for epoch in range(10):
        train_sampler.set_epoch(epoch)
        for i, (inputs, targets) in enumerate(train_loader):
            inputs, targets = inputs.to(device), targets.to(device)
            noise = 0.01 * torch.randn_like(inputs)
            outputs = model(inputs + noise)
            loss = nn.functional.mse_loss(outputs, targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            reduced = reduce_mean(loss, world_size)
            if gpu == 0 and i % 10 == 0:
                print("step", i, "loss", reduced.item())
        error = validate(model, valid_loader, device, world_size)
        if gpu == 0:
            print("epoch", epoch, "error", error)
            torch.save({"model": model.module.state_dict(), "epoch": epoch}, "curve.pt")
        dist.barrier()
        if error < best:
            best, bad_epochs = error, 0
        else:
            bad_epochs += 1
            if bad_epochs == 3:
                break
    dist.barrier()
    dist.destroy_process_group()


def main():
    os.environ["MASTER_ADDR"] = "localhost"
    os.environ["MASTER_PORT"] = "29511"
    world_size = torch.cuda.device_count()
    mp.spawn(worker, args=(world_size,), nprocs=world_size, join=True)


if __name__ == "__main__":
    main()
