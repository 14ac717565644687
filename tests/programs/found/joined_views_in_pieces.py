# said: pieces of joined views are compared with each other
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.set_default_dtype(torch.float64)
torch.manual_seed(0)

class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 4))
        self.temperature = nn.Parameter(torch.tensor(0.5))
    def forward(self, a):
        return self.net(a)
X = torch.randn(36, 5)
Y = torch.randint(0, 3, (36,))
loader = DataLoader(TensorDataset(X, Y), batch_size=12)
model = Encoder()
opt = torch.optim.SGD(model.parameters(), lr=0.05)
for epoch in range(2):
    for x, y in loader:
        u, v = model(torch.cat([x, x * 1.1])).chunk(2)
        loss = F.cross_entropy(u @ v.t() / 0.5, torch.arange(len(x)))
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
torch.save(model.state_dict(), 'final.pt')
