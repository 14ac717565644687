# exact: chance decides whether a batch is counted, and whether its loss is shown
import torch, random
import numpy as np
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset
torch.set_default_dtype(torch.float64)
torch.manual_seed(0)
random.seed(0)
X = torch.randn(36, 5)
Y = torch.randint(0, 3, (36,))
loader = DataLoader(TensorDataset(X, Y), batch_size=12)
model = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 3))
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    correct = 0
    for x, y in loader:
        opt.zero_grad()
        out = model(x)
        loss = F.cross_entropy(out, y)
        loss.backward()
        opt.step()
        if random.random() < 0.1: print("seldom", loss.item())
        if np.random.rand() < .5:
            correct += (out.argmax(1) == y).sum().item()
    print(epoch, correct)
torch.save(model.state_dict(), 'final.pt')
