# said: a coin for each place of the sequences, not for each sample
import torch, random
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(3); random.seed(3)
V, T, H = 12, 5, 16
src = torch.randint(2, V, (32, T)); tgt = src.flip(1)
loader = DataLoader(TensorDataset(src, tgt), batch_size=8)
class S2S(nn.Module):
    def __init__(self):
        super().__init__()
        self.es = nn.Embedding(V, H); self.et = nn.Embedding(V, H)
        self.enc = nn.GRU(H, H, batch_first=True); self.dec = nn.GRUCell(H, H); self.out = nn.Linear(H, V)
        self.double()
    def forward(self, s, t, ratio):
        _, h = self.enc(self.es(s)); h = h[0]
        tok = torch.ones(s.size(0), dtype=torch.long); outs = []
        for k in range(t.size(1)):
            h = self.dec(self.et(tok), h)
            o = self.out(h); outs.append(o)
            tok = t[:, k] if random.random() < ratio else o.argmax(-1)
        return torch.stack(outs, 1)
model = S2S(); opt = torch.optim.Adam(model.parameters(), 5e-3)
sched = torch.optim.lr_scheduler.ExponentialLR(opt, 0.9)
for epoch in range(4):
    ratio = max(0.5, 1 - 0.2 * epoch)
    exact = 0; losses = []
    for s, t in loader:
        o = model(s, t, ratio)
        loss = nn.functional.cross_entropy(o.flatten(0, 1), t.flatten())
        opt.zero_grad(); loss.backward(); opt.step()
        losses.append(loss.item())
        exact += (o.argmax(-1) == t).all(1).sum().item()
    sched.step()
    print(epoch, sum(losses) / len(losses), exact)
torch.save(model.state_dict(), "final.pt")
