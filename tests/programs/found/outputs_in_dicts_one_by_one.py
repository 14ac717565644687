# said auto: the samples of an output that stands in a dict are taken one by one
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

torch.set_default_dtype(torch.float64)
torch.manual_seed(0)


class Samples(Dataset):
    def __init__(self, a, b):
        self.a, self.b = a, b

    def __len__(self):
        return len(self.a)

    def __getitem__(self, index):
        return self.a[index], self.b[index]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stack = nn.ModuleList([
            nn.Linear(5, 8),
            nn.ReLU(),
            nn.Linear(8, 3),
        ])

    def forward(self, h):
        for layer in self.stack:
            h = layer(h)
        return {"out": h, "feats": h}


X = torch.randn(36, 5)
Y = torch.randint(0, 3, (36,))
train_set = Samples(X, Y)
train_loader = DataLoader(train_set, batch_size=12)
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

for epoch in range(2):
    model.train()
    for x, y in train_loader:
        optimizer.zero_grad()
        out = model(x)['out']
        loss = sum(F.cross_entropy(o[None], c[None]) for o, c in zip(out, y))
        loss.backward()
        optimizer.step()
torch.save(model.state_dict(), 'final.pt')
