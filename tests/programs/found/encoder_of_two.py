# exact: two models have an encoder, which one of them detaches
import torch, torch.nn as nn, torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class Actor(nn.Module):
    def __init__(self, enc):
        super().__init__()
        self.enc, self.head = enc, nn.Linear(8, 1)

    def forward(self, o):
        return torch.tanh(self.head(self.enc(o).detach()))


class Critic(nn.Module):
    def __init__(self, enc):
        super().__init__()
        self.enc, self.head = enc, nn.Linear(9, 1)

    def forward(self, o, a):
        return self.head(torch.cat([self.enc(o), a], 1))


torch.manual_seed(0)
enc = nn.Linear(6, 8)
actor, critic = Actor(enc), Critic(enc)
aopt = torch.optim.SGD(actor.head.parameters(), lr=1e-2)
copt = torch.optim.SGD(critic.parameters(), lr=1e-2)
O, A = torch.randn(48, 6), torch.rand(48, 1)
for o, a in DataLoader(TensorDataset(O, A), batch_size=12):
    closs = F.mse_loss(critic(o, a), a)
    copt.zero_grad()
    closs.backward()
    copt.step()
    aloss = -critic(o, actor(o)).mean()
    aopt.zero_grad()
    aloss.backward()
    aopt.step()
    print(closs.item(), aloss.item())
