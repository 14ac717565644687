"""The classifier, made distributed by hand."""

import torch
import torch.distributed as dist
from classifier import BATCH, make_data, make_model
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler


def main() -> None:
    """Train."""
    dist.init_process_group("gloo")
    data = make_data()
    sampler: DistributedSampler[int] = DistributedSampler(data)
    loader = DataLoader(data, batch_size=BATCH // dist.get_world_size(), sampler=sampler)
    model = DistributedDataParallel(make_model())
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        totals = torch.zeros(3)
        for image, label in loader:
            logits = model(image)
            loss = criterion(logits, label)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            totals[0] += loss.item() * label.size(0)
            totals[1] += (logits.argmax(1) == label).sum().item()
            totals[2] += label.size(0)
        dist.all_reduce(totals)
        total, correct, seen = totals.tolist()
        if dist.get_rank() == 0:
            print(f"epoch {epoch}: loss {total / seen:.4f}, accuracy {correct / seen:.3f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
