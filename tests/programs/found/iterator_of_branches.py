# exact: the sampler of the branch that did not run was told the epoch
from tqdm import tqdm
from types import SimpleNamespace
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.set_default_dtype(torch.float64)
torch.manual_seed(0)

cfg = SimpleNamespace(**{'lr': 0.1, 'epochs': 2, 'batch': 12})
lr, epochs, batch = cfg.lr, cfg.epochs, cfg.batch
X = torch.randn(36, 5)
Y = torch.randint(0, 3, (36,))
if (n := batch) > 4:
    loader = DataLoader(TensorDataset(X, Y), batch_size=n)
else:
    loader = DataLoader(TensorDataset(X, Y), batch_size=4)
model = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 3))
opt = torch.optim.SGD(model.parameters(), lr=lr)
criterion = nn.CrossEntropyLoss()
def step(x, y):
    opt.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    opt.step()
    return loss.item()
for epoch in range(epochs):
    losses = []
    for x, y in tqdm(iter(loader)):
        losses.append(step(x, y))
    print(epoch, sum(losses) / len(losses))
torch.save(model.state_dict(), 'final.pt')
