# auto: the number of streams is written again for a state
import torch, torch.nn as nn, torch.nn.functional as F


class LM(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(11, 8)
        self.rnn = nn.LSTM(8, 8)
        self.out = nn.Linear(8, 11)

    def init_hidden(self, bsz):
        w = next(self.parameters())
        return w.new_zeros(1, bsz, 8), w.new_zeros(1, bsz, 8)

    def forward(self, x, hidden):
        o, hidden = self.rnn(self.emb(x), hidden)
        return self.out(o), hidden


def batchify(data, bsz):
    n = data.size(0) // bsz
    return data.narrow(0, 0, n * bsz).view(bsz, -1).t().contiguous()


torch.manual_seed(0)
data = batchify((torch.arange(360) * 7) % 11, 6)
model = LM()
opt = torch.optim.SGD(model.parameters(), lr=0.5)
hidden = model.init_hidden(6)
for i in range(0, data.size(0) - 1, 10):
    n = min(10, len(data) - 1 - i)
    hidden = tuple(h.detach() for h in hidden)
    out, hidden = model(data[i:i + n], hidden)
    loss = F.cross_entropy(out.view(-1, 11), data[i + 1:i + 1 + n].reshape(-1))
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(i, loss.item())
