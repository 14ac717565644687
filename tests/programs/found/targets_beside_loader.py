# auto: targets are cut out by a counter beside a loader
import torch, torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(0)
X = torch.randn(48, 4); T = torch.randn(48, 1)
net = nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), 0.1)
for i, (x,) in enumerate(DataLoader(TensorDataset(X), 12)):
    t = T[i * 12:(i + 1) * 12]
    loss = ((net(x) - t) ** 2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
    print(loss.item())
