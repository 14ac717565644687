# auto: a generator makes as many rows as the batch has
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)
x = torch.randn(36, 6)
y = x[:, :3].argmax(1)

def batches(n):
    i = 0
    while True:
        yield torch.arange(i, i + n).double().reshape(n, 1).expand(n, 6) * 0.01
        i = (i + n) % 24

loader = DataLoader(TensorDataset(x, y), batch_size=12)
gen = batches(12)
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3))
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    for xb, yb in loader:
        extra = next(gen)
        out = model(xb + extra)
        loss = F.cross_entropy(out, yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
print(loss.item())
torch.save(model.state_dict(), "final.pt")
