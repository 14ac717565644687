"""The language model, made distributed by hand."""

from contextlib import nullcontext

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler
from transformer import BATCH, GATHERED, WORDS, LanguageModel, make_data


def main() -> None:
    """Train."""
    dist.init_process_group("gloo")
    data = make_data()
    sampler: DistributedSampler[int] = DistributedSampler(data)
    loader = DataLoader(data, batch_size=BATCH // dist.get_world_size(), sampler=sampler)
    model = DistributedDataParallel(LanguageModel())
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.001)
    running = torch.zeros(())
    for step, (text,) in enumerate(loader):
        steps = (step + 1) % GATHERED == 0
        with nullcontext() if steps else model.no_sync():
            logits = model(text[:, :-1])
            loss = criterion(logits.reshape(-1, WORDS), text[:, 1:].reshape(-1))
            (loss / GATHERED).backward()
        running += loss.item()
        if steps:
            optimizer.step()
            optimizer.zero_grad()
        if (step + 1) % 40 == 0:
            dist.all_reduce(running)
            if dist.get_rank() == 0:
                print(f"step {step + 1}: loss {running.item() / 40 / dist.get_world_size():.4f}")
            running.zero_()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
