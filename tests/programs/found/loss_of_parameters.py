# auto: a method gives a loss of parameters beside the calls
import torch, torch.nn as nn, torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class BayesLinear(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.mu = nn.Parameter(torch.zeros(o, i))
        self.rho = nn.Parameter(torch.full((o, i), -3.0))

    def kl(self):
        s = F.softplus(self.rho)
        return (0.5 * (self.mu ** 2 + s ** 2) - s.log()).sum()

    def forward(self, x):
        return F.linear(x, self.mu)


class BNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = BayesLinear(5, 1)

    def forward(self, x):
        return self.a(x).squeeze(1)

    def kl(self):
        return sum(m.kl() for m in self.modules() if isinstance(m, BayesLinear))


torch.manual_seed(0)
X = torch.randn(48, 5)
net = BNN()
opt = torch.optim.SGD(net.parameters(), lr=1e-2)
for x, y in DataLoader(TensorDataset(X, X.sum(1)), batch_size=12):
    nll = F.mse_loss(net(x), y)
    loss = nll + net.kl() / 48
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(nll.item(), net.kl().item())
