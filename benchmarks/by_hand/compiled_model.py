"""A compiled model, trained, saved under the names of the model that was compiled."""

import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

from distributed_utils import cleanup, is_main, mean, setup, share_of, world_size


class Mixer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first = nn.Linear(12, width)
        self.norm = nn.LayerNorm(width)
        self.last = nn.Linear(width, 3)

    def forward(self, x):
        return self.last(F.gelu(self.norm(self.first(x))))


def main(args):
    setup()
    torch.manual_seed(2)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    x = torch.randn(240, 12)
    data, sampler = TensorDataset(x, x[:, :3].argmax(1)), None
    if world_size() > 1:
        sampler = DistributedSampler(data, shuffle=False)
    loader = DataLoader(data, batch_size=share_of(24), sampler=sampler)
    model = Mixer(20).to(device)
    if args.compile:
        model = torch.compile(model, backend=args.backend)
    raw = model._orig_mod if args.compile else model
    if world_size() > 1:
        model = DistributedDataParallel(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)

    for epoch in range(3):
        if sampler is not None:
            sampler.set_epoch(epoch)
        total = 0.0
        for inputs, targets in loader:
            loss = F.cross_entropy(model(inputs.to(device)), targets.to(device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        total = mean(torch.tensor(total, dtype=torch.float64)).item()
        if is_main():
            print("epoch", epoch, "loss", total / len(loader))

    if is_main():
        torch.save(raw.state_dict(), "mixer.pt")
    cleanup()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--backend", default="inductor")
    main(parser.parse_args())
