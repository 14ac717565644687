"""Writes PyTorch training scripts of any length that really train.

The script grows by what makes real scripts long: layers, measures and options, each of them used.
"""

from __future__ import annotations

HEAD = '''\
"""Classifies points by a network of residual blocks."""

import argparse

import torch
import torch.nn.functional as F
from torch import nn, optim
from torch.utils.data import DataLoader, TensorDataset
'''

BLOCK = '''

class Block{index}(nn.Module):
    """Adds what two layers make of the input, number {index}."""

    def __init__(self, width, rate={rate}):
        super().__init__()
        self.first = nn.Linear(width, 2 * width)
        self.second = nn.Linear(2 * width, width)
        self.rate = rate

    def forward(self, x):
        hidden = F.relu(self.first(x))
        if self.rate > 0:
            hidden = F.dropout(hidden, self.rate, self.training)
        return x + self.second(hidden)


def measure{index}(output, target):
    """Count the targets among the {index} most probable classes."""
    _, best = output.topk(min({index}, output.size(1)), dim=1)
    hits = best.eq(target.view(-1, 1))
    return hits.any(dim=1).sum().item()
'''

MODEL_HEAD = """

class Network(nn.Module):
    def __init__(self, width, classes):
        super().__init__()
        self.entry = nn.Linear(16, width)
"""

MODEL_LAYER = """\
        self.block{index} = Block{index}(width)
"""

MODEL_MIDDLE = """\
        self.exit = nn.Linear(width, classes)

    def forward(self, x):
        x = F.relu(self.entry(x))
"""

MODEL_CALL = """\
        x = self.block{index}(x)
"""

TAIL_HEAD = """\
        return self.exit(x)


def train(args, model, device, train_loader, optimizer, epoch):
    model.train()
    for batch_idx, (data, target) in enumerate(train_loader):
        data, target = data.to(device), target.to(device)
        optimizer.zero_grad()
        output = model(data)
        loss = F.cross_entropy(output, target)
        loss.backward()
        optimizer.step()
        if batch_idx % args.log_interval == 0:
            print("Epoch {} step {}: {:.4f}".format(epoch, batch_idx, loss.item()))


def evaluate(model, device, test_loader):
    model.eval()
    hits = {}
    with torch.no_grad():
        for data, target in test_loader:
            data, target = data.to(device), target.to(device)
            output = model(data)
"""

MEASURE = """\
            hits[{index}] = hits.get({index}, 0) + measure{index}(output, target)
"""

TAIL = """\
    for name, count in hits.items():
        print("Among the best {}: {:.2f}".format(name, count / len(test_loader.dataset)))


def points(count, classes):
    data = torch.randn(count, 16)
    return TensorDataset(data, data[:, :classes].argmax(dim=1))


def main():
    parser = argparse.ArgumentParser(description="Residual network")
    parser.add_argument("--batch-size", type=int, default=64, help="samples in a batch")
    parser.add_argument("--epochs", type=int, default=2, help="passes over the data")
    parser.add_argument("--lr", type=float, default=0.05, help="learning rate")
    parser.add_argument("--width", type=int, default=32, help="width of the layers")
    parser.add_argument("--seed", type=int, default=1, help="random seed")
    parser.add_argument("--log-interval", type=int, default=4, help="batches between two logs")
    parser.add_argument("--save-model", action="store_true", help="save the model")
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    train_loader = DataLoader(points(512, 8), batch_size=args.batch_size, shuffle=True)
    test_loader = DataLoader(points(128, 8), batch_size=args.batch_size)

    model = Network(args.width, 8).to(device)
    optimizer = optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    scheduler = optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.7)
    for epoch in range(1, args.epochs + 1):
        train(args, model, device, train_loader, optimizer, epoch)
        evaluate(model, device, test_loader)
        scheduler.step()

    if args.save_model:
        torch.save(model.state_dict(), "network.pt")


if __name__ == "__main__":
    main()
"""


def training_script(lines: int) -> str:
    """Return a training script of at least `lines` lines, and of hardly more."""
    blocks = 1
    while (text := _with_blocks(blocks)).count("\n") < lines:
        blocks += 1
    return text


def _with_blocks(count: int) -> str:
    indices = range(1, count + 1)
    return "".join(
        (
            HEAD,
            *(BLOCK.format(index=index, rate=f"0.{index % 5}") for index in indices),
            MODEL_HEAD,
            *(MODEL_LAYER.format(index=index) for index in indices),
            MODEL_MIDDLE,
            *(MODEL_CALL.format(index=index) for index in indices),
            TAIL_HEAD,
            *(MEASURE.format(index=index) for index in indices),
            TAIL,
        )
    )
