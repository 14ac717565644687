# auto: a range over the batch is made ahead of the training
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
torch.set_default_dtype(torch.float64)
CFG = {"bs": 12, "lr": 0.1}
torch.manual_seed(0)
X = torch.randn(36, 4)
Y = torch.randint(0, 3, (36,))
model = nn.Linear(4, 3)
opt = torch.optim.SGD(model.parameters(), lr=CFG["lr"])
rows = torch.arange(CFG["bs"])
for x, y in DataLoader(TensorDataset(X, Y), batch_size=CFG["bs"]):
    loss = -model(x).log_softmax(1)[rows, y].mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(loss.item())
torch.save(model.state_dict(), "final.pt")
