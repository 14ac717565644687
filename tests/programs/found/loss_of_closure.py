# exact: what a step gives back is the loss of its closure
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.set_default_dtype(torch.float64)
torch.manual_seed(0)

X = torch.randn(36, 5)
Y = torch.randint(0, 3, (36,))
loader = DataLoader(TensorDataset(X, Y), batch_size=12)
model = nn.Sequential(nn.Linear(5, 6), nn.Tanh(), nn.Linear(6, 3))
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    for x, y in loader:
        def closure():
            opt.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            return loss
        loss = opt.step(closure)
        print(loss.item())
torch.save(model.state_dict(), 'final.pt')
