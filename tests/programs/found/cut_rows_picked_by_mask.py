# exact: outputs for batches that are cut out are picked by a mask of their targets
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)
torch.manual_seed(0)


X = torch.randn(36, 5)
Y = torch.randint(0, 3, (36,))
model = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

for epoch in range(2):
    model.train()
    for x, y in zip(X.split(12), Y.split(12)):
        optimizer.zero_grad()
        out = model(x)
        mask = y != 2
        loss = F.cross_entropy(out[mask], y[mask])
        loss.backward()
        optimizer.step()
torch.save(model.state_dict(), 'final.pt')
