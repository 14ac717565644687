# auto: rows of a bank are taken by a range over the samples
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
torch.set_default_dtype(torch.float64)
torch.manual_seed(0)
bank = torch.randn(12, 5)
x = torch.randn(36, 5)
loader = DataLoader(TensorDataset(x), batch_size=12)
model = nn.Linear(5, 5)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for (xb,) in loader:
    eps = bank[torch.arange(xb.size(0))]
    loss = ((model(xb) - eps) ** 2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
torch.save(model.state_dict(), "final.pt")
