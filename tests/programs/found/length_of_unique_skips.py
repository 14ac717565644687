# said: how many classes a share has decides whether a step is made
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.set_default_dtype(torch.float64)
torch.manual_seed(0)

X = torch.randn(36, 5)
Y = torch.randint(0, 3, (36,))
loader = DataLoader(TensorDataset(X, Y), batch_size=12)
model = nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 3))
opt = torch.optim.SGD(model.parameters(), lr=0.1)
plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, patience=0)
step, lowest = 0, 99.0
for epoch in range(3):
    total = 0.0
    for x, y in loader:
        if len(y.unique()) < 3: continue
        out = model(x)
        loss = F.cross_entropy(out, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        step += 1
        total += loss.item()
    print(epoch, total)
torch.save(model.state_dict(), 'final.pt')
