# auto: a constant has as many rows as a batch
import torch, torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
w = torch.arange(12.0)[:, None] / 12
X = torch.randn(48, 2)
D = nn.Linear(2, 1)
opt = torch.optim.SGD(D.parameters(), lr=0.1)
for epoch in range(2):
    for (x,) in DataLoader(TensorDataset(X), batch_size=12):
        eps = w
        loss = D(eps * x).mean() + D(x).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
