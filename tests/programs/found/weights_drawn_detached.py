# auto: random numbers are copied into a weight that is detached
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
    w = net[0].weight.detach()
    dead = w.norm(dim=1, keepdim=True) < 0.6
    w.copy_(torch.where(dead, 0.3 * torch.randn_like(w), w))
    print(loss.item(), net[0].weight.norm().item())
