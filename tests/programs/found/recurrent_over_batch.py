# said: rows of the first rank do not depend on the others, those of the others do
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.set_default_dtype(torch.float64)
torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(11, 4)
        self.rnn = nn.GRU(4, 6)
        self.head = nn.Linear(6, 3)

    def forward(self, h):
        h = self.emb(h)
        h, _ = self.rnn(h)
        h = h.mean(1)
        h = self.head(h)
        return h


X = torch.randint(1, 11, (36, 5))
Y = torch.randint(0, 3, (36,))
train_set = TensorDataset(X, Y)
train_loader = DataLoader(train_set, batch_size=12)
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

for epoch in range(2):
    model.train()
    for x, y in train_loader:
        optimizer.zero_grad()
        out = model(x)
        loss = F.cross_entropy(out, y)
        loss.backward()
        optimizer.step()
torch.save(model.state_dict(), 'final.pt')
