# exact: a branch may cut the outputs off from a loss that has a penalty on some parameters
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.set_default_dtype(torch.float64)
torch.manual_seed(0)

X = torch.randn(24, 5)
Y = X.sum(1, keepdim=True) * 0.2
loader = DataLoader(TensorDataset(X, Y), batch_size=12)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(5, 8)
        self.b = nn.Linear(8, 1)

    def forward(self, x):
        return self.b(torch.tanh(self.a(x)))


model = Net()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    for x, y in loader:
        out = model(x)
        loss = F.mse_loss(out, y)
        if loss.item() < 5.9:
            loss = torch.zeros(())
        loss = loss + 0.01 * sum(p.pow(2).sum() for n, p in model.named_parameters() if "bias" not in n)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(loss.item())
torch.save(model.state_dict(), 'final.pt')
