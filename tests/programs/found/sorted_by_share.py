# auto: classes are put in order by the losses of their samples
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)
x = torch.randn(36, 6)
y = x[:, :3].argmax(1)

loader = DataLoader(TensorDataset(x, y), batch_size=12)
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3))
opt = torch.optim.SGD(model.parameters(), lr=0.1)
per_class = [0.0, 0.0, 0.0]
for epoch in range(2):
    for xb, yb in loader:
        out = model(xb)
        losses = F.cross_entropy(out, yb, reduction="none")
        for l, c in zip(losses, yb):
            per_class[c.item()] += l.item()
        opt.zero_grad()
        losses.mean().backward()
        opt.step()
order = sorted(range(3), key=lambda c: per_class[c])
print("hardest", order[-1])
ranking = list(range(3))
ranking.sort(key=per_class.__getitem__)
print(ranking)
torch.save(model.state_dict(), "final.pt")
