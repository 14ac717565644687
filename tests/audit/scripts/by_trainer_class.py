"""A trainer class: two networks, meters and checkpoints."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


class Meter:
    def __init__(self):
        self.sum, self.count = 0.0, 0

    def update(self, value, n=1):
        self.sum += value * n
        self.count += n

    def synchronize(self):
        numbers = torch.tensor([self.sum, self.count], device="cuda")
        dist.all_reduce(numbers)
        self.sum, self.count = numbers.tolist()

    @property
    def average(self):
        return self.sum / max(self.count, 1)


class Trainer:
    def __init__(self, encoder, decoder, train_set, test_set):
        self.rank = dist.get_rank()
        self.local_rank = int(os.environ["LOCAL_RANK"])
        self.device = torch.device(f"cuda:{self.local_rank}")
        self.encoder = DistributedDataParallel(encoder.to(self.device))
        self.decoder = DistributedDataParallel(decoder.to(self.device))
        parameters = list(self.encoder.parameters()) + list(self.decoder.parameters())
        self.optimizer = torch.optim.AdamW(parameters, lr=1e-3)
        self.sampler = DistributedSampler(train_set)
        self.train_loader = DataLoader(train_set, batch_size=32, sampler=self.sampler)
        self.test_loader = DataLoader(test_set, batch_size=32)
        self.best, self.patience = float("inf"), 0

    def step(self, batch):
        code = self.encoder(batch)
        loss = nn.functional.mse_loss(self.decoder(code), batch)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss

    def train_epoch(self, epoch):
        self.sampler.set_epoch(epoch)
        meter = Meter()
        for (batch,) in self.train_loader:
            batch = batch.to(self.device)
            loss = self.step(batch)
            meter.update(loss.item(), batch.size(0))
        meter.synchronize()
        return meter.average

    @torch.no_grad()
    def test(self):
        total = 0.0
        for (batch,) in self.test_loader:
            batch = batch.to(self.device)
            output = self.decoder.module(self.encoder.module(batch))
            total += nn.functional.mse_loss(output, batch).item()
        shared = torch.tensor(total, device=self.device)
        dist.broadcast(shared, src=0)
        return shared.item() / len(self.test_loader)

    def save(self, epoch):
        if self.rank != 0:
            return
        state = {"encoder": self.encoder.module.state_dict(), "epoch": epoch}
        torch.save(state, f"checkpoint_{epoch}.pt")

    def fit(self, epochs):
        for epoch in range(epochs):
            train_loss = self.train_epoch(epoch)
            test_loss = self.test()
            if self.rank == 0:
                print(f"{epoch}: train {train_loss:.4f} test {test_loss:.4f}")
            self.save(epoch)
            dist.barrier()
            if test_loss < self.best:
                self.best, self.patience = test_loss, 0
            else:
                self.patience += 1
            if self.patience > 2:
                break


def main():
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group(backend="nccl")
    torch.manual_seed(2)
    train_set, test_set = TensorDataset(torch.randn(640, 16)), TensorDataset(torch.randn(64, 16))
    trainer = Trainer(nn.Linear(16, 4), nn.Linear(4, 16), train_set, test_set)
    trainer.fit(4)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
