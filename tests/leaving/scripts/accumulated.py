"""In main(), in the style of Horovod's ImageNet example: batch norm, accumulation, clipping."""

import horovod.torch as hvd
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

PASSES = 2


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 1))

    def forward(self, x):
        return self.layers(x)


class Metric:
    def __init__(self, name):
        self.name = name
        self.sum = torch.tensor(0.0)
        self.n = 0

    def update(self, value):
        self.sum += hvd.allreduce(value.detach().cpu(), name=self.name)
        self.n += 1

    @property
    def avg(self):
        return self.sum / self.n


def train(epoch, model, optimizer, loader):
    model.train()
    seen = Metric("loss")
    for x, y in loader:
        optimizer.zero_grad()
        for i in range(0, len(x), len(x) // PASSES):
            part, target = x[i : i + len(x) // PASSES], y[i : i + len(x) // PASSES]
            loss = nn.functional.mse_loss(model(part), target) / PASSES
            seen.update(loss)
            loss.backward()
        optimizer.synchronize()
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        with optimizer.skip_synchronize():
            optimizer.step()
    if hvd.rank() == 0:
        print(f"epoch {epoch}: {seen.avg.item():.6f}", flush=True)


def main():
    hvd.init()
    torch.manual_seed(hvd.rank())
    start = hvd.broadcast_object(0 if hvd.rank() else 1, root_rank=0)
    generator = torch.Generator().manual_seed(1)
    data = TensorDataset(
        torch.randn(60, 4, generator=generator), torch.randn(60, 1, generator=generator)
    )
    sampler = DistributedSampler(data, num_replicas=hvd.size(), rank=hvd.rank())
    loader = DataLoader(data, batch_size=10, sampler=sampler)
    model = Net()
    rate = 0.01 * PASSES * hvd.size()
    optimizer = torch.optim.SGD(model.parameters(), lr=rate, momentum=0.9)
    optimizer = hvd.DistributedOptimizer(
        optimizer,
        named_parameters=model.named_parameters(),
        compression=hvd.Compression.none,
        backward_passes_per_step=PASSES,
    )
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    hvd.broadcast_optimizer_state(optimizer, root_rank=0)
    for epoch in range(start, 4):
        sampler.set_epoch(epoch)
        train(epoch, model, optimizer, loader)
    counts = hvd.allreduce(torch.tensor([len(sampler)]), average=False, name="counts")
    rows = hvd.allgather(torch.full((hvd.rank() + 1, 2), float(hvd.rank())))
    if hvd.rank() == 0:
        print(int(counts), rows.tolist(), flush=True)
        torch.save(model.state_dict(), "model.pt")
    hvd.shutdown()


if __name__ == "__main__":
    main()
