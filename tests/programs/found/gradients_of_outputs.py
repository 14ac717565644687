# exact: the gradient of an output is read between two backward passes, and lists are told by type
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.set_default_dtype(torch.float64)
torch.manual_seed(0)


class Codes(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.decoder = nn.Linear(5, 3), nn.Linear(3, 5)
        self.codes = nn.Embedding(4, 3)

    def forward(self, x):
        z = self.encoder(x)
        places = (z.unsqueeze(1) - self.codes.weight).pow(2).sum(2).argmin(1)
        q = self.codes(places)
        return self.decoder(q), z, q


def numbers(values):
    if type(values) == list:
        return [value.item() for value in values]
    return values.item()


loader = DataLoader(TensorDataset(torch.randn(36, 5)), batch_size=12)
model = Codes()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    for (x,) in loader:
        opt.zero_grad()
        out, z, q = model(x)
        q.retain_grad()
        loss = F.mse_loss(out, x)
        loss.backward(retain_graph=True)
        z.backward(q.grad, retain_graph=True)
        model.codes.zero_grad()
        F.mse_loss(q, z.detach()).backward(retain_graph=True)
        (0.25 * F.mse_loss(z, q.detach())).backward()
        opt.step()
        print(numbers(loss))
torch.save(model.state_dict(), 'final.pt')
