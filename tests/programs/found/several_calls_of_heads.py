# exact: several calls use a head each, and a parameter is used outside of the model
import torch, torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class Reg(nn.Module):
    def __init__(self):
        super().__init__()
        self.heads = nn.ModuleDict({"a": nn.Linear(5, 1), "b": nn.Linear(5, 1)})
        self.log_sigma = nn.Parameter(torch.zeros(()))

    def forward(self, x, head):
        return self.heads[head](x).squeeze(1)


torch.manual_seed(0)
X = torch.randn(48, 5)
model = Reg()
opt = torch.optim.SGD(model.parameters(), lr=1e-2)
for x, y in DataLoader(TensorDataset(X, X.sum(1)), batch_size=12):
    err = (model(x, "a") - y) ** 2 + (model(x, "b") + y) ** 2
    loss = (0.5 * err * torch.exp(-2 * model.log_sigma) + model.log_sigma).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(loss.item(), model.log_sigma.item())
