# said: a deviation of the outputs is that of one process's share of what is cut out of the data
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)
torch.manual_seed(0)


def batches_of(a, b, size):
    order = torch.randperm(len(a))
    for j in range(0, len(a), size):
        rows = order[j:j + size]
        yield a[rows], b[rows]


X = torch.randn(36, 5)
Y = torch.randint(0, 3, (36,))
model = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

for epoch in range(2):
    model.train()
    running0 = 0.0
    running1 = 0.0
    running2 = 0.0
    for x, y in batches_of(X, Y, 12):
        optimizer.zero_grad()
        out = model(x)
        loss = F.cross_entropy(out, y)
        loss.backward()
        optimizer.step()
        running0 += loss.item()
        running1 += out.std().item()
        running2 += out.mean().item()
    print(epoch, running0 / len(range(0, len(X), 12)))
    print(epoch, running1 / len(range(0, len(X), 12)))
    print(epoch, running2 / len(range(0, len(X), 12)))
torch.save(model.state_dict(), 'final.pt')
