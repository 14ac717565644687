# said: a method of the model takes one sample out of the batch
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.set_default_dtype(torch.float64)
torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc0 = nn.Linear(5, 8)
        self.act0 = nn.ReLU()
        self.fc1 = nn.Linear(8, 8)
        self.act1 = nn.ReLU()
        self.fc2 = nn.Linear(8, 8)
        self.act2 = nn.ReLU()
        self.head = nn.Linear(8, 4)

    def scores(self, h):
        h = self.fc0(h)
        h = self.act0(h)
        h = self.fc1(h)
        h = self.act1(h)
        h = self.fc2(h)
        h = self.act2(h)
        h = h - 0.5 * h[0]
        h = self.head(h)
        return h


X = torch.randn(36, 5)
Y = (torch.rand(36, 4) > 0.6).double()
train_set = TensorDataset(X, Y)
train_loader = DataLoader(train_set, batch_size=12)
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

for epoch in range(2):
    model.train()
    for x, y in train_loader:
        optimizer.zero_grad()
        out = model.scores(x)
        loss = F.binary_cross_entropy_with_logits(out, y)
        loss.backward()
        optimizer.step()
torch.save(model.state_dict(), 'final.pt')
