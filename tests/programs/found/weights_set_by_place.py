# auto: weights are set for half of the places in the batch
import random
import math
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset, Dataset
torch.set_default_dtype(torch.float64)
torch.manual_seed(0)
random.seed(0)
np.random.seed(0)
BATCH = 12
X = torch.randn(36, 6)
Y = X[:, :2].sin() + X[:, 2:4]
W = torch.rand(36)

loader = DataLoader(TensorDataset(X, Y), batch_size=BATCH)
model = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 2))
opt = torch.optim.SGD(model.parameters(), lr=0.05)
step = 0
for epoch in range(3):
    total = 0.0
    for x, y in loader:
        w = torch.ones(len(x))
        w[len(x) // 2:] = 0
        loss = (w * (model(x) - y).pow(2).mean(1)).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        step += 1
        total += loss.item()
    print(f"epoch {epoch} {total / len(loader):.9f}")

torch.save(model.state_dict(), "final.pt")
