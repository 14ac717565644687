# said auto: a coin in a forward pass is the same on all ranks where calls are split
import random, types, torch, torch.nn as nn
from torch.utils.data import DataLoader, Dataset, TensorDataset
torch.set_default_dtype(torch.float64); torch.manual_seed(0); random.seed(0)
X = torch.randn(32, 4); T = torch.randint(0, 5, (32, 4))

class Net(nn.Module):
    def __init__(self): super().__init__(); self.e = nn.Embedding(5, 6); self.o = nn.Linear(6, 5)
    def forward(self, t, p):
        if random.random() < p: tok = t
        else: tok = t.flip(1)
        return self.o(self.e(tok))
net = Net(); opt = torch.optim.SGD(net.parameters(), .1)
for ep in range(3):
    for t in DataLoader(T, 8): l = nn.functional.cross_entropy(net(t, .5).flatten(0, 1), t.flatten()); opt.zero_grad(); l.backward(); opt.step()
    print(l.item())
torch.save(net.state_dict(), "final.pt")
