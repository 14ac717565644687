# auto: what NumPy draws has as many rows as a batch, by a literal
import numpy as np
import torch, torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
rng = np.random.RandomState(0)
X = torch.randn(48, 2)
D = nn.Linear(2, 1)
opt = torch.optim.SGD(D.parameters(), lr=0.1)
for epoch in range(2):
    for (x,) in DataLoader(TensorDataset(X), batch_size=12):
        eps = torch.as_tensor(rng.rand(12, 1), dtype=x.dtype)
        loss = D(eps * x).mean() + D(x).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
