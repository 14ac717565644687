# exact: numbers of samples are hidden in what a library is given
import statistics
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.set_default_dtype(torch.float64)
torch.manual_seed(0)

lr, epochs, batch = 0.1, 2, 12
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
    return loss.item() / len(x)
for epoch in range(epochs):
    losses = []
    for x, y in loader:
        losses.append(step(x, y))
    print(epoch, statistics.mean(map(float, losses)), statistics.median(losses))
torch.save(model.state_dict(), 'final.pt')
