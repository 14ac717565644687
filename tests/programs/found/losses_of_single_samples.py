# said: losses of single samples, of a subset and of one output, are added up
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Subset, TensorDataset

device = torch.device('cpu')

torch.set_default_dtype(torch.float64)
torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stack = nn.ModuleList([
            nn.Linear(5, 8),
            nn.ReLU(),
            nn.Linear(8, 3),
        ])

    def forward(self, h):
        for layer in self.stack:
            h = layer(h)
        return h


X = torch.randn(36, 5, device=device)
Y = torch.randint(0, 3, (36,), device=device)
train_set = Subset(TensorDataset(X, Y), list(range(0, 36)))
train_loader = DataLoader(train_set, batch_size=12)
model = Net().to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

for epoch in range(2):
    model.train()
    for x, y in train_loader:
        optimizer.zero_grad()
        out = model(x)
        loss = sum(F.cross_entropy(o[None], c[None]) for o, c in zip(out, y))
        loss.backward()
        optimizer.step()
torch.save(model.state_dict(), 'final.pt')
