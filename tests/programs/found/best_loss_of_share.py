# auto: the best loss so far was kept as that of a share
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)
torch.manual_seed(0)


X = torch.randn(36, 5)
Y = torch.randn(36, 2)
model = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

bad, best_batch = 0, float('inf')
for epoch in range(2):
    model.train()
    for j in range(0, X.size(0), 12):
        x = X[j:j + 12]
        y = Y[j:j + 12]
        optimizer.zero_grad()
        out = model(x)
        loss = F.kl_div(out.log_softmax(-1), y.softmax(-1), reduction='sum')
        loss.backward()
        optimizer.step()
        if loss.item() < best_batch - 1e-3:
            best_batch, bad = loss.item(), 0
        else:
            bad += 1
        if bad > 2:
            break
torch.save(model.state_dict(), 'final.pt')
