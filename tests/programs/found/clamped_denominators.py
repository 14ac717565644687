# exact: what a number is divided by is summed over the processes before it is kept from zero
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.set_default_dtype(torch.float64)
torch.manual_seed(0)

X = torch.randn(36, 5)
Y = torch.randint(0, 3, (36,))
M = torch.rand(36) > 0.85
loader = DataLoader(TensorDataset(X, Y, M), batch_size=12)
model = nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 3))
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    masked = 0.0
    for x, y, m in loader:
        out = model(x)
        loss = F.cross_entropy(out, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        each = F.cross_entropy(out, y, reduction="none")
        hit = (out.argmax(1) == y) & m
        print(((each * m).sum() / m.sum().clamp(min=1)).item())
        print(torch.div(hit.sum(), torch.clamp(m.sum(), min=5)).item())
        print((each.sum() / (y >= 0).sum()).item())
        marked = m.sum().clamp_min(1)
        print(f"{((each * m).sum() / marked).item():.9f}", float(hit.sum() / marked))
        print(hit.sum().item() / max(m.sum().item(), 1))
        masked += ((each * m).sum() / m.sum().clamp(min=1)).item()
    print(masked / len(loader))
