# auto: weights alternate over the places in the batch
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
torch.set_default_dtype(torch.float64)
torch.manual_seed(0)
X, Y = torch.randn(36, 6), torch.randn(36, 2)
model = nn.Linear(6, 2)
opt = torch.optim.SGD(model.parameters(), lr=0.1)

loader = DataLoader(TensorDataset(X, Y), batch_size=12)
for x, y in loader:
    w = torch.tensor([1.0, 0.0]).repeat(len(x) // 2)
    loss = (w * (model(x) - y).pow(2).mean(1)).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(loss.item())
torch.save(model.state_dict(), "final.pt")
