# exact: a loss meets a parameter that calls of the model do without
from dataclasses import dataclass
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class Output:
    a: torch.Tensor
    b: torch.Tensor


class MultiTask(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(6, 1)
        self.b = nn.Linear(6, 1)
        self.log_vars = nn.Parameter(torch.zeros(2))

    def forward(self, x):
        return Output(self.a(x)[:, 0], self.b(x)[:, 0])

    def compute_loss(self, out, y):
        losses = torch.stack([((out.a - y) ** 2).mean(), ((out.b + y) ** 2).mean()])
        return (torch.exp(-self.log_vars) * losses + self.log_vars).sum()


torch.manual_seed(0)
x = torch.randn(24, 6)
train = DataLoader(TensorDataset(x, x[:, 0]), batch_size=12)
model = MultiTask()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(2):
    for xb, yb in train:
        out = model(xb)
        loss = model.compute_loss(out, yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
