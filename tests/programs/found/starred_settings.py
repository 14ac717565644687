# exact: the number of epochs was taken for the batch size, as both are unpacked behind a star
import sys
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.set_default_dtype(torch.float64)
torch.manual_seed(0)

*_, lr, epochs, batch = 'x', 0.1, 2, 12
X = torch.randn(36, 5)
Y = torch.randint(0, 3, (36,))
loader = DataLoader(TensorDataset(X, Y), batch_size=batch)
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
    it = iter(loader)
    while (b := next(it, None)) is not None:
        losses.append(step(*b))
    sys.stdout.write(f'{epoch} {float(losses[-1])!r}\n')
torch.save(model.state_dict(), 'final.pt')
