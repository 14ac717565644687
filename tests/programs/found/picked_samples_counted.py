# said: how many samples a comprehension picks is not as many times N
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.set_default_dtype(torch.float64)
torch.manual_seed(0)


X = torch.randn(36, 5)
Y = torch.randint(0, 3, (36,))
train_set = TensorDataset(X, Y)
train_loader = DataLoader(train_set, batch_size=12)
model = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

for epoch in range(2):
    model.train()
    for x, y in train_loader:
        optimizer.zero_grad()
        out = model(x)
        loss = F.cross_entropy(out, y)
        loss.backward()
        optimizer.step()
        print(len([int(c) for c in y if c > 1]))
torch.save(model.state_dict(), 'final.pt')
