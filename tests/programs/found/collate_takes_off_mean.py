# said: a collate function takes off the mean of a share
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader

torch.set_default_dtype(torch.float64)
torch.manual_seed(0)

def collate(rows):
    a, b = map(torch.stack, zip(*rows))
    return a - a.mean(0), b
X = torch.randn(36, 5)
Y = torch.randint(0, 3, (36,))
loader = DataLoader(list(zip(X, Y)), batch_size=12, collate_fn=collate)
model = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 3))
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    for x, y in loader:
        out = model(x)
        loss = F.cross_entropy(out, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
torch.save(model.state_dict(), 'final.pt')
