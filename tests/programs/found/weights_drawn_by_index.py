# auto: random numbers are put into rows of a weight
import torch, torch.nn as nn, torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
X = torch.randn(48, 6)
net = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 1), nn.Flatten(0))
opt = torch.optim.SGD(net.parameters(), lr=0.05)
for x, y in DataLoader(TensorDataset(X, X.sum(1)), batch_size=12):
    loss = F.mse_loss(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        dead = net[0].weight.norm(dim=1) < 0.6
        net[0].weight[dead] = 0.3 * torch.randn(int(dead.sum()), 6)
    print(loss.item(), net[0].weight.norm().item())
