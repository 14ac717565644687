# exact: another model of the function is wrapped where a first one is, and saved there
import os
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.set_default_dtype(torch.float64)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(6, 16)
        self.b = nn.Linear(16, 3)

    def forward(self, x):
        return self.b(torch.relu(self.a(x)))


def build():
    torch.manual_seed(0)
    model = Net()
    opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    return model, opt


def train(model, opt, loader, start, end):
    for epoch in range(start, end):
        for x, y in loader:
            loss = F.cross_entropy(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(epoch, loss.item())
        torch.save({"model": model.state_dict(), "opt": opt.state_dict(), "epoch": epoch}, "ck.pt")


g = torch.Generator().manual_seed(1)
x = torch.randn(36, 6, generator=g)
y = x[:, :3].argmax(1)
loader = DataLoader(TensorDataset(x, y), batch_size=12)
model, opt = build()
train(model, opt, loader, 0, 2)
model, opt = build()
ck = torch.load("ck.pt")
model.load_state_dict(ck["model"])
opt.load_state_dict(ck["opt"])
train(model, opt, loader, ck["epoch"] + 1, 4)
torch.save(torch.load("ck.pt")["model"], "final.pt")
