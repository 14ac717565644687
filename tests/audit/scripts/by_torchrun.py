"""Trains a classifier by torchrun, with accumulation, metrics of all shards and early stopping."""

import argparse
import os
from contextlib import nullcontext

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset, random_split
from torch.utils.data.distributed import DistributedSampler


def is_main():
    return not dist.is_initialized() or dist.get_rank() == 0


def summed(*numbers):
    totals = torch.tensor(numbers, dtype=torch.float64, device="cuda")
    dist.all_reduce(totals)
    return totals.tolist()


def train_one_epoch(model, criterion, loader, optimizer, accumulate):
    model.train()
    total, count = 0.0, 0
    for step, (images, labels) in enumerate(loader):
        images, labels = images.cuda(non_blocking=True), labels.cuda(non_blocking=True)
        last = (step + 1) % accumulate == 0
        with nullcontext() if last else model.no_sync():
            loss = criterion(model(images), labels) / accumulate
            loss.backward()
        if last:
            optimizer.step()
            optimizer.zero_grad()
        total += loss.item() * accumulate * images.size(0)
        count += images.size(0)
    total, count = summed(total, count)
    return total / count


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    correct, count = 0, 0
    for images, labels in loader:
        scores = model.module(images.cuda())
        correct += (scores.argmax(1).cpu() == labels).sum().item()
        count += labels.size(0)
    correct, count = summed(correct, count)
    return correct / count


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--accumulate", type=int, default=2)
    args = parser.parse_args()
    local_rank = int(os.environ["LOCAL_RANK"])
    rank, world_size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl", rank=rank, world_size=world_size)
    torch.manual_seed(1)
    data = TensorDataset(torch.randn(512, 3, 8, 8), torch.randint(0, 10, (512,)))
    generator = torch.Generator().manual_seed(3)
    train_set, valid_set = random_split(data, [384, 128], generator=generator)
    sampler = DistributedSampler(train_set, seed=5)
    train_loader = DataLoader(train_set, batch_size=16, sampler=sampler)
    shard = torch.utils.data.Subset(valid_set, range(rank, len(valid_set), world_size))
    valid_loader = DataLoader(shard, batch_size=16)
    model = nn.Sequential(nn.Flatten(), nn.Linear(192, 64), nn.ReLU(), nn.Linear(64, 10)).cuda()
    model = DDP(model, device_ids=[local_rank])
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    best, waited = 0.0, 0
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        mean_loss = train_one_epoch(model, criterion, train_loader, optimizer, args.accumulate)
        accuracy = evaluate(model, valid_loader)
        if is_main():
            print(f"epoch {epoch}: loss {mean_loss:.4f}, accuracy {accuracy:.4f}")
        dist.barrier()
        if accuracy > best:
            best, waited = accuracy, 0
            if is_main():
                torch.save(model.module.state_dict(), "best.pt")
        else:
            waited += 1
        if waited >= 3:
            break
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
