# exact: a dict literal makes two training loaders
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset
torch.set_default_dtype(torch.float64)
torch.manual_seed(0)
X = torch.randn(36, 5)
Y = torch.randint(0, 3, (36,))
loaders = {
    'a': DataLoader(TensorDataset(X, Y), batch_size=12, shuffle=True),
    'b': DataLoader(TensorDataset(X, Y), batch_size=6, shuffle=True),
}
model = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 3))
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    for name, loader in loaders.items():
        for x, y in loader:
            opt.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            opt.step()
print(loss.item())
torch.save(model.state_dict(), 'final.pt')
