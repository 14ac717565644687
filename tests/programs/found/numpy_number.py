# exact: numbers of NumPy stay such where they are averaged
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.set_default_dtype(torch.float64)
torch.manual_seed(0)
X, Y = torch.randn(48, 5), torch.randint(0, 3, (48,))
model = nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 3))
opt = torch.optim.SGD(model.parameters(), lr=0.1)
kept = []
for x, y in DataLoader(TensorDataset(X, Y), batch_size=12):
    out = model(x)
    loss = nn.functional.cross_entropy(out, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    kept.append(np.mean(out.detach().numpy()))
print(kept)
