"""Trains a network whose place in the job comes from arguments and variables of a scheduler."""

import argparse
import os

import torch
import torch.distributed
import torch.nn as nn
import torch.optim as optim
import torch.utils.data
from torch.nn.parallel import DistributedDataParallel


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--local_rank", default=0, type=int)
    parser.add_argument("--epochs", default=3, type=int)
    parser.add_argument("--batch-size", default=32, type=int)
    return parser.parse_args()


def mean_of_all(tensor):
    copy = tensor.clone()
    torch.distributed.all_reduce(copy)
    return copy / torch.distributed.get_world_size()


def train(args, epoch, model, critic, loader, optimizers):
    running = 0.0
    for x, y in loader:
        x, y = x.to(args.device), y.to(args.device)
        fake = model(x)
        loss = nn.functional.l1_loss(fake, y) + critic(fake).mean()
        optimizers[0].zero_grad()
        loss.backward()
        optimizers[0].step()
        score = critic(y).mean() - critic(fake.detach()).mean()
        optimizers[1].zero_grad()
        score.backward()
        optimizers[1].step()
        running += mean_of_all(loss.detach()).item()
    if args.rank == 0:
        print("epoch", epoch, "loss", running / len(loader))


def validate(args, model, loader):
    total = torch.zeros((), device=args.device)
    with torch.no_grad():
        for x, y in loader:
            total += nn.functional.l1_loss(model(x.to(args.device)), y.to(args.device))
    total = mean_of_all(total / len(loader))
    if args.rank == 0:
        print("validation", total.item())
    return total.item()


def main():
    args = parse()
    args.rank = int(os.environ["SLURM_PROCID"])
    args.world_size = int(os.environ["SLURM_NTASKS"])
    torch.cuda.set_device(args.local_rank)
    args.device = torch.device("cuda", args.local_rank)
    torch.distributed.init_process_group(
        backend="nccl", init_method="env://", rank=args.rank, world_size=args.world_size
    )
    torch.manual_seed(0)
    x = torch.randn(1024, 8)
    train_data = torch.utils.data.TensorDataset(x[:768], x[:768])
    test_data = torch.utils.data.TensorDataset(x[768:], x[768:])
    train_sampler = torch.utils.data.distributed.DistributedSampler(train_data)
    train_loader = torch.utils.data.DataLoader(
        train_data, args.batch_size, sampler=train_sampler, drop_last=True
    )
    test_loader = torch.utils.data.DataLoader(test_data, args.batch_size)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 8)).to(args.device)
    model = DistributedDataParallel(model, device_ids=[args.local_rank])
    critic = nn.Linear(8, 1).to(args.device)
    critic = DistributedDataParallel(critic, device_ids=[args.local_rank])
    optimizers = [optim.Adam(model.parameters()), optim.Adam(critic.parameters())]
    lowest = 1e9
    for epoch in range(args.epochs):
        train_sampler.set_epoch(epoch)
        train(args, epoch, model, critic, train_loader, optimizers)
        value = validate(args, model, test_loader)
        if value > 2 * lowest:
            break
        lowest = min(lowest, value)
        if args.rank == 0:
            torch.save(model.module.state_dict(), "model.pth")
            with open("log.txt", "a") as log:
                log.write(f"{epoch} {value}\n")
        torch.distributed.barrier()
    torch.distributed.barrier()


if __name__ == "__main__":
    main()
