# said: a hook behind a parameter's gradient reads that of one share
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.set_default_dtype(torch.float64)
torch.manual_seed(0)

X = torch.randn(36, 5)
Y = torch.randint(0, 3, (36,))
loader = DataLoader(TensorDataset(X, Y), batch_size=12)
model = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 3))
opt = torch.optim.SGD(model.parameters(), lr=0.1)
seen = {}
model[2].weight.register_post_accumulate_grad_hook(lambda p: seen.update(q=p.grad.norm()))
for epoch in range(2):
    for x, y in loader:
        opt.zero_grad()
        out = model(x)
        loss = F.cross_entropy(out, y)
        pass
        loss.backward()
        opt.step()
        pass
    print(epoch, loss.item(), {k: float(v) for k, v in seen.items()})
torch.save(model.state_dict(), 'final.pt')
