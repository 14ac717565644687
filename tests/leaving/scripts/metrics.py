import argparse

import horovod.torch as hvd
import torch
import torch.nn.functional as F
from torch import nn, optim
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 8)
        self.second = nn.Linear(8, 3)

    def forward(self, x):
        return self.second(F.relu(self.first(x)))


def metric_average(value, name):
    tensor = torch.tensor(value)
    return hvd.allreduce(tensor, name=name).item()


def train(epoch):
    model.train()
    train_sampler.set_epoch(epoch)
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()


def test(epoch):
    model.eval()
    loss, correct = 0.0, 0.0
    for x, y in test_loader:
        output = model(x)
        loss += F.cross_entropy(output, y, reduction="sum").item()
        correct += output.argmax(1).eq(y).float().sum().item()
    loss = metric_average(loss / len(test_sampler), "avg_loss")
    correct = metric_average(correct / len(test_sampler), "avg_accuracy")
    if hvd.rank() == 0:
        print(f"{epoch}: {loss:.6f} {correct:.4f}")


parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=0.05)
parser.add_argument("--epochs", type=int, default=2)
args = parser.parse_args()
hvd.init()
torch.manual_seed(3 + hvd.rank())
if torch.cuda.is_available():
    torch.cuda.set_device(hvd.local_rank())
generator = torch.Generator().manual_seed(0)
data = TensorDataset(
    torch.randn(96, 4, generator=generator), torch.randint(3, (96,), generator=generator)
)
train_sampler = DistributedSampler(data, num_replicas=hvd.size(), rank=hvd.rank())
train_loader = DataLoader(data, batch_size=8, sampler=train_sampler)
test_sampler = DistributedSampler(data, num_replicas=hvd.size(), rank=hvd.rank())
test_loader = DataLoader(data, batch_size=8, sampler=test_sampler)
model = Net()
optimizer = optim.SGD(model.parameters(), lr=args.lr * hvd.size(), momentum=0.9)
hvd.broadcast_parameters(model.state_dict(), root_rank=0)
hvd.broadcast_optimizer_state(optimizer, root_rank=0)
optimizer = hvd.DistributedOptimizer(
    optimizer, named_parameters=model.named_parameters(), op=hvd.Average
)
for epoch in range(args.epochs):
    train(epoch)
    test(epoch)
hvd.join()
if hvd.rank() == 0:
    torch.save(model.state_dict(), "model.pt")
