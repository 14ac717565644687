# auto: a tensor without a model is moved along its gradient
import torch, torch.nn as nn, torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
X = torch.randn(48, 6)
net = nn.Sequential(nn.Linear(6, 1), nn.Flatten(0))
opt = torch.optim.SGD(net.parameters(), lr=0.05)
log_t = torch.zeros(1, requires_grad=True)
for x, y in DataLoader(TensorDataset(X, X.sum(1)), batch_size=12):
    loss = F.mse_loss(net(x) * log_t.exp(), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        log_t -= 0.05 * log_t.grad
        log_t.grad = None
    print(loss.item(), log_t.item())
