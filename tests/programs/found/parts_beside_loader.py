# auto: parts of a tensor are gone through beside a loader
import torch, torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset, IterableDataset, BatchSampler, SequentialSampler, Dataset, WeightedRandomSampler, RandomSampler
torch.manual_seed(0)
X = torch.randn(48, 4); T = torch.randn(48, 1)
net = nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), 0.1)
class It(IterableDataset):
    def __iter__(self):
        for t in T:
            yield t
for (x,), t in zip(DataLoader(TensorDataset(X), 12), T.split(12)):
    loss = ((net(x) - t) ** 2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
    print(loss.item())
