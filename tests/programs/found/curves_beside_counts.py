# exact: numbers in a curve are reduced, too, where what it is divided by is a count
import random

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.set_default_dtype(torch.float64)
torch.manual_seed(0)

X = torch.randn(36, 5)
Y = torch.randint(0, 3, (36,))
loader = DataLoader(TensorDataset(X, Y), batch_size=12)
model = nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 3))
opt = torch.optim.SGD(model.parameters(), lr=0.1)


def mixed(share, first, second):
    return share * first + (1 - share) * second


for epoch in range(2):
    n = 0
    inverse = rounded = either = smooth = shares = parts = total = 0.0
    for x, y in loader:
        lam = 0.3 + 0 * random.random()
        out = model(x)
        loss = lam * F.cross_entropy(out, y) + (1 - lam) * F.cross_entropy(out, (y + 1) % 3)
        opt.zero_grad()
        loss.backward()
        opt.step()
        pred = out.argmax(1)
        hit = (pred == y).sum()
        inverse += 3 / (1 + hit.item())
        rounded += int(10 * loss.item() * len(x))
        either += hit.item() if epoch == 0 else loss.item()
        smooth = 0.9 * smooth + 0.1 * hit.item() / (1 + (y == 1).sum().item())
        shares += lam * (pred == y).sum().item() + (1 - lam) * (pred == (y + 1) % 3).sum().item()
        parts += mixed(lam, F.nll_loss(out, y).item(), loss.item()) * x.size(0)
        total += lam * (pred == 1).sum().item()
        n += len(x)
    print(inverse / n, rounded / n, either / n, smooth / n, shares / n, parts / n, total)
