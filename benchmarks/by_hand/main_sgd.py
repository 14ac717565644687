#!/usr/bin/env python3
"""Train a small convolutional classifier on generated textures.

Nothing in here is random once the seed is set: no dropout, no batch
normalisation, and the samples are visited in their stored order.
"""
import argparse
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler

from distributed_utils import cleanup, is_main, mean, setup, share_of, world_size


class Textures(Dataset):
    """Plane waves; the class is the direction of the wave."""

    def __init__(self, size, seed):
        generator = torch.Generator().manual_seed(seed)
        self.labels = torch.arange(size) % 4
        phase = torch.rand(size, 1, 1, generator=generator) * 6.28
        angle = self.labels.reshape(-1, 1, 1) * (3.1416 / 4)
        grid = torch.arange(8) * 0.8
        wave = torch.cos(angle) * grid.reshape(1, 8, 1) + torch.sin(angle) * grid.reshape(1, 1, 8)
        noise = torch.randn(size, 8, 8, generator=generator)
        self.images = (torch.sin(wave + phase) + 0.3 * noise).unsqueeze(1)

    def __getitem__(self, index):
        return self.images[index], self.labels[index]

    def __len__(self):
        return self.labels.numel()


class ConvNet(nn.Module):
    def __init__(self, num_classes=4):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, kernel_size=3, padding=1)
        self.conv2 = nn.Conv2d(8, 12, kernel_size=3, padding=1)
        self.head = nn.Linear(12 * 2 * 2, num_classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.head(x.flatten(1))


def train_one_epoch(model, criterion, optimizer, loader, device):
    model.train()
    total_loss, total_correct, total = 0.0, 0, 0
    for images, labels in loader:
        images = images.to(device, non_blocking=True)
        labels = labels.to(device, non_blocking=True)

        logits = model(images)
        loss = criterion(logits, labels)

        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

        total_loss += loss.item() * labels.size(0)
        total_correct += (logits.argmax(1) == labels).sum().item()
        total += labels.size(0)
    totals = mean(torch.tensor([total_loss, total_correct, total], dtype=torch.float64)).tolist()
    return totals[0] / totals[2], totals[1] / totals[2]


@torch.no_grad()
def evaluate(model, criterion, loader, device):
    model.eval()
    loss_sum, correct, total = 0.0, 0, 0
    for images, labels in loader:
        images, labels = images.to(device), labels.to(device)
        logits = model(images)
        loss_sum += criterion(logits, labels).item() * labels.size(0)
        correct += (logits.argmax(1) == labels).sum().item()
        total += labels.size(0)
    return loss_sum / total, correct / total


def get_args():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-b", "--batch-size", default=36, type=int)
    parser.add_argument("-e", "--epochs", default=5, type=int)
    parser.add_argument("--lr", default=0.05, type=float)
    parser.add_argument("--momentum", default=0.9, type=float)
    parser.add_argument("--weight-decay", default=1e-4, type=float)
    parser.add_argument("-o", "--output", default="textures.pt")
    return parser.parse_args()


def main():
    args = get_args()
    setup()
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    train_data, sampler = Textures(720, seed=1), None
    if world_size() > 1:
        sampler = DistributedSampler(train_data, shuffle=False)
    train_loader = DataLoader(train_data, batch_size=share_of(args.batch_size), sampler=sampler)
    val_loader = DataLoader(Textures(100, seed=2), batch_size=64)

    model = ConvNet().to(device)
    criterion = nn.CrossEntropyLoss()
    if world_size() > 1:
        model = DistributedDataParallel(model)
    optimizer = torch.optim.SGD(
        model.parameters(),
        lr=args.lr,
        momentum=args.momentum,
        weight_decay=args.weight_decay,
    )
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[3], gamma=0.1)

    start = time.time()
    for epoch in range(args.epochs):
        if sampler is not None:
            sampler.set_epoch(epoch)
        train_loss, train_acc = train_one_epoch(model, criterion, optimizer, train_loader, device)
        val_loss, val_acc = evaluate(model, criterion, val_loader, device)
        scheduler.step()
        if is_main():
            print(
                f"[{epoch + 1}/{args.epochs}] "
                f"train loss {train_loss:.4f} acc {train_acc:.3f} | "
                f"val loss {val_loss:.4f} acc {val_acc:.3f}"
            )

    if is_main():
        print(f"done in {time.time() - start:.1f}s")
        net = model.module if world_size() > 1 else model
        torch.save(
            {"model": net.state_dict(), "optimizer": optimizer.state_dict(), "args": vars(args)},
            args.output,
        )
    cleanup()


if __name__ == "__main__":
    main()
