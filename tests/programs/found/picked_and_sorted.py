# exact: what is sorted, picked, closed over or redrawn is that of all processes
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

torch.set_default_dtype(torch.float64)
torch.manual_seed(0)
np.random.seed(0)


class Bag(Dataset):
    def __init__(self):
        self.x, self.y = torch.randn(36, 5), torch.randint(0, 3, (36,))
        self.resample()

    def resample(self):
        self.order = np.random.permutation(36)

    def __len__(self):
        return 36

    def __getitem__(self, index):
        return self.x[self.order[index]], self.y[self.order[index]]


bag = Bag()
loader = DataLoader(bag, batch_size=12)
model = nn.Sequential(nn.Linear(5, 6), nn.Tanh(), nn.Linear(6, 3))
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    bag.resample()
    rows, wrong = [], []
    for step, (x, y) in enumerate(loader):

        def closure():
            opt.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            return loss.item()

        wrong += [int(one) for one in y[model(x).argmax(1) != y]]
        rows.append((opt.step(closure), step))
        print(x[0].size(0))
    print(sorted(rows, key=lambda row: row[0])[0], len(wrong))
torch.save(model.state_dict(), "final.pt")
