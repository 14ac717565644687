import argparse

import horovod
import horovod.torch as hvd
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def main(args):
    hvd.init()
    torch.manual_seed(args.seed)
    generator = torch.Generator().manual_seed(1)
    inputs = torch.randn(64, 6, generator=generator)
    data = TensorDataset(inputs, inputs.cumsum(1)[:, -1:])
    sampler = DistributedSampler(data, num_replicas=hvd.size(), rank=hvd.rank())
    loader = DataLoader(data, batch_size=args.batch_size, sampler=sampler)
    model = nn.Sequential(nn.Linear(6, 12), nn.Tanh(), nn.Linear(12, 1))
    scale = args.passes * hvd.size() if not args.adasum else 1
    if args.adasum and hvd.nccl_built():
        scale = args.passes * hvd.local_size()
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr * scale)
    compression = hvd.Compression.fp16 if args.fp16 else hvd.Compression.none
    optimizer = hvd.DistributedOptimizer(
        optimizer,
        named_parameters=model.named_parameters(),
        compression=compression,
        backward_passes_per_step=args.passes,
        op=hvd.Adasum if args.adasum else hvd.Average,
        gradient_predivide_factor=args.predivide,
    )
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    hvd.broadcast_optimizer_state(optimizer, root_rank=0)
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        for x, y in loader:
            optimizer.zero_grad()
            for start in range(0, len(x), len(x) // args.passes):
                rows = slice(start, start + len(x) // args.passes)
                loss = nn.functional.mse_loss(model(x[rows]), y[rows]) / args.passes
                loss.backward()
            optimizer.step()
    if hvd.rank() == 0:
        torch.save(model.state_dict(), "model.pt")


parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=3)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--epochs", type=int, default=2)
parser.add_argument("--batch-size", type=int, default=8)
parser.add_argument("--passes", type=int, default=2)
parser.add_argument("--fp16", action="store_true")
parser.add_argument("--adasum", action="store_true")
parser.add_argument("--predivide", type=float, default=1.0)
parser.add_argument("--processes", type=int)

if __name__ == "__main__":
    args = parser.parse_args()
    if args.processes:
        horovod.run(main, args=(args,), np=args.processes)
    else:
        main(args)
